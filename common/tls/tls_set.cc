#include "common/tls/tls_set.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include "common/storage/file.h"
#include "common/tls/openssl_types.h"

namespace halograph {
namespace {

using openssl::CertificatePtr;
using openssl::CrlPtr;
using openssl::KeyPtr;

constexpr int64_t kMostTlsFileBytes = 1 << 20;
constexpr mode_t kOthersMayRead = 04;

// All of the kind that `read` reads, in order. What is between them does not count, as in OpenSSL.
template <typename Ptr, typename Read>
StatusOr<std::vector<Ptr>> ReadAll(std::string_view text, const std::filesystem::path& path,
                                   std::string_view what, const Read& read) {
  const openssl::BioPtr bio = openssl::ReadFrom(text);
  std::vector<Ptr> all;
  while (true) {
    Ptr next(read(bio.get()));
    if (next == nullptr) break;
    all.push_back(std::move(next));
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = openssl::TakeError();
  if (!at_end) {
    return InvalidArgument("{}: {} {} cannot be read ({}): is the file cut short? Write it anew",
                           path.string(), what, all.size() + 1, reason);
  }
  if (all.empty()) {
    return InvalidArgument("{}: there is no {} in it: expected PEM, with -----BEGIN lines",
                           path.string(), what);
  }
  return all;
}

StatusOr<std::vector<CertificatePtr>> ReadCertificates(std::string_view text,
                                                       const std::filesystem::path& path) {
  return ReadAll<CertificatePtr>(text, path, "certificate", [](BIO* bio) {
    return PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  });
}

StatusOr<KeyPtr> ReadKey(const TlsTexts& texts, const TlsPaths& paths) {
  const openssl::BioPtr bio = openssl::ReadFrom(texts.key);
  bool asked = false;  // for a passphrase
  const auto no_passphrase = [](char*, int, int, void* was_asked) {
    *static_cast<bool*>(was_asked) = true;
    return -1;
  };
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, &asked));
  const std::string reason = openssl::TakeError();
  if (key != nullptr) return key;
  if (asked) {
    return InvalidArgument(
        "{}: the key has a passphrase: take it off, openssl pkey -in {} -out NEW",
        paths.key.string(), paths.key.string());
  }
  return InvalidArgument("{}: no key can be read ({}): expected an unencrypted PEM key",
                         paths.key.string(), reason);
}

std::string Subject(const CertificatePtr& certificate) {
  return openssl::ToText(X509_get_subject_name(certificate.get()));
}

double EndOf(const CertificatePtr& certificate) {
  return openssl::ToSeconds(X509_get0_notAfter(certificate.get()));
}

Status CheckDates(const CertificatePtr& certificate, const std::filesystem::path& path,
                  double now) {
  const double begin = openssl::ToSeconds(X509_get0_notBefore(certificate.get()));
  if (now < begin) {
    return FailedPrecondition(
        "{}: the certificate of {} is valid from {} on, and by this machine's clock it is {}: "
        "wait, "
        "or set the clock",
        path.string(), Subject(certificate), UtcText(begin), UtcText(now));
  }
  if (now >= EndOf(certificate)) {
    return FailedPrecondition(
        "{}: the certificate of {} has expired at {}, and by this machine's clock it is {}: make a "
        "new one, or set the clock",
        path.string(), Subject(certificate), UtcText(EndOf(certificate)), UtcText(now));
  }
  return OkStatus();
}

// One check of a set. Its parts are read in this order.
class Checker {
 public:
  Checker(const TlsTexts& texts, const TlsPaths& paths, TlsRole role, double now)
      : texts_(texts), paths_(paths), role_(role), now_(now) {}

  StatusOr<TlsSet> Check() {
    ERR_clear_error();
    HG_ASSIGN_OR_RETURN(roots_, ReadCertificates(texts_.roots, paths_.roots));
    for (const CertificatePtr& root : roots_) {
      if (const Status dates = CheckDates(root, paths_.roots, now_); !dates.ok()) {
        set_.warnings.push_back(Message(dates));
      }
    }
    set_.roots = texts_.roots;
    if (!paths_.certificate.empty()) HG_RETURN_IF_ERROR(CheckIdentity());
    if (texts_.crl.has_value()) HG_RETURN_IF_ERROR(CheckCrls());
    return std::move(set_);
  }

 private:
  Status CheckIdentity();
  [[nodiscard]] Status CheckChain() const;
  [[nodiscard]] Status CheckChainFor(int purpose) const;
  Status CheckCrls();
  Status CheckCrl(const CrlPtr& crl);
  [[nodiscard]] const CertificatePtr* IssuerOf(const CrlPtr& crl) const;

