// One unary call from arrival to end, the same for every method: the graph that it is for is
// checked, it passes the gate, runs on the pool, and is counted and logged. Methods are raw (bytes
// in, bytes out): bytes are counted exactly, a malformed request is INVALID_ARGUMENT, and rows are
// not copied by protobuf.
#pragma once

#include <functional>
#include <string_view>

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "common/base/status.h"
#include "server/call_log.h"
#include "server/runtime/dispatcher.h"
#include "server/runtime/stats.h"

namespace grpc {
class CallbackServerContext;
}

namespace halograph::server {

// Shared by all calls of a server; must outlive them.
struct CallEnvironment {
  Dispatcher* dispatcher = nullptr;
  ServerStats* stats = nullptr;
  CallLog* log = nullptr;
  std::string_view identity;  // of the graph served
};

enum class Admission {
  kPool,    // through the gate, on the pool
  kInline,  // through the gate, at once on gRPC's thread: for what takes microseconds
  kAlways,  // as kInline, but also while draining: for statistics
};

// Turns a request into a reply. `request` may be read from.
using CallWork = std::function<Status(grpc::ByteBuffer* request, grpc::ByteBuffer* reply)>;

// Starts the call and returns its reactor, which deletes itself. Calls whose metadata names
// another graph (common/base/call_metadata.h) end with FAILED_PRECONDITION; refused ones (gate,
// queue) with UNAVAILABLE and trailing metadata `grpc-retry-pushback-ms`. `work` is not run for a
// call that its client has cancelled. The other parameters are what gRPC gives to a raw method.
grpc::ServerUnaryReactor* StartCall(const CallEnvironment& environment, Method method,
                                    Admission admission, grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* reply,
                                    CallWork work);

}  // namespace halograph::server
