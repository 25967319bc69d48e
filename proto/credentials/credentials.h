// What gRPC's connections are made with: TLS by files that are followed (common/tls/tls_files.h),
// or plain. For servers, and for all that calls them.
//
// Thread-safe. gRPC looks at the private folder of the files each second: what the follower took
// holds for new connections within a second more. Connections that are open stay as they are until
// they reach their age (--connection-age of the server).
#pragma once

#include <memory>
#include <string_view>

#include "common/base/status.h"
#include "common/tls/tls_options.h"

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
}  // namespace grpc

namespace halograph {

class TlsFiles;

// `files` outlives what is made of it; null: plain. A client's certificate is checked by the roots
// and the revocation lists.
[[nodiscard]] std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(
    const TlsFiles* files, ClientCertificates clients);
// The server's certificate is checked so too, and must be for the host of its address: its name, or
// its IP address.
[[nodiscard]] std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(
    const TlsFiles* files);

// The error of a call that got no answer, as gRPC has it, with what may be behind it: a connection
// that ends before it is used looks alike whatever the server refused. `host`: whom the server's
// certificate must be for. Where no repetition mends it, it is FailedPrecondition: the own
// certificate is not in date, the server's is for another host or leads to none of the own roots.
// Where the connection was closed before it was used, it has the reason kClosedAtOnce
// (common/base/call_metadata.h). Any other status is returned as it is.
[[nodiscard]] Status ExplainRefusal(const Status& error, const TlsFiles* files,
                                    std::string_view host);

}  // namespace halograph
