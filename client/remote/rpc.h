// Whole calls to partition servers: many at once, each retried while its server is unavailable
// and each within its deadline, cancellable from outside. No gRPC type shows here.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "client/remote/remote_store.h"
#include "client/remote/transport.h"
#include "common/base/status.h"

namespace halograph {

class RpcBatch;

// One call to one server.
struct Rpc {
  int server = 0;
  std::string_view method;  // "GraphService/Sample"; lives for ever
  // The message; made when the call starts, so that what waits costs nothing.
  std::function<std::string()> make_request;
  // Reads the reply, on a thread of gRPC, maybe while others of the batch are read. Calls put into
  // `more` join the batch. An error ends the batch; it is reported as this server's.
  std::function<Status(ReplyPieces, std::vector<Rpc>* more)> on_reply;
  // If set: the call failed for good with `error` (server and call named). Returns it, or another
  // error, to end the batch; or puts other calls instead into `more`, or takes note of it, and
  // returns OK. On the thread that runs the batch.
  std::function<Status(const Status& error, std::vector<Rpc>* more)> on_error;
};

// What Shutdown of a store ends: the batches that run under it and later ones. Thread-safe.
class CallScope {
 public:
  CallScope() = default;
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  void Cancel();
  // Cancelled after Cancel, else OK.
  [[nodiscard]] Status Check() const;

 private:
  friend class RpcBatch;
  [[nodiscard]] Status Enter(RpcBatch* batch);
  void Leave(RpcBatch* batch);

  mutable std::mutex mutex_;
  bool cancelled_ = false;
  absl::flat_hash_set<RpcBatch*> batches_;
};

class RpcClient {
 public:
  // Requires options.Validate().
  explicit RpcClient(const RemoteOptions& options);

  [[nodiscard]] const RemoteOptions& options() const { return options_; }
  [[nodiscard]] int num_servers() const { return static_cast<int>(options_.servers.size()); }
  [[nodiscard]] const std::string& address(int server) const;

  // Every later call says that it is for this graph: a server that came to serve another one since
  // it was described refuses it. As Transport::ExpectGraph; requires that no Run is under way.
  void ExpectGraph(const std::string& identity) { transport_.ExpectGraph(identity); }

  // Runs all calls and those that they add, at most options.calls_in_flight of a server at once,
  // in order; returns when none is under way, whatever happened. `meanwhile`, if not empty, is
  // called once the first are under way, or at once if there are none; not after Cancel. It must
  // not throw. A call has options.timeout from its first attempt on; UNAVAILABLE is tried again
  // within it. The first error ends the rest:
  //   Unavailable, DeadlineExceeded  no answer in time; the last cause is named
  //   Cancelled                      the scope was
  //   FailedPrecondition             the server is not, or no longer, of the graph expected
  //   else                           as the server or on_reply gave it
  // Messages start with "<address>: <method>: ". While a call takes more than a few seconds a
  // warning says which one.
  [[nodiscard]] Status Run(CallScope& scope, std::vector<Rpc> calls,
                           const std::function<void()>& meanwhile = {});

 private:
  friend class RpcBatch;
  const RemoteOptions options_;
  Transport transport_;
};

}  // namespace halograph
