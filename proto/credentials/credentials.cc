#include "proto/credentials/credentials.h"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include "common/base/call_metadata.h"
#include "common/tls/tls_files.h"

namespace halograph {
namespace {

namespace tls = grpc::experimental;

// The least that gRPC takes.
constexpr unsigned kWatchSeconds = 1;

std::shared_ptr<tls::CertificateProviderInterface> Watch(const TlsFiles& files) {
  if (!files.has_identity()) {
    return std::make_shared<tls::FileWatcherCertificateProvider>(files.roots_path(), kWatchSeconds);
  }
  // Key and certificate are one file: gRPC never sees two that do not fit.
  return std::make_shared<tls::FileWatcherCertificateProvider>(
      files.identity_path(), files.identity_path(), files.roots_path(), kWatchSeconds);
}

bool Has(std::string_view text, std::string_view words) {
  return text.find(words) != std::string_view::npos;
}

template <typename... Args>
Status ClosedAtOnce(fmt::format_string<Args...> format, Args&&... args) {
  return WithReason(Unavailable(format, std::forward<Args>(args)...), kClosedAtOnce);
}

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const TlsFiles* files,
                                                               ClientCertificates clients) {
  if (files == nullptr) return grpc::InsecureServerCredentials();
  tls::TlsServerCredentialsOptions options(Watch(*files));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_crl_directory(files->crl_folder());
  options.set_cert_request_type(clients == ClientCertificates::kRequired
                                    ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                    : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  return tls::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(const TlsFiles* files) {
  if (files == nullptr) return grpc::InsecureChannelCredentials();
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(Watch(*files));
  options.watch_root_certs();
  if (files->has_identity()) options.watch_identity_key_cert_pairs();
  options.set_crl_directory(files->crl_folder());
  options.set_certificate_verifier(std::make_shared<tls::HostNameCertificateVerifier>());
  options.set_verify_server_certs(true);
  options.set_check_call_host(true);
  return tls::TlsCredentials(options);
}

Status ExplainRefusal(const Status& error, const TlsFiles* files, std::string_view host) {
  if (!absl::IsUnavailable(error)) return error;
  const std::string text = Message(error);
  const bool closed = Has(text, "failed to connect") && Has(text, "Socket closed");
  if (files == nullptr) {
    if (!closed) return error;
    return ClosedAtOnce("{}: it closed the connection; if it wants TLS, give --tls-dir", text);
  }
  const TlsFigures own = files->Figures();
  if (own.expires && *own.expires <= files->Now() && (closed || Has(text, "handshake failed"))) {
    return FailedPrecondition(
        "{}: the own certificate, {} of {}, has expired at {}: make a new one", text, own.subject,
        files->certificate_path().string(), UtcText(*own.expires));
  }
  if (Has(text, "Hostname Verification Check failed")) {
    return FailedPrecondition(
        "{}: the server's certificate is not for {}, by which it is called: call it by a name or "
        "IP address that its subjectAltName has, or make one that has this, too",
        text, host);
  }
  if (Has(text, "wrong version number")) {
    return FailedPrecondition("{}: it does not speak TLS: leave out --tls-dir, or give it one",
                              text);
  }
  if (Has(text, "certificate verify failed")) {
    return FailedPrecondition(
        "{}: the server's certificate is expired or revoked, or leads to no root of --tls-ca: give "
        "the server's root, or the server a certificate of yours",
        text);
  }
  if (!closed) return error;
  if (own.subject.empty()) {
    return ClosedAtOnce("{}: if it wants certificates, give --tls-cert and --tls-key, or --tls-dir",
                        text);
  }
  return ClosedAtOnce(
      "{}: if it wants certificates, check yours: {} of {}, which expires {}; it may be revoked, "
      "or lead to no root of the server, whose log has the reason",
      text, own.subject, files->certificate_path().string(), UtcText(*own.expires));
}

}  // namespace halograph
