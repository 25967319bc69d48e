// Who calls, as gRPC knows it: the names of the certificate that the connection was made with, and
// the call's metadata. Nothing is added to the connection: its properties are shared by its calls.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "server/listener/connection_table.h"
#include "server/rights/rights.h"

namespace grpc {
class CallbackServerContext;
}

namespace halograph::server {

// Thread-safe, of a call that has begun. Through a trusted proxy (`from_proxy`) the certificate is
// the one that the proxy says the client showed, `identity`; empty: it showed none.
[[nodiscard]] CallerFacts FactsOf(const grpc::CallbackServerContext& context, bool from_proxy,
                                  const std::string& identity);

// OK, or Unauthenticated as Rights::Of; OK where `rights` is null. For calls that any principal may
// make; `call`: of `connections`.
[[nodiscard]] Status CheckCaller(const grpc::CallbackServerContext& context,
                                 const ConnectionTable::Call& call, ConnectionTable* connections,
                                 Rights* rights);

// A call that has begun, counted by its connection with its metadata and `request_bytes`.
[[nodiscard]] ConnectionTable::Call BeginCounted(ConnectionTable* connections,
                                                 const grpc::CallbackServerContext& context,
                                                 int64_t request_bytes);

}  // namespace halograph::server
