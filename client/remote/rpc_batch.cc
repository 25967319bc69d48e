#include "client/remote/rpc_batch.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <random>
#include <utility>

#include "client/remote/client_metrics.h"
#include "client/remote/rpc_driver.h"
#include "common/base/log.h"
#include "common/base/rng.h"

namespace halograph {

namespace {

using Clock = RpcBatch::Clock;

constexpr std::chrono::seconds kFirstWarning{3};
constexpr std::chrono::seconds kNextWarning{10};

// `given`, or where it is empty a prefix that is random and so unique over processes; then a number
// that is unique within this one, however many exchanges are made under one id.
std::string MakeRequestId(const std::string& given) {
  static const std::string prefix = [] {
    std::random_device device;
    return fmt::format("{:016x}", (uint64_t{device()} << 32) | device());
  }();
  static std::atomic<uint64_t> counter{0};
  return fmt::format("{}-{:x}", given.empty() ? prefix : given,
                     counter.fetch_add(1, std::memory_order_relaxed));
}

// Unique within this process, and over processes as far as chance goes; not 0.
uint64_t MakeSpan() {
  static const uint64_t key = [] {
    std::random_device device;
    return (uint64_t{device()} << 32) | device();
  }();
  static std::atomic<uint64_t> counter{0};
  return std::max<uint64_t>(1, SubKey(key, counter.fetch_add(1, std::memory_order_relaxed)));
}

Status ToStatus(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("no memory for calls to servers");
  } catch (const std::exception& error) {
    return Internal("calls to servers: {}", error.what());
  } catch (...) {
    return Internal("calls to servers: something unknown was thrown");
  }
}

}  // namespace

RpcBatch::RpcBatch(RpcClient* client, RpcDriver* driver, CallContext* context,
                   RpcClient::EnoughAt enough_at)
    : client_(*client),
      driver_(*driver),
      context_(*context),
      enough_at_(std::move(enough_at)),
      teller_(*client, client->health_, context->trace_id),
      ready_(static_cast<size_t>(client->num_servers())),
      started_(ready_.size(), 0),
      busy_since_(ready_.size()),
      busy_until_(ready_.size()),
      next_warning_(ready_.size(), Clock::time_point::max()) {}

void RpcBatch::Begin(std::vector<Rpc> calls, RpcClient::Done done) {
  done_ = std::move(done);
  try {
    wake_to_end_.emplace(context_.cancel, [this] { driver_.Wake(this); });
    Add(std::move(calls));
    StartReady();
  } catch (...) {
    Catch(std::current_exception());
  }
}

void RpcBatch::Step(const std::vector<Task*>& completed, Clock::time_point now) {
  now_ = now;
  for (Task* task : completed) task->ended = true;
  try {
    Advance(completed);
  } catch (...) {
    Catch(std::current_exception());
  }
}

void RpcBatch::Advance(const std::vector<Task*>& completed) {
  for (Task* task : completed) Handle(task);
  EndOverdue();
  // Not the deadline: every attempt ends by it, and names its server then.
  if (context_.cancel != nullptr && context_.cancel->cancelled()) Fail(context_.cancel->Check());
  if (enough_at_ && error_.ok() && Clock::now() >= enough_at_()) {
    enough_ = true;
    Fail(Cancelled("the rest is not waited for"));
  }
  WarnIfSlow();
  StartReady();
}

RpcBatch::End RpcBatch::TakeEnd() {
  return {.done = std::move(done_),
          .status = enough_ ? OkStatus() : std::move(error_),
          .thrown = std::move(thrown_)};
}

void RpcBatch::Catch(const std::exception_ptr& thrown) {
  if (error_.ok()) thrown_ = thrown;
  Fail(ToStatus(thrown));
  // Ended, and not handled since.
  tasks_.remove_if([this](const TaskPtr& task) {
    if (task->attempt != nullptr && !task->ended) return false;
    Leave(*task);
    return true;
  });
}

