// The one place where our errors become gRPC's.
#pragma once

#include <grpcpp/support/status.h>

#include "common/base/status.h"

namespace halograph::server {

// The same code; the message printable (common/base/printable.h) and short enough for HTTP/2
// trailers.
[[nodiscard]] grpc::Status ToGrpc(const Status& status);

}  // namespace halograph::server
