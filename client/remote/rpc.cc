#include "client/remote/rpc.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <list>
#include <random>

#include "common/base/log.h"
#include "common/base/mutex.h"
#include "common/base/rng.h"
#include "common/base/units.h"

namespace halograph {

namespace {

using Clock = std::chrono::steady_clock;

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

// Jitter is not part of any contract: it need not be reproducible.
uint64_t NextJitter() {
  static std::atomic<uint64_t> counter{std::random_device()()};
  return Mix(counter.fetch_add(kGolden, std::memory_order_relaxed));
}

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

TransportOptions ToTransportOptions(const RemoteOptions& options) {
  return {.servers = options.servers,
          .max_message_bytes = options.max_message_bytes,
          .channels_per_server = options.channels_per_server,
          .rank = options.rank};
}

// gRPC ends the process over metadata that it does not allow.
Status CheckPrintable(std::string_view what, std::string_view id) {
  const auto bad =
      std::find_if(id.begin(), id.end(), [](char byte) { return byte < ' ' || byte > '~'; });
  if (bad == id.end()) return OkStatus();
  return InvalidArgument("{} has byte {} at position {}; it must be printable ASCII", what,
                         static_cast<int>(static_cast<unsigned char>(*bad)), bad - id.begin());
}

}  // namespace

// The calls of one Run. All but Wake and Completed happens on the thread that runs it.
class RpcBatch {
 public:
  RpcBatch(RpcClient* client, CallContext* context)
      : client_(*client),
        context_(*context),
        ready_(static_cast<size_t>(client->num_servers())),
        started_(ready_.size(), 0),
        next_warning_(ready_.size(), Clock::time_point::max()) {}

  Status Run(std::vector<Rpc> calls);

 private:
  struct Task {
    Rpc rpc;
    std::shared_ptr<const std::string> request;
    std::string request_id;
    size_t candidate = 0;  // of rpc.servers: asked now, or last
    int tries_here = 0;    // in a row
    Clock::time_point begin;
    Clock::time_point deadline;
    Clock::time_point not_before;
    int attempts = 0;
    Status last_error;
    std::unique_ptr<Transport::Attempt> attempt;  // set: under way, or ended and not handled yet
    bool ended = false;                           // of the attempt: gRPC is done with it
    AttemptResult result;
    std::vector<Rpc> more;

    [[nodiscard]] int server() const { return rpc.servers[candidate]; }
    // By which calls in flight are counted.
    [[nodiscard]] size_t queue() const { return static_cast<size_t>(rpc.servers.front()); }
  };
  using TaskPtr = std::unique_ptr<Task>;
  struct Waiting {
    Rpc rpc;
    std::optional<Clock::time_point> begin;  // of the call that it continues
  };

  // Lets Run look at the context again. Any thread.
  void Wake();
  [[nodiscard]] Status RunToEnd(std::vector<Rpc> calls);
  // Ends what is under way and waits for it: gRPC uses tasks until their attempts have ended.
  void Abandon();
  // `begin`: of the call whose reply adds these.
  void Add(std::vector<Rpc> calls, Clock::time_point begin = {});
  void StartReady();
  void Begin(Waiting waiting);
  void StartAttempt(Task* task);
  void Completed(Task* task, AttemptResult result);
  [[nodiscard]] std::vector<Task*> WaitForCompletions();
  [[nodiscard]] Clock::time_point NextWakeUp() const;
  void Handle(Task* task);
  void Retry(Task* task, const AttemptResult& result);
  void FinishWithError(Task* task, const Status& error);
  void Drop(Task* task);
  void Fail(const Status& error);
  void WarnIfSlow();
  [[nodiscard]] Status FinalError(const Task& task, const Status& error) const;

  RpcClient& client_;
  CallContext& context_;
  std::vector<std::deque<Waiting>> ready_;       // per preferred server: not begun
  std::vector<int> started_;                     // the same: begun and not finished
  std::vector<Clock::time_point> next_warning_;  // the same
  std::list<TaskPtr> tasks_;                     // begun: under way, or waiting to be retried
  Status error_;

