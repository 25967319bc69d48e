#include "server/grpc_listener.h"

#include <utility>
#include <vector>

#include <sys/socket.h>

namespace halograph::server {
namespace {

// What gRPC takes from a socket at once, and works off before anybody can end the connection: two
// thousand streams of those that are reset at once.
constexpr int kMostBytesOfRead = 64 << 10;

int Milliseconds(std::chrono::nanoseconds time) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

}  // namespace

TableOptions ToTableOptions(const ServerOptions& options) {
  return {.most = options.Connections(),
          .most_of_address = options.connections_per_address,
          .loopback_is_free = options.loopback_is_free,
          .most_credit = options.UnaccountedBytes(),
          .trusted_proxies = options.TrustedProxies()};
}

ConnectionBounds ToConnectionBounds(const ServerOptions& options) {
  const int64_t bytes = options.UnaccountedBytes();
  return {.bytes = bytes,
          .address_bytes = options.UnaccountedBytesOfAddress(),
          .all_bytes = 2 * options.UnaccountedBytesOfAddress()};
}

void GrpcListener::AddTo(grpc::ServerBuilder* builder,
                         std::shared_ptr<grpc::ServerCredentials> credentials,
                         const ServerOptions& options) {
  using Experimental = grpc::ServerBuilder::experimental_type;
  acceptor_ = builder->experimental().AddExternalConnectionAcceptor(
      Experimental::ExternalConnectionType::FROM_FD, std::move(credentials));
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, Milliseconds(kHandshake));
  builder->AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kMostBytesOfRead);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(kPingAnswer));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // as many as it takes
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                              Milliseconds(options.connection_idle));
}

StatusOr<HostPort> GrpcListener::Start(const HostPort& address) {
  HG_ASSIGN_OR_RETURN(const std::vector<ListenSocket> listening, ListenAtAll(address, SOMAXCONN));
  std::vector<int> sockets;
  sockets.reserve(listening.size());
  for (const ListenSocket& socket : listening) sockets.push_back(socket.fd);
  loop_.emplace(std::move(sockets), &table_, [this](int socket, int fd) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.listener_fd = socket;
    connection.fd = fd;
    acceptor_->HandleNewConnection(&connection);
  });
  return listening.front().address;
}

}  // namespace halograph::server