void RpcBatch::Add(std::vector<Rpc> calls, Clock::time_point begin) {
  for (Rpc& rpc : calls) {
    const int first = rpc.preferred >= 0 ? rpc.preferred : rpc.servers.front();
    std::deque<Waiting>& queue = ready_[static_cast<size_t>(first)];
    if (rpc.continues) {
      queue.push_front({std::move(rpc), begin});
    } else if (rpc.at_once) {
      queue.push_front({std::move(rpc), std::nullopt});
    } else {
      queue.push_back({std::move(rpc), std::nullopt});
    }
  }
}

void RpcBatch::StartReady() {
  if (!error_.ok()) return;
  const Clock::time_point now = Clock::now();
  for (const TaskPtr& task : tasks_) {
    if (task->attempt == nullptr && task->not_before <= now) StartAttempt(task.get());
  }
  for (std::deque<Waiting>& queue : ready_) {
    while (!queue.empty()) {
      const int server = ServerFor(queue.front().rpc);
      if (server < 0) break;
      Waiting next = std::move(queue.front());
      queue.pop_front();
      BeginCall(std::move(next), server);
    }
  }
}

int RpcBatch::ServerFor(const Rpc& rpc) const {
  const auto has_room = [this](int server) {
    return started_[static_cast<size_t>(server)] < client_.options_.calls_in_flight;
  };
  const int only = rpc.servers.front();
  if (rpc.servers.size() == 1) return rpc.at_once || has_room(only) ? only : -1;
  return client_.health_.Choose(rpc.servers, Clock::now(), has_room, rpc.preferred);
}

void RpcBatch::BeginCall(Waiting waiting, int server) {
  auto task = std::make_unique<Task>();
  task->rpc = std::move(waiting.rpc);
  task->replicated = task->rpc.servers.size() > 1;
  {
    const OwnWork work(watch_);
    task->request = std::make_shared<const std::string>(task->rpc.make_request());
  }
  task->request_id = MakeRequestId(context_.request_id);
  if (!context_.trace_id.empty()) {
    task->trace = {.trace = context_.trace_id, .span = MakeSpan()};
  }
  task->begin = waiting.begin.value_or(Clock::now());
  task->deadline = task->begin + client_.options_.timeout;
  if (task->rpc.awaits_pushes) task->deadline += client_.options_.server_timeout;
  if (context_.deadline.has_value()) task->deadline = std::min(task->deadline, *context_.deadline);
  if (task->rpc.preferred >= 0 && server != task->rpc.preferred) CountFailover(task.get());
  Enter(task.get(), server);
  tasks_.push_back(std::move(task));
  StartAttempt(tasks_.back().get());
}

void RpcBatch::CountFailover(Task* task) {
  task->failed_over = true;
  ++context_.stats.failovers;
}

void RpcBatch::Enter(Task* task, int server) {
  task->server = server;
  task->tries_here = 0;
  task->entered = Clock::now();
  task->left = task->entered;
  const auto at = static_cast<size_t>(server);
  if (started_[at]++ > 0) return;
  next_warning_[at] = task->begin + kFirstWarning;
  busy_since_[at] = task->entered;
}

void RpcBatch::Leave(const Task& task, bool answered) {
  if (client_.options_.on_call_ended) {
    const OwnWork work(watch_);  // it may write to a slow disk
    const std::string address = client_.address(task.server);
    client_.options_.on_call_ended({.server = address,
                                    .method = MethodName(task.rpc.method),
                                    .request_id = task.request_id,
                                    .trace = task.trace,
                                    .begin = task.entered,
                                    .end = task.left,
                                    .attempts = task.attempts,
                                    .answered = answered});
  }
  const auto at = static_cast<size_t>(task.server);
  busy_until_[at] = std::max(busy_until_[at], task.left);
  if (--started_[at] > 0) return;
  const std::chrono::duration<double> busy = busy_until_[at] - busy_since_[at];
  context_.stats.AddServerSeconds(at, busy.count());
}

void RpcBatch::CountAttempt(const Task& task) {
  if (client_.metrics_ == nullptr) return;
  if (task.attempts > 1) client_.metrics_->SentAgain(task.rpc.method);
  if (task.failed_over) client_.metrics_->FailedOver();
}