  Mutex mutex_;
  CondVar wake_;
  std::vector<Task*> completed_ HG_GUARDED_BY(mutex_);
  bool woken_ HG_GUARDED_BY(mutex_) = false;
};

void RpcBatch::Wake() {
  const MutexLock lock(mutex_);
  woken_ = true;
  wake_.NotifyOne();
}

Status RpcBatch::Run(std::vector<Rpc> calls) {
  HG_RETURN_IF_ERROR(context_.Check());
  HG_RETURN_IF_ERROR(CheckPrintable("the request id", context_.request_id));
  HG_RETURN_IF_ERROR(CheckPrintable("the trace id", context_.trace_id));
  const CancelToken::Registration wake_to_end(context_.cancel, [this] { Wake(); });
  try {
    return RunToEnd(std::move(calls));
  } catch (...) {  // no memory for a request, say
    Abandon();
    throw;
  }
}

Status RpcBatch::RunToEnd(std::vector<Rpc> calls) {
  Add(std::move(calls));
  StartReady();
  if (context_.meanwhile) context_.meanwhile();
  while (!tasks_.empty()) {
    for (Task* task : WaitForCompletions()) Handle(task);
    // Not the deadline: every attempt ends by it, and names its server then.
    if (context_.cancel != nullptr && context_.cancel->cancelled()) Fail(context_.cancel->Check());
    WarnIfSlow();
    StartReady();
  }
  return error_;
}

void RpcBatch::Abandon() {
  const auto under_way = [](const TaskPtr& task) {
    return task->attempt != nullptr && !task->ended;
  };
  const auto mark_ended = [this]() HG_REQUIRES(mutex_) {
    for (Task* task : completed_) task->ended = true;
    completed_.clear();
    return true;
  };
  for (const TaskPtr& task : tasks_) {
    if (under_way(task)) task->attempt->Cancel();
  }
  const MutexLock lock(mutex_);
  wake_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) {
    return mark_ended() && std::none_of(tasks_.begin(), tasks_.end(), under_way);
  });
}

