// The files of TLS, read and checked before gRPC sees them: gRPC would serve a certificate beside
// another's key, and then refuse everybody.
//
// Pure functions but for ReadTlsTexts, which reads files. Thread-safe.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace halograph {

// Where they are, all PEM. A certificate and its key belong together: both or neither.
struct TlsPaths {
  std::filesystem::path certificate =
      {};                            // a program's own, then those that lead to a root; or empty
  std::filesystem::path key = {};    // of the first of them; without a passphrase
  std::filesystem::path roots = {};  // the certificates that all trust is in
  std::filesystem::path crl = {};    // revocation lists; empty: there are none
  bool crl_may_be_missing = false;   // no such file is no error (a folder without crl.pem)
};

// `folder` with the names that Kubernetes gives: tls.crt, tls.key, ca.crt, and crl.pem, which may
// be missing.
[[nodiscard]] TlsPaths TlsPathsIn(const std::filesystem::path& folder);

// What is in the files.
struct TlsTexts {
  std::string certificate = {};
  std::string key = {};
  std::string roots = {};
  std::optional<std::string> crl = {};  // none: there is no such file
  int key_mode = 0;                     // permissions of the key's file

  friend bool operator==(const TlsTexts&, const TlsTexts&) = default;
};
// Errors as ReadTextFile, naming the file; OutOfRange beyond 1 MiB.
[[nodiscard]] StatusOr<TlsTexts> ReadTlsTexts(const TlsPaths& paths);

// What a program does with its certificate; kBoth: a server that calls others (--peers).
enum class TlsRole { kServer, kClient, kBoth };

// Files that passed the check.
struct TlsSet {
  struct Crl {
    std::string file;  // the name that OpenSSL looks for: issuer's hash, ".r", number
    std::string pem;
  };
  std::string identity;  // the key, then the chain, in one text; empty: no own certificate
  std::string roots;
  std::vector<Crl> crls;
  std::string subject;                     // of the own certificate: "CN=rank 0"
  std::optional<double> expires;           // own chain's earliest end, in seconds since 1970
  std::optional<double> crl_expires;       // the revocation lists' earliest nextUpdate
  std::vector<std::string> warnings = {};  // what should be mended, and is no reason to refuse
};

// The set of `texts`, which are those of `paths`, at the time `now` (seconds since 1970).
//   InvalidArgument     a file does not parse (or is cut short); a key has a passphrase, or is not
//                       the certificate's; the chain does not lead to a root, or is for another
//                       role; a revocation list is not signed by a root or one of the chain
//   FailedPrecondition  a certificate or a revocation list is not in date: the text has both times,
//                       since the clock may be what is off
// Messages begin with the file, and end with what to do. A chain must lead to the own roots: all
// programs of a cluster have the same bundle, which has both roots while one follows another.
// Warnings: a key that others may read (a group may: so Kubernetes mounts them), a root that is no
// longer in date, and an own certificate that is revoked: refusing that would keep a revocation
// list from counting.
[[nodiscard]] StatusOr<TlsSet> CheckTls(const TlsTexts& texts, const TlsPaths& paths, TlsRole role,
                                        double now);

// What a code of X509_verify_cert says: "certificate revoked".
[[nodiscard]] std::string WhyNotVerified(int code);

// "2027-01-31T12:00:00Z"
[[nodiscard]] std::string UtcText(double seconds);

}  // namespace halograph
