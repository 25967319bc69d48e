// OpenSSL's objects with owners, and what this folder and the tests ask of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

namespace halograph::openssl {

template <auto kFree>
struct FreeBy {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using BioPtr = std::unique_ptr<BIO, FreeBy<BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, FreeBy<X509_free>>;
using CrlPtr = std::unique_ptr<X509_CRL, FreeBy<X509_CRL_free>>;
using StorePtr = std::unique_ptr<X509_STORE, FreeBy<X509_STORE_free>>;
using StoreContextPtr = std::unique_ptr<X509_STORE_CTX, FreeBy<X509_STORE_CTX_free>>;

// Reads `text`, which outlives it.
[[nodiscard]] BioPtr ReadFrom(std::string_view text);
// What OpenSSL found wrong last, in its words; its list of errors is empty then.
[[nodiscard]] std::string TakeError();
// Since 1970, UTC.
[[nodiscard]] double ToSeconds(const ASN1_TIME* time);
// "CN=rank 0, O=cluster"
[[nodiscard]] std::string ToText(const X509_NAME* name);

}  // namespace halograph::openssl
