// One unary call from arrival to end, the same for every method: its size and the graph that it is
// for are checked, it passes the gate, runs on a lane, gets memory for its reply, and is counted
// and logged; its reply has a deadline. Methods are raw (bytes in, bytes out): bytes are counted
// exactly, a malformed request is INVALID_ARGUMENT, and rows are not copied by protobuf.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "common/base/cancel.h"
#include "common/base/status.h"
#include "proto/methods/methods.h"
#include "server/call_log.h"
#include "server/listener/connection_table.h"
#include "server/rights/access.h"
#include "server/rights/rights.h"
#include "server/runtime/buffer_pool.h"
#include "server/runtime/call_metrics.h"
#include "server/runtime/dispatcher.h"
#include "server/runtime/reply_watch.h"
#include "server/runtime/stats.h"
#include "server/runtime/waiting_calls.h"

namespace grpc {
class CallbackServerContext;
}

namespace halograph::server {

// Shared by all calls of a server; must outlive them.
struct CallEnvironment {
  Dispatcher* dispatcher = nullptr;
  ServerStats* stats = nullptr;
  CallMetrics* metrics = nullptr;
  CallLog* log = nullptr;
  BufferPool* buffers = nullptr;  // where replies of rows and edges lie
  ReplyWatch* replies = nullptr;  // with GrpcCallHooks()
  WaitingCalls* waiting = nullptr;
  Rights* rights = nullptr;  // null: everybody may do everything
  ConnectionTable* connections = nullptr;
  const CancelToken* ending = nullptr;  // cancelled when calls are cut off
  std::string_view identity;            // of the graph served
};

// What the work of a call has beside its messages. One thread at a time.
struct CallScope {
  ReplyMemory& memory;
  // When the client gives up, but no later than kLongestCall after the call came; or when the
  // server cuts calls off. Of a method that may wait long (WaitsLong) also when the client leaves.
  WorkLimits limits;
  // Set by work that waits for what other calls do, and returns any error then: the call waits
  // until it gives true, or until its time is nearly up.
  std::function<bool()> wait_for = {};
  bool waited = false;  // it has: work that still is not done ends within `limits`
  // Whose threads the work runs on. Work that finds that it may wait sets another one, and returns
  // any error: it runs again there, from the start.
  Lane lane = Lane::kWork;
  // What the caller may do. Work asks it as soon as it knows what the request is about: a call
  // whose method takes a verb (proto/methods/methods.h) and that asked for none ends with Internal.
  Access access = {};
};
inline constexpr std::chrono::minutes kLongestCall{10};

// Turns a request into a reply. `request` may be read from, where the work does not wait. Where
// scope.memory has no room, or scope.wait_for is set, the call waits, without a thread, and the
// work runs again from the start.
using CallWork =
    std::function<Status(grpc::ByteBuffer* request, CallScope& scope, grpc::ByteBuffer* reply)>;

// How a watch ends a call of gRPC (a grpc_call*). Its client may repeat it.
[[nodiscard]] ReplyWatch::Hooks GrpcCallHooks();

// Starts the call and returns its reactor, which deletes itself. How it is bounded and where it
// runs is the method's rows (proto/methods/methods.h, server/methods.h). Calls of nobody that the
// policy knows end with UNAUTHENTICATED before their request is looked at. Calls whose
// metadata names another graph (common/base/call_metadata.h) end with FAILED_PRECONDITION; too
// large ones with RESOURCE_EXHAUSTED; refused ones (gate, queue, memory) with UNAVAILABLE and
// trailing metadata `grpc-retry-pushback-ms`. `work`, which outlives the call, is not run for one
// that its client has cancelled. The other parameters are what gRPC gives to a raw method.
grpc::ServerUnaryReactor* StartCall(const CallEnvironment& environment, Method method,
                                    grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* reply,
                                    const CallWork& work);

}  // namespace halograph::server
