#include "tests/support/test_ca.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

namespace halograph {
namespace {

using openssl::BioPtr;
using openssl::CertificatePtr;
using openssl::KeyPtr;

// A test cannot go on without.
void Must(bool done, const char* what) {
  if (done) return;
  std::fprintf(stderr, "test_ca: %s: %s\n", what, openssl::TakeError().c_str());
  std::abort();
}

int64_t NextSerial() {
  static std::atomic<int64_t> next = 1000;
  return next++;
}

KeyPtr MakeKey() {
  KeyPtr key(EVP_EC_gen("P-256"));
  Must(key != nullptr, "key");
  return key;
}

template <typename Write>
std::string ToPem(const Write& write) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  Must(write(out.get()) == 1, "PEM");
  char* data = nullptr;
  const auto size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<size_t>(size)};
}
std::string ToPem(const CertificatePtr& certificate) {
  return ToPem([&](BIO* out) { return PEM_write_bio_X509(out, certificate.get()); });
}

void AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const made = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  Must(made != nullptr, value.c_str());
  X509_add_ext(certificate, made, -1);
  X509_EXTENSION_free(made);
}

time_t At(double seconds) { return static_cast<time_t>(seconds); }

struct Wanted {
  std::string name;
  double begin = 0;
  double end = 0;
  int64_t serial = 0;
};

// `issuer` null: it is its own.
CertificatePtr Begin(const Wanted& wanted, EVP_PKEY* key, X509* issuer) {
  CertificatePtr made(X509_new());
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set_int64(X509_get_serialNumber(made.get()), wanted.serial);
  ASN1_TIME_set(X509_getm_notBefore(made.get()), At(wanted.begin));
  ASN1_TIME_set(X509_getm_notAfter(made.get()), At(wanted.end));
  X509_NAME* const name = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(wanted.name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(made.get(), issuer == nullptr ? name : X509_get_subject_name(issuer));
  X509_set_pubkey(made.get(), key);
  return made;
}

CertificatePtr MakeAuthority(const std::string& name, double now, EVP_PKEY* key, X509* issuer,
                             EVP_PKEY* signer) {
  constexpr double kYears = 10 * 365 * 86400.0;
  CertificatePtr made =
      Begin({.name = name, .begin = now - kYears, .end = now + kYears, .serial = NextSerial()}, key,
            issuer);
  X509* const by = issuer == nullptr ? made.get() : issuer;
  AddExtension(made.get(), by, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(made.get(), by, NID_key_usage, "critical,keyCertSign,cRLSign");
  Must(X509_sign(made.get(), signer, EVP_sha256()) > 0, "sign");
  return made;
}

}  // namespace

TestCa::TestCa(double now, KeyPtr key, CertificatePtr certificate, std::string behind)
    : now_(now),
      key_(std::move(key)),
      certificate_(std::move(certificate)),
      root_pem_(ToPem(certificate_)),
      behind_(std::move(behind)) {}

TestCa::TestCa(double now, const std::string& name) : now_(now), key_(MakeKey()) {
  certificate_ = MakeAuthority(name, now, key_.get(), nullptr, key_.get());
  root_pem_ = ToPem(certificate_);
}

TestCa TestCa::MakeBetween(const std::string& name) {
  KeyPtr key = MakeKey();
  CertificatePtr made = MakeAuthority(name, now_, key.get(), certificate_.get(), key_.get());
  std::string behind = ToPem(made) + behind_;
  return {now_, std::move(key), std::move(made), std::move(behind)};
}

TestPair TestCa::Make(const TestLeaf& leaf) {
  const KeyPtr key = MakeKey();
  TestPair pair{.certificate = {}, .key = {}, .serial = NextSerial()};
  const CertificatePtr made = Begin({.name = leaf.common_name,
                                     .begin = now_ + leaf.not_before,
                                     .end = now_ + leaf.not_after,
                                     .serial = pair.serial},
                                    key.get(), certificate_.get());
  if (!leaf.alternative_names.empty()) {
    AddExtension(made.get(), certificate_.get(), NID_subject_alt_name, leaf.alternative_names);
  }
  if (!leaf.extended_key_usage.empty()) {
    AddExtension(made.get(), certificate_.get(), NID_ext_key_usage, leaf.extended_key_usage);
  }
  Must(X509_sign(made.get(), key_.get(), EVP_sha256()) > 0, "sign");
  pair.certificate = ToPem(made) + behind_;
  pair.key = ToPem([&](BIO* out) {
    return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return pair;
}

std::string TestCa::MakeCrl(double seconds) {
  const openssl::CrlPtr crl(X509_CRL_new());
  X509_CRL_set_version(crl.get(), X509_CRL_VERSION_2);
  X509_CRL_set_issuer_name(crl.get(), X509_get_subject_name(certificate_.get()));
  ASN1_TIME* const time = ASN1_TIME_new();
  ASN1_TIME_set(time, At(now_ - 3600));
  X509_CRL_set1_lastUpdate(crl.get(), time);
  for (const int64_t serial : revoked_) {
    X509_REVOKED* const revoked = X509_REVOKED_new();
    ASN1_INTEGER* const number = ASN1_INTEGER_new();
    ASN1_INTEGER_set_int64(number, serial);
    X509_REVOKED_set_serialNumber(revoked, number);
    X509_REVOKED_set_revocationDate(revoked, time);
    X509_CRL_add0_revoked(crl.get(), revoked);
    ASN1_INTEGER_free(number);
  }
  ASN1_TIME_set(time, At(now_ + seconds));
  X509_CRL_set1_nextUpdate(crl.get(), time);
  ASN1_TIME_free(time);
  X509_CRL_sort(crl.get());
  Must(X509_CRL_sign(crl.get(), key_.get(), EVP_sha256()) > 0, "sign");
  return ToPem([&](BIO* out) { return PEM_write_bio_X509_CRL(out, crl.get()); });
}

void WriteTestFile(const std::filesystem::path& path, const std::string& text, int mode) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  chmod(path.c_str(), static_cast<mode_t>(mode));
}

void WriteTlsFolder(const std::filesystem::path& folder, const TestPair& pair,
                    const std::string& roots) {
  std::filesystem::create_directories(folder);
  for (const auto& [name, text] :
       {std::pair<const char*, const std::string&>("tls.crt", pair.certificate),
        {"tls.key", pair.key},
        {"ca.crt", roots}}) {
    const std::filesystem::path beside = folder / (std::string(name) + ".new");
    WriteTestFile(beside, text);
    std::filesystem::rename(beside, folder / name);
  }
}

}  // namespace halograph