void RpcBatch::Add(std::vector<Rpc> calls, Clock::time_point begin) {
  for (Rpc& rpc : calls) {
    std::deque<Waiting>& queue = ready_[static_cast<size_t>(rpc.servers.front())];
    if (rpc.continues) {
      queue.push_front({std::move(rpc), begin});
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
  for (size_t server = 0; server < ready_.size(); ++server) {
    while (!ready_[server].empty() && started_[server] < client_.options_.calls_in_flight) {
      Waiting next = std::move(ready_[server].front());
      ready_[server].pop_front();
      Begin(std::move(next));
    }
  }
}

void RpcBatch::Begin(Waiting waiting) {
  auto task = std::make_unique<Task>();
  task->rpc = std::move(waiting.rpc);
  const size_t queue = task->queue();
  task->request = std::make_shared<const std::string>(task->rpc.make_request());
  task->request_id = MakeRequestId(context_.request_id);
  task->begin = waiting.begin.value_or(Clock::now());
  task->deadline = task->begin + client_.options_.timeout;
  if (context_.deadline.has_value()) task->deadline = std::min(task->deadline, *context_.deadline);
  if (started_[queue]++ == 0) next_warning_[queue] = task->begin + kFirstWarning;
  tasks_.push_back(std::move(task));
  StartAttempt(tasks_.back().get());
}

void RpcBatch::StartAttempt(Task* task) {
  ++task->attempts;
  ++task->tries_here;
  task->ended = false;
  task->attempt = client_.transport_.Start(
      {.server = task->server(),
       .method = task->rpc.method,
       .request = task->request,
       .request_id = task->request_id,
       .trace_id = context_.trace_id,
       .deadline = task->deadline},
      [task](ReplyPieces pieces) { return task->rpc.on_reply(pieces, &task->more); },
      [this, task](AttemptResult result) { Completed(task, std::move(result)); });
}

void RpcBatch::Completed(Task* task, AttemptResult result) {
  const MutexLock lock(mutex_);  // notified under the lock: Run may end as soon as it is free
  task->result = std::move(result);
  completed_.push_back(task);
  wake_.NotifyOne();
}

std::vector<RpcBatch::Task*> RpcBatch::WaitForCompletions() {
  const MutexLock lock(mutex_);
  wake_.WaitUntil(mutex_, NextWakeUp(),
                  [&]() HG_REQUIRES(mutex_) { return woken_ || !completed_.empty(); });
  woken_ = false;
  for (Task* task : completed_) task->ended = true;
  return std::exchange(completed_, {});
}

Clock::time_point RpcBatch::NextWakeUp() const {
  // Attempts end at their deadline by themselves; a bound keeps the clock's arithmetic safe.
  Clock::time_point next = Clock::now() + std::chrono::hours(1);
  for (const TaskPtr& task : tasks_) {
    if (task->attempt == nullptr) next = std::min(next, task->not_before);
  }
  for (size_t server = 0; server < started_.size(); ++server) {
    if (started_[server] > 0) next = std::min(next, next_warning_[server]);
  }
  return next;
}

void RpcBatch::Handle(Task* task) {
  task->attempt.reset();
  AttemptResult result = std::move(task->result);
  if (!error_.ok()) return Drop(task);
  if (result.status.ok()) {
    Add(std::exchange(task->more, {}), task->begin);
    return Drop(task);
  }
  // A server that is stopping cancels calls too; those that we cancelled were dropped above.
  const absl::StatusCode code = result.status.code();
  if (code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kCancelled) {
    return Retry(task, result);
  }
  FinishWithError(task, result.status);
}

void RpcBatch::Retry(Task* task, const AttemptResult& result) {
  const RetryPolicy& policy = task->rpc.retry;
  if (!policy.repeatable && !result.pushback.has_value()) {
    return FinishWithError(task, result.status);
  }
  task->last_error = result.status;
  const size_t candidates = task->rpc.servers.size();
  task->not_before = Clock::now();
  if (candidates > 1 && task->tries_here >= policy.tries_a_server) {
    task->candidate = (task->candidate + 1) % candidates;
    task->tries_here = 0;
    // Once around the list nobody is left who was not asked yet.
    if (task->candidate == 0) task->not_before += RetryPause(task->attempts, {}, NextJitter());
  } else {
    task->not_before += RetryPause(task->attempts, result.pushback, NextJitter());
  }
  if (task->not_before >= task->deadline) FinishWithError(task, result.status);
}

Status RpcBatch::FinalError(const Task& task, const Status& error) const {
  const std::string where = fmt::format("{}: {}", client_.address(task.server()), task.rpc.method);
  const std::string ids =
      context_.trace_id.empty()
          ? fmt::format(" (request {})", task.request_id)
          : fmt::format(" (request {}, trace {})", task.request_id, context_.trace_id);
  const bool timed_out = error.code() == absl::StatusCode::kDeadlineExceeded;
  if (!timed_out && task.last_error != error) {
    return MakeStatus(error.code(), fmt::format("{}: {}{}", where, Message(error), ids));
  }
  std::string text =
      fmt::format("{}: no {}answer within {}", where, task.rpc.continues ? "whole " : "",
                  FormatSeconds(Seconds(task.deadline - task.begin)));
  if (task.last_error.ok()) return DeadlineExceeded("{}{}", text, ids);
  return Unavailable("{}; last of {} attempts: {}{}", text, task.attempts,
                     ToString(task.last_error), ids);
}

void RpcBatch::FinishWithError(Task* task, const Status& error) {
  Status final_error = FinalError(*task, error);
  std::vector<Rpc> more;
  if (task->rpc.on_error) final_error = task->rpc.on_error(task->server(), final_error, &more);
  Drop(task);
  if (!final_error.ok()) return Fail(final_error);
  Add(std::move(more));
}

void RpcBatch::Drop(Task* task) {
  --started_[task->queue()];
  tasks_.remove_if([task](const TaskPtr& other) { return other.get() == task; });
}

void RpcBatch::Fail(const Status& error) {
  if (!error_.ok()) return;
  error_ = error;
  for (auto& queue : ready_) queue.clear();
  // What waits to be retried is not under way: nothing would ever complete it.
  tasks_.remove_if([this](const TaskPtr& task) {
    if (task->attempt != nullptr) return false;
    --started_[task->queue()];
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
      if (task->queue() != server) continue;
      if (oldest == nullptr || task->begin < oldest->begin) oldest = task.get();
    }
    if (now < oldest->begin + kFirstWarning) {
      next_warning_[server] = oldest->begin + kFirstWarning;
      continue;
    }
    next_warning_[server] = now + kNextWarning;
    spdlog::warn("waiting for {}: {} has taken {} of {} so far{}",
                 client_.address(oldest->server()), oldest->rpc.method,
                 FormatSeconds(Seconds(now - oldest->begin)),
                 FormatSeconds(Seconds(oldest->deadline - oldest->begin)),
                 oldest->last_error.ok() ? "" : "; last error: " + ToString(oldest->last_error));
  }
}

RpcClient::RpcClient(const RemoteOptions& options)
    : options_(options), transport_(ToTransportOptions(options)) {}

const std::string& RpcClient::address(int server) const {
  return options_.servers[static_cast<size_t>(server)];
}

Status RpcClient::Run(CallContext& context, std::vector<Rpc> calls) {
  return RpcBatch(this, &context).Run(std::move(calls));
}

}  // namespace halograph
