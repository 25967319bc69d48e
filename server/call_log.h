// The server's log of calls: each at debug, errors at warning, with the request id and rank that
// came in metadata. Errors are limited to some lines a second, and what was left out is counted,
// so that no client can fill a disk. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>

#include "common/base/status.h"
#include "server/handlers/stats.h"

namespace grpc {
class CallbackServerContext;
}

namespace halograph::server {

// Refusals (Unavailable) and calls given up (Cancelled) are no errors of anybody: debug only.
void LogCall(const grpc::CallbackServerContext& context, Method method, const Status& status,
             int64_t request_bytes, int64_t reply_bytes, std::chrono::nanoseconds latency);

}  // namespace halograph::server
