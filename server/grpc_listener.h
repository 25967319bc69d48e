// Where a gRPC server listens: sockets and an accept loop of our own, whose connections are handed
// to gRPC. With it come the bounds of connections that are gRPC's: how long a handshake, an idle
// connection, and one whose client has vanished may last.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include "common/base/host_port.h"
#include "common/base/status.h"
#include "common/http/listen_socket.h"
#include "server/listener/accept_loop.h"
#include "server/listener/connection_table.h"
#include "server/options.h"

namespace halograph::server {

// What `options` say of connections. Require valid options.
[[nodiscard]] TableOptions ToTableOptions(const ServerOptions& options);
[[nodiscard]] ConnectionBounds ToConnectionBounds(const ServerOptions& options);

class GrpcListener {
 public:
  // What gRPC may wait for the end of a connection's handshakes.
  static constexpr std::chrono::seconds kHandshake{3};
  // For the answer to a ping.
  static constexpr std::chrono::seconds kPingAnswer{10};

  // `table` outlives it.
  explicit GrpcListener(ConnectionTable* table) : table_(*table) {}
  // Closes the sockets, if Stop has not; before the gRPC server ends.
  ~GrpcListener() { Stop(); }
  GrpcListener(const GrpcListener&) = delete;
  GrpcListener& operator=(const GrpcListener&) = delete;

  // Has a server that is built serve what comes, by `credentials`.
  void AddTo(grpc::ServerBuilder* builder, std::shared_ptr<grpc::ServerCredentials> credentials,
             const ServerOptions& options);
  // Once that server runs. The address with the port that was bound.
  //   FailedPrecondition  as ListenAtAll
  [[nodiscard]] StatusOr<HostPort> Start(const HostPort& address);
  // Who connects from now on is refused. Idempotent; one thread.
  void Stop() { loop_.reset(); }

 private:
  ConnectionTable& table_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::optional<AcceptLoop> loop_;
};

}  // namespace halograph::server