  const TlsTexts& texts_;
  const TlsPaths& paths_;
  const TlsRole role_;
  const double now_;
  TlsSet set_;
  std::vector<CertificatePtr> roots_;
  std::vector<CertificatePtr> chain_;
  std::map<unsigned long, int> hashes_;  // NOLINT(google-runtime-int): lists so far, by issuer
};

Status Checker::CheckIdentity() {
  HG_ASSIGN_OR_RETURN(chain_, ReadCertificates(texts_.certificate, paths_.certificate));
  HG_ASSIGN_OR_RETURN(const KeyPtr key, ReadKey(texts_, paths_));
  if (X509_check_private_key(chain_.front().get(), key.get()) != 1) {
    ERR_clear_error();
    return InvalidArgument(
        "{}: the key does not belong to the first certificate of {} ({}): write the two that "
        "belong "
        "together",
        paths_.key.string(), paths_.certificate.string(), Subject(chain_.front()));
  }
  for (const CertificatePtr& certificate : chain_) {
    HG_RETURN_IF_ERROR(CheckDates(certificate, paths_.certificate, now_));
    set_.expires = std::min(set_.expires.value_or(EndOf(certificate)), EndOf(certificate));
  }
  HG_RETURN_IF_ERROR(CheckChain());
  if ((static_cast<mode_t>(texts_.key_mode) & kOthersMayRead) != 0) {
    set_.warnings.push_back(
        fmt::format("{}: every user of this machine can read the key (mode "
                    "{:04o}): chmod 600, or 640 for a group",
                    paths_.key.string(), texts_.key_mode));
  }
  set_.subject = Subject(chain_.front());
  // The key as it was read: its file may hold more than the key.
  const openssl::BioPtr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  for (const CertificatePtr& certificate : chain_) {
    PEM_write_bio_X509(out.get(), certificate.get());
  }
  char* data = nullptr;
  const auto size = BIO_get_mem_data(out.get(), &data);
  set_.identity.assign(data, static_cast<size_t>(size));
  OPENSSL_cleanse(data, static_cast<size_t>(size));
  return OkStatus();
}

Status Checker::CheckChain() const {
  if (role_ != TlsRole::kClient) HG_RETURN_IF_ERROR(CheckChainFor(X509_PURPOSE_SSL_SERVER));
  return role_ == TlsRole::kServer ? OkStatus() : CheckChainFor(X509_PURPOSE_SSL_CLIENT);
}

Status Checker::CheckChainFor(int purpose) const {
  const openssl::StorePtr store(X509_STORE_new());
  for (const CertificatePtr& root : roots_) X509_STORE_add_cert(store.get(), root.get());
  ERR_clear_error();  // of a root that is there twice
  const auto between = std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)>(
      sk_X509_new_null(), [](STACK_OF(X509) * stack) { sk_X509_free(stack); });
  for (size_t i = 1; i < chain_.size(); ++i) sk_X509_push(between.get(), chain_[i].get());
  const openssl::StoreContextPtr context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), chain_.front().get(), between.get());
  X509_VERIFY_PARAM* bounds = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(bounds, static_cast<time_t>(now_));
  X509_VERIFY_PARAM_set_purpose(bounds, purpose);
  const bool good = X509_verify_cert(context.get()) == 1;
  ERR_clear_error();
  if (good) return OkStatus();
  const int error = X509_STORE_CTX_get_error(context.get());
  if (error == X509_V_ERR_INVALID_PURPOSE) {
    const bool serves = purpose == X509_PURPOSE_SSL_SERVER;
    return InvalidArgument(
        "{}: the certificate of {} is not for a {} (extendedKeyUsage): make one with {}",
        paths_.certificate.string(), Subject(chain_.front()),
        serves                    ? "server"
        : role_ == TlsRole::kBoth ? "client, as which a server calls its --peers"
                                  : "client",
        role_ == TlsRole::kBoth ? "serverAuth and clientAuth"
        : serves                ? "serverAuth"
                                : "clientAuth");
  }
  return InvalidArgument(
      "{}: the certificate of {} does not lead to a root of {} ({}): add the root, or what is "
      "missing between them",
      paths_.certificate.string(), Subject(chain_.front()), paths_.roots.string(),
      X509_verify_cert_error_string(error));
}

Status Checker::CheckCrls() {
  HG_ASSIGN_OR_RETURN(const auto crls,
                      ReadAll<CrlPtr>(*texts_.crl, paths_.crl, "revocation list", [](BIO* bio) {
                        return PEM_read_bio_X509_CRL(bio, nullptr, nullptr, nullptr);
                      }));
  for (const CrlPtr& crl : crls) HG_RETURN_IF_ERROR(CheckCrl(crl));
  return OkStatus();
}

