// Who calls, as gRPC knows it: the names of the certificate that the connection was made with, and
// the call's metadata. Nothing is added to the connection: its properties are shared by its calls.
#pragma once

#include <string_view>

#include "common/base/status.h"
#include "server/rights/rights.h"

namespace grpc {
class CallbackServerContext;
}

namespace halograph::server {

// Thread-safe, of a call that has begun.
[[nodiscard]] CallerFacts FactsOf(const grpc::CallbackServerContext& context);

// OK, or Unauthenticated as Rights::Of; OK where `rights` is null. For calls that any principal may
// make.
[[nodiscard]] Status CheckCaller(const grpc::CallbackServerContext& context, Rights* rights);

}  // namespace halograph::server
