// What a program is told of TLS: the same rows for servers, trainers and halograph-ctl.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>

#include "common/base/status.h"
#include "common/program/options.h"
#include "common/tls/tls_set.h"

namespace halograph {

class TlsFiles;

// Whether a server asks for its clients' certificates: those shown are checked either way.
enum class ClientCertificates { kRequired, kOptional };

struct TlsOptions {
  std::filesystem::path certificate = {};  // all PEM; TlsPaths says what is in them
  std::filesystem::path key = {};
  std::filesystem::path roots = {};
  std::filesystem::path crl = {};
  std::filesystem::path folder = {};                           // has them all, in place of the four
  std::chrono::nanoseconds refresh = std::chrono::seconds(1);  // between two looks at the files

  // Whether any is given; without, nothing is encrypted.
  [[nodiscard]] bool given() const;
  // InvalidArgument naming the option and what goes with it: a folder beside files, a certificate
  // without its key, roots missing, or, of a server, no certificate.
  [[nodiscard]] Status Validate(TlsRole role) const;
  // Requires that they are given, and valid.
  [[nodiscard]] TlsPaths Paths() const;
};

// A group of rows: --tls-cert, --tls-key, --tls-ca, --tls-crl, --tls-dir, --tls-refresh.
void AddTlsRows(OptionTable& rows, TlsOptions* options);

// Null: none of them is given. Errors as Validate and TlsFiles::Start.
[[nodiscard]] StatusOr<std::shared_ptr<const TlsFiles>> FollowTls(const TlsOptions& options,
                                                                  TlsRole role);

}  // namespace halograph
