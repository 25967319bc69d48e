// The calls of one RpcClient::Start: they are begun, tried again, asked of other servers, given up.
//
// One thread at a time: the one that starts the batch until it hands it to the driver, and the
// driver's from then on. Attempts end on threads of gRPC, and a token is cancelled on any: both are
// the driver's events (rpc_driver.h), of which the batch hears in its next Step.
#pragma once

#include <chrono>
#include <deque>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/remote/rpc.h"
#include "client/remote/rpc_task.h"
#include "client/remote/suspension_watch.h"
#include "common/base/cancel.h"

namespace halograph {

class RpcBatch {
 public:
  using Clock = std::chrono::steady_clock;

  // `client` and `driver` outlive it, and so does what Start borrows.
  RpcBatch(RpcClient* client, RpcDriver* driver, CallContext* context,
           RpcClient::EnoughAt enough_at);

  // `watch`: of the thread that goes on with it, whose own work it leaves out.
  void SetWatch(SuspensionWatch* watch) { watch_ = watch; }
  // Once, first, when the driver keeps this batch's events: begins what can begin.
  void Begin(std::vector<Rpc> calls, RpcClient::Done done);

  // From here on on the driver's thread.
  //
  // Goes on: these attempts have ended, and it is `now`, as far as the time of calls is concerned.
  void Step(const std::vector<RpcTask*>& completed, Clock::time_point now);
  // When to Step next if nothing happens before.
  [[nodiscard]] Clock::time_point NextStep() const;
  // This process did not run for a while: each call has its whole time again, once, and its attempt
  // is made again, since gRPC may take it for one whose time is over. Gives how many have.
  [[nodiscard]] int Renew();
  // Ends the calls, the first time with `error`. What is under way is so until its attempts have
  // ended.
  void Fail(const Status& error);
  // Nothing is under way, or will be.
  [[nodiscard]] bool ended() const { return tasks_.empty(); }
  // Of a batch that has ended. Nothing else may be asked of it then.
  struct End {
    RpcClient::Done done;
    Status status;
    std::exception_ptr thrown;
  };
  [[nodiscard]] End TakeEnd();

 private:
  using Task = RpcTask;
  using TaskPtr = std::unique_ptr<Task>;
  struct Waiting {
    Rpc rpc;
    std::optional<Clock::time_point> begin;  // of the call that it continues
  };

  // `begin`: of the call whose reply adds these.
  void Add(std::vector<Rpc> calls, Clock::time_point begin = {});
  void StartReady();
  // The server for a call to begin with; -1: it has to wait.
  [[nodiscard]] int ServerFor(const Rpc& rpc) const;
  void BeginCall(Waiting waiting, int server);
  // Another server is asked than the one that should answer.
  void CountFailover(Task* task);
  // Counts the call at the server, or no longer.
  void Enter(Task* task, int server);
  void Leave(const Task& task, bool answered = false);
  void StartAttempt(Task* task);
  // What the metrics say of an attempt that is not the first, or not at the first server.
  void CountAttempt(const Task& task);
  void Advance(const std::vector<Task*>& completed);
  // Ends attempts whose time is over. gRPC does so as well, but waits by the system's clock: where
  // that is set back by an hour, an hour later.
  void EndOverdue();
  void WarnIfSlow();
  void Drop(Task* task, bool answered = false);
  // No memory for a request, say: ends what is under way.
  void Catch(const std::exception_ptr& thrown);

  // What becomes of a call whose attempt has ended (rpc_batch_ends.cc).
  //
  // Ended to be made again; or by gRPC alone, well before its time: the system's clock was set
  // forward, say.
  [[nodiscard]] bool EndedEarly(const Task& task, const Status& error) const;
  void Handle(Task* task);
  void Retry(Task* task, const AttemptResult& result);
  // Asks the same server, after a pause.
  void TryAgain(Task* task, const AttemptResult& result);
  // None of its servers is there: it waits for them.
  void WaitForServers(Task* task, const AttemptResult& result, Clock::time_point now) const;
  // Goes on with another server than the one that gave this result.
  void FailOver(Task* task, const AttemptResult& result);
  void FinishWithError(Task* task, const Status& error);

  RpcClient& client_;
  RpcDriver& driver_;
  CallContext& context_;
  RpcClient::Done done_;
  const RpcClient::EnoughAt enough_at_;
  const RpcTeller teller_;
  SuspensionWatch* watch_ = nullptr;
  Clock::time_point now_;                        // of the Step
  std::vector<std::deque<Waiting>> ready_;       // per preferred or first server: not begun
  std::vector<int> started_;                     // per server: begun there and not finished
  std::vector<Clock::time_point> busy_since_;    // the same, where some are
  std::vector<Clock::time_point> busy_until_;    // the same: when its last answer came
  std::vector<Clock::time_point> next_warning_;  // the same
  std::list<TaskPtr> tasks_;                     // begun: under way, or waiting to be retried
  Status error_;
  std::exception_ptr thrown_;
  bool enough_ = false;  // what is not answered yet is given up
  std::optional<CancelToken::Registration> wake_to_end_;
};

}  // namespace halograph