void RpcBatch::StartAttempt(Task* task) {
  ++task->attempts;
  ++task->tries_here;
  CountAttempt(*task);
  task->ended = false;
  task->overdue = false;
  task->restarts = false;
  if (!std::exchange(task->keeps_share, false)) {
    task->end_of_share = task->EndOfShare(client_.health_);
  }
  client_.health_.Began(task->server);
  task->attempt = client_.transport_.Start(
      {.server = task->server,
       .method = task->rpc.method,
       .request = task->request,
       .request_id = task->request_id,
       .trace = task->trace,
       .failed_over = std::exchange(task->failed_over, false),
       .deadline = task->end_of_share},
      [task](ReplyPieces pieces) { return task->rpc.on_reply(pieces, &task->more); },
      [this, task](AttemptResult result) {
        client_.health_.Ended(task->server);
        task->result = std::move(result);
        task->left = Clock::now();
        driver_.Completed(this, task);  // the task may be gone when this returns
      });
}

Clock::time_point RpcBatch::NextStep() const {
  Clock::time_point next = Clock::time_point::max();
  for (const TaskPtr& task : tasks_) {
    if (task->attempt == nullptr) {
      next = std::min(next, task->not_before);
    } else if (!task->overdue) {
      next = std::min(next, task->end_of_share);
    }
  }
  for (size_t server = 0; server < started_.size(); ++server) {
    if (started_[server] > 0) next = std::min(next, next_warning_[server]);
  }
  if (enough_at_ && error_.ok()) next = std::min(next, enough_at_());
  return next;
}

int RpcBatch::Renew() {
  if (!error_.ok()) return 0;
  const Clock::time_point now = Clock::now();
  for (std::deque<Waiting>& queue : ready_) {
    for (Waiting& waiting : queue) {
      if (waiting.begin.has_value()) waiting.begin = now;
    }
  }
  const Clock::time_point end = context_.deadline.value_or(Clock::time_point::max());
  int renewed = 0;
  for (const TaskPtr& task : tasks_) {
    if (!task->repeatable() || std::exchange(task->renewed, true)) continue;
    task->deadline = std::min(now + (task->deadline - task->begin), end);
    task->begin = now;
    task->overdue = false;
    task->end_of_share = task->EndOfShare(client_.health_);
    ++renewed;
    if (task->attempt == nullptr) continue;
    task->restarts = true;
    task->attempt->Cancel();
  }
  return renewed;
}

void RpcBatch::EndOverdue() {
  for (const TaskPtr& task : tasks_) {
    if (task->attempt == nullptr || task->overdue || now_ < task->end_of_share) continue;
    task->overdue = true;
    task->attempt->Cancel();
  }
}

void RpcBatch::Drop(Task* task, bool answered) {
  Leave(*task, answered);
  tasks_.remove_if([task](const TaskPtr& other) { return other.get() == task; });
}

void RpcBatch::Fail(const Status& error) {
  if (!error_.ok()) return;
  error_ = error;
  for (auto& queue : ready_) queue.clear();
  // What waits to be retried is not under way: nothing would ever complete it.
  tasks_.remove_if([this](const TaskPtr& task) {
    if (task->attempt != nullptr) return false;
    Leave(*task);
    return true;
  });
  for (const TaskPtr& task : tasks_) task->attempt->Cancel();
}

void RpcBatch::WarnIfSlow() {
  const Clock::time_point now = Clock::now();
  for (size_t server = 0; server < started_.size(); ++server) {
    if (started_[server] == 0 || now < next_warning_[server]) continue;
    const Task* oldest = nullptr;
    for (const TaskPtr& task : tasks_) {
      if (task->server != static_cast<int>(server)) continue;
      if (oldest == nullptr || task->begin < oldest->begin) oldest = task.get();
    }
    if (now < oldest->begin + kFirstWarning) {
      next_warning_[server] = oldest->begin + kFirstWarning;
      continue;
    }
    next_warning_[server] = now + kNextWarning;
    spdlog::warn("{}", teller_.Waiting(*oldest, now));
  }
}

}  // namespace halograph
