// Whole calls to partition servers: many at once, each retried while its servers are unavailable,
// within its deadline, and ended from outside. No gRPC type shows here.
//
// A call that several servers can answer is asked of the one that it prefers, else of the least
// busy of those that are not avoided (server_health.h). It fails over to the next one, under the
// same request id, when a server
//   is UNAVAILABLE, or its connection lost  so often in a row as Rpc::tries_a_server says
//   is silent                               for its share: of n servers that were not asked yet and
//                                           are not lost, the first has 1/n of the time that is
//                                           left, so that the last one has it too
//   refuses a call that it should take      it came to serve another graph (FAILED_PRECONDITION) or
//                                           other parts (OUT_OF_RANGE): it is not asked again
// Once all were asked, the first is again, after a pause that grows, until the deadline. The server
// that is left behind is lost for all calls, unless it was only full; a warning says so, once each
// time that it is lost.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/call_context.h"
#include "client/remote/server_health.h"
#include "client/remote/transport.h"
#include "client/remote_options.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "proto/methods/methods.h"

namespace halograph {

class ClientMetrics;
class RpcBatch;
class RpcDriver;

// One call, to any one of some servers.
struct Rpc {
  std::vector<int> servers;  // that can answer, each with the same bits; at least one
  // Of these, the one that is asked, however busy, while it is not avoided. That another is asked
  // in its place counts as a failover. -1: none.
  int preferred = -1;
  // What the servers have that others do not, for messages: "part 0". Lives as long as the batch.
  std::string_view serves = "what is asked for";
  // How it is retried is its row's (proto/methods/methods.h).
  Method method = Method::kEnd;
  // Tries in a row at one server while others can answer too; then the next of them is asked, and
  // after the last the first again, until the deadline.
  int tries_a_server = 1;
  // The message; made when the call starts, so that what waits costs nothing. All servers get the
  // same. Calls that Start can begin make theirs on its thread, since large ones take a while to
  // write; those that wait for others, and those that replies add, on the client's own.
  std::function<std::string()> make_request;
  // Reads the reply, on a thread of gRPC, maybe while others of the batch are read. Calls put into
  // `more` join the batch. An error ends the batch; it is reported as the server's.
  std::function<Status(ReplyPieces, std::vector<Rpc>* more)> on_reply;
  // Of a call that a reply puts into `more`: it asks for the rest of what that reply's request
  // asked for. It is next, and shares that call's time: a server that answers in small pieces ends
  // when one that answers not at all does.
  bool continues = false;
  // The server answers once pushes of other ranks have come, and these may wait for a server that
  // went away: the call has options.server_timeout on top of its time. Repeatable.
  bool awaits_pushes = false;
  // To one server, before calls that are not so: begins at once, however many are under way there.
  bool at_once = false;
  // If set: after an attempt that the server may have done, though its answer did not come, an
  // error of this code says that it was done. The call has succeeded then, without a reply.
  std::optional<absl::StatusCode> done_before = {};
  // If set: whether an attempt before the last may have been done, for on_error.
  bool* maybe_done = nullptr;
  // If set: the call failed, and is not tried again, with `error` (server and call named), at
  // `server` last. Returns it, or another error, to end the batch; or puts other calls instead into
  // `more`, or takes note of it, and returns OK. On the client's own thread.
  std::function<Status(int server, const Status& error, std::vector<Rpc>* more)> on_error;
};

// Thread-safe but for ExpectGraph. One thread, which begins with the first calls, drives those of
// all Starts that are under way: however many there are, no other waits for them.
class RpcClient {
 public:
  // When the calls that are not answered are given up; asked again and again.
  using EnoughAt = std::function<std::chrono::steady_clock::time_point()>;

  // Requires options.Validate().
  explicit RpcClient(const RemoteOptions& options);
  ~RpcClient();  // as End

  [[nodiscard]] const RemoteOptions& options() const { return options_; }
  [[nodiscard]] int num_servers() const { return static_cast<int>(options_.servers.size()); }
  // Where they are now.
  [[nodiscard]] std::string address(int server) const;
  [[nodiscard]] std::vector<std::string> addresses() const;
  [[nodiscard]] std::vector<ServerPlace> places() const;
  // Calls that begin from now on find the server there.
  void Move(int server, const ServerPlace& place);
  // `gone` is told, on the thread that drives calls, each time that a server does not answer;
  // requires that no calls are under way. It must not block.
  void WhenGone(std::function<void(int server)> gone) { gone_ = std::move(gone); }

  // Every later call says that it is for this graph: a server that came to serve another one since
  // it was described refuses it. As Transport::ExpectGraph; requires that no calls are under way.
  void ExpectGraph(const std::string& identity) { transport_.ExpectGraph(identity); }

  // How busy the servers are, and which are lost. A server is lost only if another can answer in
  // its place; who runs calls looks after it.
  [[nodiscard]] ServerHealth& health() { return health_; }

  // Runs all calls and those that they add, in order; begins no more than options.calls_in_flight
  // at a time at one server (calls that fail over, or are `at_once`, come on top). `done` is called
  // once, when none is under way, whatever happened: also when they are cancelled, and when this
  // ends before them. It comes on the thread that drives all calls, so it should only tell another
  // one, and must not throw, nor destroy this; without calls, and for an error that is found before
  // the first begins, it comes before Start returns. `context`, which is of these calls alone, and
  // what the calls refer to live until `done` is called, and are free when it is.
  //
  // A call has options.timeout from its first attempt on, by the steady clock, however the system's
  // is set, and once more if this process did not run for half of it or longer while it waited
  // (suspension_watch.h); UNAVAILABLE is tried again within it as its method allows. When the last
  // of its servers is found gone (its connection lost or refused), the call has
  // options.server_timeout from then on instead, unless that is 0. None has longer than the
  // context's deadline. The first error ends the rest:
  //   Unavailable, DeadlineExceeded  no answer in time; the last cause is named, and where several
  //                                  servers could answer each one's
  //   Cancelled                      the context's token was cancelled, or this client has ended
  //   FailedPrecondition             the server is not, or no longer, of the graph expected
  //   ResourceExhausted              no memory for a request, or no thread for the first calls
  //   Internal                       something that is called threw
  //   else                           as the server or on_reply gave it
  // Messages start with "<address>: <method>: " and end with the ids that the server's log has.
  // While a call takes more than a few seconds a warning says which one.
  // `enough_at`, if set: what is given up by it is no error.
  void Start(CallContext& context, std::vector<Rpc> calls, std::function<void(Status)> done,
             EnoughAt enough_at = nullptr);
  // Start, and waits until it is done. What make_request and on_error throw comes out of it. Not
  // within `done`.
  [[nodiscard]] Status Run(CallContext& context, std::vector<Rpc> calls,
                           EnoughAt enough_at = nullptr);

  // Ends what is under way, and what is started later, with Cancelled. Returns when `done` of each
  // that was under way has returned. Not within `done`.
  void End();

 private:
  friend class RpcBatch;
  using Done = std::function<void(Status status, std::exception_ptr thrown)>;

  void StartBatch(CallContext& context, std::vector<Rpc> calls, Done done, EnoughAt enough_at);

  const RemoteOptions options_;
  const std::unique_ptr<ClientMetrics> metrics_;  // null: nothing is counted
  ServerHealth health_;
  mutable Mutex mutex_;
  std::vector<ServerPlace> places_ HG_GUARDED_BY(mutex_);
  std::function<void(int)> gone_;
  Transport transport_;
  const std::unique_ptr<RpcDriver> driver_;
};

}  // namespace halograph
