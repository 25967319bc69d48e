#include "server/rpc_status.h"

#include "common/base/printable.h"

namespace halograph::server {

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  // The two enumerations have the same values by definition (both are google.rpc.Code).
  return {static_cast<grpc::StatusCode>(status.raw_code()),
          // Short: gRPC takes 8 KiB of metadata, and triples what it must percent-encode.
          Printable(Message(status), kMessageShown)};
}

}  // namespace halograph::server
