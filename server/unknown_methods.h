// Calls of methods that this server does not have: UNIMPLEMENTED, and counted by their connection
// as all others are. gRPC would answer them too, but a flood of calls that nobody counts is one
// that nobody ends.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include "server/listener/connection_table.h"

namespace halograph::server {

class UnknownMethods final : public grpc::CallbackGenericService {
 public:
  // `connections` outlives the server.
  explicit UnknownMethods(ConnectionTable* connections) : connections_(*connections) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

 private:
  ConnectionTable& connections_;
};

}  // namespace halograph::server