const CertificatePtr* Checker::IssuerOf(const CrlPtr& crl) const {
  for (const auto* certificates : {&roots_, &chain_}) {
    for (const CertificatePtr& certificate : *certificates) {
      if (X509_NAME_cmp(X509_get_subject_name(certificate.get()), X509_CRL_get_issuer(crl.get())) !=
          0) {
        continue;
      }
      if (X509_CRL_verify(crl.get(), X509_get0_pubkey(certificate.get())) == 1) return &certificate;
    }
  }
  return nullptr;
}

Status Checker::CheckCrl(const CrlPtr& crl) {
  X509_NAME* const issuer = X509_CRL_get_issuer(crl.get());
  const bool known = IssuerOf(crl) != nullptr;
  ERR_clear_error();
  if (!known) {
    return InvalidArgument(
        "{}: the revocation list of {} is signed by no certificate of {}: give that issuer's list",
        paths_.crl.string(), openssl::ToText(issuer), paths_.roots.string());
  }
  const double begin = openssl::ToSeconds(X509_CRL_get0_lastUpdate(crl.get()));
  if (now_ < begin) {
    return FailedPrecondition(
        "{}: the revocation list of {} is valid from {} on, and by this machine's clock it is {}: "
        "wait, or set the clock",
        paths_.crl.string(), openssl::ToText(issuer), UtcText(begin), UtcText(now_));
  }
  if (const ASN1_TIME* next = X509_CRL_get0_nextUpdate(crl.get()); next != nullptr) {
    const double end = openssl::ToSeconds(next);
    if (now_ >= end) {
      return FailedPrecondition(
          "{}: the revocation list of {} has expired at {}, and by this machine's clock it is {}: "
          "everybody would be refused; make a new list, or set the clock",
          paths_.crl.string(), openssl::ToText(issuer), UtcText(end), UtcText(now_));
    }
    set_.crl_expires = std::min(set_.crl_expires.value_or(end), end);
  }
  for (const CertificatePtr& certificate : chain_) {
    X509_REVOKED* revoked = nullptr;
    if (X509_CRL_get0_by_cert(crl.get(), &revoked, certificate.get()) == 1 &&
        X509_NAME_cmp(X509_get_issuer_name(certificate.get()), issuer) == 0) {
      set_.warnings.push_back(
          fmt::format("{}: the certificate of {} is revoked by {}: make a new one",
                      paths_.certificate.string(), Subject(certificate), paths_.crl.string()));
    }
  }
  const unsigned long hash = X509_NAME_hash_ex(  // NOLINT(google-runtime-int)
      issuer, nullptr, nullptr, nullptr);
  const openssl::BioPtr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_CRL(out.get(), crl.get());
  char* data = nullptr;
  const auto size = BIO_get_mem_data(out.get(), &data);
  set_.crls.push_back({.file = fmt::format("{:08x}.r{}", hash, hashes_[hash]++),
                       .pem = std::string(data, static_cast<size_t>(size))});
  return OkStatus();
}

}  // namespace

TlsPaths TlsPathsIn(const std::filesystem::path& folder) {
  return {.certificate = folder / "tls.crt",
          .key = folder / "tls.key",
          .roots = folder / "ca.crt",
          .crl = folder / "crl.pem",
          .crl_may_be_missing = true};
}

StatusOr<TlsTexts> ReadTlsTexts(const TlsPaths& paths) {
  TlsTexts texts;
  if (!paths.certificate.empty()) {
    HG_ASSIGN_OR_RETURN(texts.certificate, ReadTextFile(paths.certificate, kMostTlsFileBytes));
    HG_ASSIGN_OR_RETURN(texts.key, ReadTextFile(paths.key, kMostTlsFileBytes));
    struct stat about {};
    if (stat(paths.key.c_str(), &about) != 0) {
      return ErrnoStatus(errno, "stat", paths.key.string());
    }
    texts.key_mode = static_cast<int>(about.st_mode & 07777);
  }
  HG_ASSIGN_OR_RETURN(texts.roots, ReadTextFile(paths.roots, kMostTlsFileBytes));
  if (paths.crl.empty()) return texts;
  StatusOr<std::string> crl = ReadTextFile(paths.crl, kMostTlsFileBytes);
  if (crl.ok()) {
    texts.crl = *std::move(crl);
  } else if (!absl::IsNotFound(crl.status()) || !paths.crl_may_be_missing) {
    return crl.status();
  }
  return texts;
}

StatusOr<TlsSet> CheckTls(const TlsTexts& texts, const TlsPaths& paths, TlsRole role, double now) {
  return Checker(texts, paths, role, now).Check();
}

std::string WhyNotVerified(int code) { return X509_verify_cert_error_string(code); }

std::string UtcText(double seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

}  // namespace halograph
