// One call of a batch on its way, and how messages tell of it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/remote/rpc.h"
#include "client/remote/server_health.h"
#include "client/remote/transport.h"
#include "common/base/status.h"
#include "common/base/trace_context.h"

namespace halograph {

// What gRPC says of a call whose time is over.
inline constexpr char kOutOfTime[] = "Deadline Exceeded";

struct RpcTask {
  using Clock = std::chrono::steady_clock;

  Rpc rpc;
  std::shared_ptr<const std::string> request;
  std::string request_id;
  TraceContext trace;                          // empty: none
  int server = 0;                              // asked now, or last
  int tries_here = 0;                          // in a row
  Clock::time_point entered;                   // when that server was chosen
  Clock::time_point left;                      // when its last answer came
  bool replicated = false;                     // several servers could answer at first
  std::vector<int> asked;                      // of rpc.servers, in this round of them: in vain
  std::vector<std::pair<int, Status>> failed;  // each server's last error, if replicated
  Clock::time_point begin;
  Clock::time_point deadline;
  Clock::time_point not_before;
  Clock::time_point end_of_share;  // of the attempt under way: it is ended then
  bool overdue = false;            // it was
  bool keeps_share = false;        // the next attempt ends when the last one should have
  bool renewed = false;            // its time began again, since this process did not run
  bool restarts = false;           // the attempt under way was ended for that
  int attempts = 0;
  bool failed_over = false;                     // to the server asked now
  bool maybe_done = false;                      // an attempt ended without an answer
  bool gone = false;                            // its servers went away: `deadline` is of that
  Status last_error;                            // after which the call was tried again
  std::unique_ptr<Transport::Attempt> attempt;  // set: under way, or ended and not handled yet
  bool ended = false;                           // of the attempt: gRPC is done with it
  AttemptResult result;
  std::vector<Rpc> more;

  // It may be sent again after a server may have done it.
  [[nodiscard]] bool repeatable() const { return RowOf(rpc.method).repeatable; }
  // The server asked last gave this error.
  void NoteError(const Status& error);
  // The server's last error; null: none.
  [[nodiscard]] const Status* Failed(int of) const;
  // When the share of the call's time ends that the server asked now has.
  [[nodiscard]] Clock::time_point EndOfShare(const ServerHealth& health) const;
};

// Texts about tasks. Borrows what it is given.
class RpcTeller {
 public:
  RpcTeller(const RpcClient& client, const ServerHealth& health, TraceId trace_id)
      : client_(client), health_(health), trace_id_(trace_id) {}

  // What RpcClient::Run returns of a call that ended with `error`.
  [[nodiscard]] Status FinalError(const RpcTask& task, const Status& error) const;
  // "part 0: b:1 is asked from now on, a:1 is lost (why)"; `next`: -1 if none is left.
  [[nodiscard]] std::string Lost(const RpcTask& task, int next, const Status& error) const;
  // "this process did not run for 40.0 s: ..."; `calls`: under way, at least one.
  [[nodiscard]] static std::string Suspended(std::chrono::nanoseconds missed, int calls);
  // "waiting for a:1: ..."
  [[nodiscard]] std::string Waiting(const RpcTask& task, RpcTask::Clock::time_point now) const;

 private:
  // Why none of the other servers that could have answered did.
  [[nodiscard]] std::string WhyOfOthers(const RpcTask& task) const;

  const RpcClient& client_;
  const ServerHealth& health_;
  const TraceId trace_id_;
};

}  // namespace halograph
