#include "client/remote/rpc_driver.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "client/remote/rpc_task.h"
#include "common/base/log.h"

namespace halograph {

RpcDriver::RpcDriver(std::chrono::nanoseconds timeout)
    : timeout_(timeout), suspension_(timeout, Clock::now()) {}

Status RpcDriver::Enlist(const RpcBatch* batch) {
  std::list<Driven> room(1);  // HandOver cannot fail
  const MutexLock lock(mutex_);
  if (ending_) return Cancelled("the client of the servers is closed");
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { Loop(); });
    } catch (const std::system_error& error) {
      return ResourceExhausted("no thread for calls to servers: {}", error.what());
    }
  }
  inboxes_.try_emplace(batch).first->second.handed_over = std::move(room);
  return OkStatus();
}

void RpcDriver::HandOver(std::unique_ptr<RpcBatch> batch, Clock::time_point since) {
  const MutexLock lock(mutex_);
  Inbox& inbox = inboxes_.at(batch.get());
  inbox.driven = true;
  inbox.handed_over.front().since = since;
  inbox.handed_over.front().batch = std::move(batch);
  news_ = true;
  wake_.NotifyOne();
}

void RpcDriver::Completed(const RpcBatch* batch, RpcTask* task) {
  const MutexLock lock(mutex_);  // notified under the lock: this may be gone as soon as it is free
  Inbox& inbox = inboxes_.at(batch);
  inbox.completed.push_back(task);
  if (!inbox.driven) return;
  news_ = true;
  wake_.NotifyOne();
}

void RpcDriver::Wake(const RpcBatch* batch) {
  const MutexLock lock(mutex_);
  const auto inbox = inboxes_.find(batch);
  if (inbox == inboxes_.end()) return;
  inbox->second.woken = true;
  if (!inbox->second.driven) return;
  news_ = true;
  wake_.NotifyOne();
}

void RpcDriver::End() {
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    news_ = true;
    wake_.NotifyOne();
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

void RpcDriver::Loop() {
  while (Wait()) {
    // What is over by this time is judged below: a suspension after it is for the next look.
    const Clock::time_point now = Clock::now();
    RenewAfterSuspension(now);
    for (auto one = batches_.begin(); one != batches_.end();) {
      if (one->next > now) {
        ++one;
        continue;
      }
      if (ends_all_) one->batch->Fail(Cancelled("the client of the servers was closed"));
      one->batch->Step(std::exchange(one->completed, {}), now);
      if (one->batch->ended()) {
        Finish(std::move(one->batch));
        one = batches_.erase(one);
        continue;
      }
      one->next = one->batch->NextStep();
      ++one;
    }
  }
}

bool RpcDriver::Wait() {
  const MutexLock lock(mutex_);
  if (ending_ && inboxes_.empty()) return false;
  const auto news = [&]() HG_REQUIRES(mutex_) { return news_; };
  if (batches_.empty()) {
    wake_.Wait(mutex_, news);
  } else {
    Clock::time_point next = suspension_.next_look();
    for (const Driven& one : batches_) next = std::min(next, one.next);
    wake_.WaitUntil(mutex_, next, news);
  }
  TakeNews();
  return true;
}

void RpcDriver::TakeNews() {
  news_ = false;
  ends_all_ = ending_;
  for (auto& [batch, inbox] : inboxes_) {
    if (!inbox.driven || inbox.handed_over.empty()) continue;
    // What is handed over first after a time without batches begins the watch.
    Driven& one = inbox.handed_over.front();
    if (batches_.empty()) suspension_ = SuspensionWatch(timeout_, one.since);
    suspension_.WatchSince(one.since);
    one.batch->SetWatch(&suspension_);
    batches_.splice(batches_.end(), inbox.handed_over);
  }
  for (Driven& one : batches_) {
    Inbox& inbox = inboxes_.at(one.batch.get());
    if (inbox.completed.empty() && !inbox.woken && !ending_) continue;
    one.next = {};
    inbox.woken = false;
    std::swap(one.completed, inbox.completed);
  }
}

void RpcDriver::RenewAfterSuspension(Clock::time_point now) {
  if (batches_.empty()) return;
  const std::chrono::nanoseconds missed = suspension_.Look(now);
  if (missed.count() == 0) return;
  int renewed = 0;
  for (Driven& one : batches_) {
    if (one.since > now - missed) continue;  // handed over after that
    renewed += one.batch->Renew();
    one.next = {};
  }
  if (renewed > 0) spdlog::warn("{}", RpcTeller::Suspended(missed, renewed));
}

void RpcDriver::Finish(std::unique_ptr<RpcBatch> batch) {
  {
    const MutexLock lock(mutex_);
    inboxes_.erase(batch.get());
  }
  RpcBatch::End end = batch->TakeEnd();
  batch.reset();  // what its calls hold, and the hand on the token
  const OwnWork work(&suspension_);
  end.done(std::move(end.status), std::move(end.thrown));
}

}  // namespace halograph
