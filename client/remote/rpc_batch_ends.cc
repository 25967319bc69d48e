// What becomes of a call whose attempt has ended: it is done, tried again, asked of another server,
// or has failed.
#include <algorithm>
#include <atomic>
#include <random>
#include <utility>

#include "client/remote/retry.h"
#include "client/remote/rpc_batch.h"
#include "common/base/call_metadata.h"
#include "common/base/log.h"
#include "common/base/rng.h"

namespace halograph {

namespace {

// What gRPC ends by so much before its time, it ended in time: its clock is not quite ours.
constexpr std::chrono::milliseconds kInTime{50};

// Jitter is not part of any contract: it need not be reproducible.
uint64_t NextJitter() {
  static std::atomic<uint64_t> counter{std::random_device()()};
  return Mix(counter.fetch_add(kGolden, std::memory_order_relaxed));
}

// Of errors that end an attempt but not the call.
bool IsNoAnswer(const Status& error) {
  // A server that is stopping cancels calls too.
  return absl::IsUnavailable(error) || absl::IsCancelled(error);
}

// What a server says that does not serve, or no longer, what it said that it serves.
bool IsRefusal(const Status& error) {
  return absl::IsFailedPrecondition(error) || absl::IsOutOfRange(error);
}

bool Contains(const std::vector<int>& servers, int server) {
  return std::find(servers.begin(), servers.end(), server) != servers.end();
}

}  // namespace

bool RpcBatch::EndedEarly(const Task& task, const Status& error) const {
  if (task.restarts) return absl::IsDeadlineExceeded(error);
  return task.repeatable() && !task.overdue && absl::IsDeadlineExceeded(error) &&
         Message(error) == kOutOfTime && now_ + kInTime < task.end_of_share;
}

void RpcBatch::Handle(Task* task) {
  task->attempt.reset();
  AttemptResult result = std::move(task->result);
  if (!error_.ok()) return Drop(task);
  if ((task->overdue || task->restarts) && absl::IsCancelled(result.status)) {
    result = {.status = DeadlineExceeded("{}", kOutOfTime), .pushback = {}};
  }
  if (result.status.ok()) {
    if (task->replicated && client_.health_.Answered(task->server)) {
      spdlog::info("{} answers again", client_.address(task->server));
    }
    // What goes on with it does not pay for a server that was gone.
    Add(std::exchange(task->more, {}), task->gone ? Clock::now() : task->begin);
    return Drop(task, true);
  }
  if (task->maybe_done && task->rpc.done_before == result.status.code()) return Drop(task);
  if (EndedEarly(*task, result.status)) {
    task->maybe_done = true;
    task->keeps_share = true;
    return TryAgain(task, result);
  }
  const bool others_left = task->rpc.servers.size() > 1;
  if (IsNoAnswer(result.status)) return Retry(task, result);
  const bool silent =
      absl::IsDeadlineExceeded(result.status) && task->repeatable() && now_ < task->deadline;
  if (client_.gone_ && (silent || IsRefusal(result.status))) client_.gone_(task->server);
  if (others_left && (silent || IsRefusal(result.status))) return FailOver(task, result);
  // The server's own bound of the wait is over, not the call's.
  if (silent && task->rpc.awaits_pushes) return TryAgain(task, result);
  FinishWithError(task, result.status);
}

void RpcBatch::Retry(Task* task, const AttemptResult& result) {
  if (client_.gone_ && !result.pushback.has_value()) client_.gone_(task->server);
  // With its pushback a server says that it did nothing.
  task->maybe_done = task->maybe_done || !result.pushback.has_value();
  if (!task->repeatable() && !result.pushback.has_value()) {
    return FinishWithError(task, result.status);
  }
  const Clock::time_point now = Clock::now();
  const bool others_left = task->rpc.servers.size() > 1;
  if (others_left && result.pushback.has_value()) {
    client_.health_.Full(task->server, now, now + *result.pushback);
  }
  if (others_left && task->tries_here >= task->rpc.tries_a_server) {
    return FailOver(task, result);
  }
  WaitForServers(task, result, now);
  TryAgain(task, result);
}

void RpcBatch::TryAgain(Task* task, const AttemptResult& result) {
  task->NoteError(result.status);
  task->last_error = result.status;
  task->not_before = Clock::now() + RetryPause(task->attempts, result.pushback, NextJitter());
  if (task->not_before >= task->deadline) FinishWithError(task, result.status);
}

void RpcBatch::WaitForServers(Task* task, const AttemptResult& result,
                              Clock::time_point now) const {
  // One that takes certificates and not this client's is there, and would not take it later.
  const bool refused =
      client_.options_.tls_files != nullptr && ReasonOf(result.status) == kClosedAtOnce;
  if (refused || result.pushback.has_value()) return;
  const std::chrono::nanoseconds wait = client_.options_.server_timeout;
  if (wait.count() == 0 || std::exchange(task->gone, true)) return;
  task->deadline = now + wait;
  if (task->rpc.awaits_pushes) task->deadline += client_.options_.timeout;
  if (context_.deadline.has_value()) task->deadline = std::min(task->deadline, *context_.deadline);
}

void RpcBatch::FailOver(Task* task, const AttemptResult& result) {
  const Status& error = result.status;
  const int from = task->server;
  std::vector<int>& servers = task->rpc.servers;
  const Clock::time_point now = Clock::now();
  task->NoteError(error);
  task->not_before = now;
  if (IsRefusal(error)) {
    std::erase(servers, from);
  } else {
    task->asked.push_back(from);
    task->last_error = error;
  }
  std::vector<int> left;
  std::copy_if(servers.begin(), servers.end(), std::back_inserter(left),
               [task](int server) { return !Contains(task->asked, server); });
  const bool once_around = left.empty();
  if (once_around) {
    task->asked.clear();
    left = servers;
    task->not_before += RetryPause(task->attempts, {}, NextJitter());
  }
  const bool full = result.pushback.has_value();
  if (once_around && IsNoAnswer(error)) WaitForServers(task, result, now);
  const bool lost = !full && client_.health_.Lost(from, now);
  const int next = client_.health_.Choose(left, now, nullptr, task->rpc.preferred);
  task->not_before = std::max(task->not_before, client_.health_.FullUntil(next));
  if (lost) spdlog::warn("{}", teller_.Lost(*task, once_around ? -1 : next, error));
  if (task->not_before >= task->deadline) return FinishWithError(task, error);
  if (next != from) CountFailover(task);
  Leave(*task);
  Enter(task, next);
}

void RpcBatch::FinishWithError(Task* task, const Status& error) {
  Status final_error = teller_.FinalError(*task, error);
  std::vector<Rpc> more;
  if (task->rpc.on_error) {
    if (task->rpc.maybe_done != nullptr) *task->rpc.maybe_done = task->maybe_done;
    const OwnWork work(watch_);
    final_error = task->rpc.on_error(task->server, final_error, &more);
  }
  Drop(task);
  if (!final_error.ok()) return Fail(final_error);
  Add(std::move(more));
}

}  // namespace halograph
