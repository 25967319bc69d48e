#include "common/tls/tls_options.h"

#include "common/tls/tls_files.h"

namespace halograph {

bool TlsOptions::given() const {
  return !certificate.empty() || !key.empty() || !roots.empty() || !crl.empty() || !folder.empty();
}

Status TlsOptions::Validate(TlsRole role) const {
  if (!given()) return OkStatus();
  if (!folder.empty()) {
    if (certificate.empty() && key.empty() && roots.empty() && crl.empty()) return OkStatus();
    return InvalidArgument(
        "--tls-dir {} stands for --tls-cert, --tls-key, --tls-ca and --tls-crl: give it, or them",
        folder.string());
  }
  if (roots.empty()) {
    return InvalidArgument("--tls-ca is missing: name the certificates that others are checked by");
  }
  if (certificate.empty() != key.empty()) {
    return InvalidArgument("{} is missing: a certificate and its key are given together",
                           key.empty() ? "--tls-key" : "--tls-cert");
  }
  if (certificate.empty() && role != TlsRole::kClient) {
    return InvalidArgument("--tls-cert and --tls-key are missing: a server shows a certificate");
  }
  return OkStatus();
}

TlsPaths TlsOptions::Paths() const {
  if (!folder.empty()) return TlsPathsIn(folder);
  return {.certificate = certificate, .key = key, .roots = roots, .crl = crl};
}

void AddTlsRows(OptionTable& rows, TlsOptions* options) {
  rows.Group("TLS");
  rows.Add("tls-cert", &options->certificate,
           "own certificate in PEM, then those between it and a root; all files of TLS are "
           "followed: "
           "a new one holds within --tls-refresh and a second, if all of them fit")
      .ValueName("FILE")
      .DefaultText("nothing is encrypted");
  rows.Add("tls-key", &options->key, "its key in PEM, without a passphrase").ValueName("FILE");
  rows.Add("tls-ca", &options->roots, "certificates in PEM that all others must lead to")
      .ValueName("FILE");
  rows.Add("tls-crl", &options->crl, "lists in PEM of certificates that are revoked")
      .ValueName("FILE");
  rows.Add("tls-dir", &options->folder,
           "folder with tls.crt, tls.key, ca.crt and, if there is one, crl.pem, in place of the "
           "four")
      .ValueName("FOLDER");
  rows.Add("tls-refresh", &options->refresh, "time between two looks at these files")
      .Range(std::chrono::milliseconds(10), std::chrono::hours(1));
}

StatusOr<std::shared_ptr<const TlsFiles>> FollowTls(const TlsOptions& options, TlsRole role) {
  HG_RETURN_IF_ERROR(options.Validate(role));
  if (!options.given()) return std::shared_ptr<const TlsFiles>();
  HG_ASSIGN_OR_RETURN(std::unique_ptr<TlsFiles> files,
                      TlsFiles::Start(options.Paths(), role, {.pace = options.refresh}));
  return std::shared_ptr<const TlsFiles>(std::move(files));
}

}  // namespace halograph
