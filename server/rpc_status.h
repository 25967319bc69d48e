// The one place where our errors become gRPC's.
#pragma once

#include <string>
#include <string_view>

#include <grpcpp/support/status.h>

#include "common/base/status.h"

namespace halograph::server {

// `text` as one printable line: control and non-ASCII bytes become \xNN, and what is longer than
// `limit` bytes is cut with "...". For whatever a client sent.
[[nodiscard]] std::string Printable(std::string_view text, size_t limit);

// The same code; the message printable and short enough for HTTP/2 trailers.
[[nodiscard]] grpc::Status ToGrpc(const Status& status);

}  // namespace halograph::server
