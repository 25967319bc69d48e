// The thread that drives the batches of a client (rpc_batch.h): it waits until an attempt of any of
// them has ended, a token was cancelled or it is time for something, lets those step that this is
// about, and calls `done` of those that have ended. It begins with the first batch.
//
// It alone looks whether this process did not run for a while, and leaves out what it works itself.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "client/remote/rpc_batch.h"
#include "client/remote/suspension_watch.h"
#include "common/base/mutex.h"
#include "common/base/status.h"

namespace halograph {

class RpcDriver {
 public:
  // `timeout`: of calls.
  explicit RpcDriver(std::chrono::nanoseconds timeout);
  ~RpcDriver() { End(); }
  RpcDriver(const RpcDriver&) = delete;
  RpcDriver& operator=(const RpcDriver&) = delete;

  // Keeps what happens to the batch from now on. It is handed over next.
  //   ResourceExhausted  there can be no thread
  //   Cancelled          after End
  [[nodiscard]] Status Enlist(const RpcBatch* batch);
  // `since`: when it began, without the caller's own work. What this process misses from then on is
  // noticed.
  void HandOver(std::unique_ptr<RpcBatch> batch, std::chrono::steady_clock::time_point since);
  // An attempt of the batch has ended: gRPC is done with it.
  void Completed(const RpcBatch* batch, RpcTask* task);
  // The batch's token was cancelled. Nothing for a batch that has ended.
  void Wake(const RpcBatch* batch);

  // Ends all batches with Cancelled, and returns when `done` of each has returned. Not within
  // `done`.
  void End();

 private:
  using Clock = RpcBatch::Clock;
  // One that the thread drives.
  struct Driven {
    std::unique_ptr<RpcBatch> batch = nullptr;
    Clock::time_point since = {};  // as HandOver is told
    Clock::time_point next = {};   // when it is to step
    std::vector<RpcTask*> completed = {};
  };
  // What the thread does not know yet of a batch.
  struct Inbox {
    std::list<Driven> handed_over;  // room for it; until the thread has it
    bool driven = false;            // it is handed over
    bool woken = false;
    std::vector<RpcTask*> completed;
  };

  void Loop();
  // Waits for news or until something is due, and takes the news to batches_. False: all has ended.
  [[nodiscard]] bool Wait();
  void TakeNews() HG_REQUIRES(mutex_);
  // `now`: of the look.
  void RenewAfterSuspension(Clock::time_point now);
  // Calls its `done`.
  void Finish(std::unique_ptr<RpcBatch> batch);

  // Of the thread alone.
  const std::chrono::nanoseconds timeout_;
  SuspensionWatch suspension_;  // while there are batches
  std::list<Driven> batches_;
  bool ends_all_ = false;

  Mutex mutex_;
  CondVar wake_;
  bool news_ HG_GUARDED_BY(mutex_) = false;
  bool ending_ HG_GUARDED_BY(mutex_) = false;
  std::map<const RpcBatch*, Inbox> inboxes_ HG_GUARDED_BY(mutex_);  // enlisted and not finished
  std::thread thread_ HG_GUARDED_BY(mutex_);
};

}  // namespace halograph
