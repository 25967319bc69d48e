#include "client/remote/rpc.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <list>
#include <random>

#include "client/remote/rpc_task.h"
#include "client/remote/suspension_watch.h"
#include "common/base/log.h"
#include "common/base/mutex.h"
#include "common/base/rng.h"

namespace halograph {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kFirstWarning{3};
constexpr std::chrono::seconds kNextWarning{10};
// What gRPC ends by so much before its time, it ended in time: its clock is not quite ours.
constexpr std::chrono::milliseconds kInTime{50};

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
  using EnoughAt = std::function<Clock::time_point()>;

  RpcBatch(RpcClient* client, CallContext* context, const EnoughAt& enough_at)
      : client_(*client),
        context_(*context),
        enough_at_(enough_at),
        teller_(*client, client->health_, context->trace_id),
        suspension_(client->options_.timeout, Clock::now()),
        ready_(static_cast<size_t>(client->num_servers())),
        started_(ready_.size(), 0),
        next_warning_(ready_.size(), Clock::time_point::max()) {}

  Status Run(std::vector<Rpc> calls);

 private:
  using Task = RpcTask;
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
  // The server for a call to begin with; -1: it has to wait.
  [[nodiscard]] int ServerFor(const Rpc& rpc) const;
  void Begin(Waiting waiting, int server);
  // Counts the call at the server, or no longer.
  void Enter(Task* task, int server);
  void Leave(const Task& task) { --started_[static_cast<size_t>(task.server)]; }
  void StartAttempt(Task* task);
  void Completed(Task* task, AttemptResult result);
  [[nodiscard]] std::vector<Task*> WaitForCompletions();
  [[nodiscard]] Clock::time_point NextWakeUp() const;
  // If this process did not run for a while, each call has its whole time again, once, and its
  // attempt is made again: gRPC may take it for one whose time is over.
  void RenewAfterSuspension();
  // Ends attempts whose time is over. gRPC does so as well, but waits by the system's clock: where
  // that is set back by an hour, an hour later.
  void EndOverdue();
  // Ended to be made again; or by gRPC alone, well before its time: the system's clock was set
  // forward, say.
  [[nodiscard]] static bool EndedEarly(const Task& task, const Status& error);
  void Handle(Task* task);
  void Retry(Task* task, const AttemptResult& result);
  // Asks the same server, after a pause.
  void TryAgain(Task* task, const AttemptResult& result);
  // None of its servers is there: it waits for them.
  void WaitForServers(Task* task, Clock::time_point now) const;
  // Goes on with another server than the one that gave this result.
  void FailOver(Task* task, const AttemptResult& result);
  void FinishWithError(Task* task, const Status& error);
  void Drop(Task* task);
  void Fail(const Status& error);
  void WarnIfSlow();

  RpcClient& client_;
  CallContext& context_;
  const EnoughAt& enough_at_;
  const RpcTeller teller_;
  SuspensionWatch suspension_;
  std::vector<std::deque<Waiting>> ready_;       // per first server that can answer: not begun
  std::vector<int> started_;                     // per server: begun there and not finished
  std::vector<Clock::time_point> next_warning_;  // the same
  std::list<TaskPtr> tasks_;                     // begun: under way, or waiting to be retried
  Status error_;
  bool enough_ = false;  // what is not answered yet is given up

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
  if (context_.meanwhile) {
    const OwnWork work(&suspension_);
    context_.meanwhile();
  }
  while (!tasks_.empty()) {
    const std::vector<Task*> completed = WaitForCompletions();
    RenewAfterSuspension();
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
  return enough_ ? OkStatus() : error_;
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
      Begin(std::move(next), server);
    }
  }
}

int RpcBatch::ServerFor(const Rpc& rpc) const {
  const auto has_room = [this](int server) {
    return started_[static_cast<size_t>(server)] < client_.options_.calls_in_flight;
  };
  const int only = rpc.servers.front();
  if (rpc.servers.size() == 1) return rpc.at_once || has_room(only) ? only : -1;
  return client_.health_.Choose(rpc.servers, Clock::now(), has_room);
}

void RpcBatch::Begin(Waiting waiting, int server) {
  auto task = std::make_unique<Task>();
  task->rpc = std::move(waiting.rpc);
  task->replicated = task->rpc.servers.size() > 1;
  {
    const OwnWork work(&suspension_);
    task->request = std::make_shared<const std::string>(task->rpc.make_request());
  }
  task->request_id = MakeRequestId(context_.request_id);
  task->begin = waiting.begin.value_or(Clock::now());
  task->deadline = task->begin + client_.options_.timeout;
  if (task->rpc.awaits_pushes) task->deadline += client_.options_.server_timeout;
  if (context_.deadline.has_value()) task->deadline = std::min(task->deadline, *context_.deadline);
  Enter(task.get(), server);
  tasks_.push_back(std::move(task));
  StartAttempt(tasks_.back().get());
}

void RpcBatch::Enter(Task* task, int server) {
  task->server = server;
  task->tries_here = 0;
  const auto at = static_cast<size_t>(server);
  if (started_[at]++ == 0) next_warning_[at] = task->begin + kFirstWarning;
}

void RpcBatch::StartAttempt(Task* task) {
  ++task->attempts;
  ++task->tries_here;
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
       .trace_id = context_.trace_id,
       .failed_over = std::exchange(task->failed_over, false),
       .deadline = task->end_of_share},
      [task](ReplyPieces pieces) { return task->rpc.on_reply(pieces, &task->more); },
      [this, task](AttemptResult result) { Completed(task, std::move(result)); });
}

void RpcBatch::Completed(Task* task, AttemptResult result) {
  client_.health_.Ended(task->server);
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
  Clock::time_point next = suspension_.next_look();
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

void RpcBatch::RenewAfterSuspension() {
  const Clock::time_point now = Clock::now();
  const std::chrono::nanoseconds missed = suspension_.Look(now);
  if (missed.count() == 0 || !error_.ok()) return;
  for (std::deque<Waiting>& queue : ready_) {
    for (Waiting& waiting : queue) {
      if (waiting.begin.has_value()) waiting.begin = now;
    }
  }
  const Clock::time_point end = context_.deadline.value_or(Clock::time_point::max());
  int renewed = 0;
  for (const TaskPtr& task : tasks_) {
    if (!task->rpc.retry.repeatable || std::exchange(task->renewed, true)) continue;
    task->deadline = std::min(now + (task->deadline - task->begin), end);
    task->begin = now;
    task->overdue = false;
    task->end_of_share = task->EndOfShare(client_.health_);
    ++renewed;
    if (task->attempt == nullptr) continue;
    task->restarts = true;
    task->attempt->Cancel();
  }
  if (renewed > 0) spdlog::warn("{}", RpcTeller::Suspended(missed, renewed));
}

void RpcBatch::EndOverdue() {
  const Clock::time_point now = Clock::now();
  for (const TaskPtr& task : tasks_) {
    if (task->attempt == nullptr || task->overdue || now < task->end_of_share) continue;
    task->overdue = true;
    task->attempt->Cancel();
  }
}

bool RpcBatch::EndedEarly(const Task& task, const Status& error) {
  if (task.restarts) return absl::IsDeadlineExceeded(error);
  return task.rpc.retry.repeatable && !task.overdue && absl::IsDeadlineExceeded(error) &&
         Message(error) == kOutOfTime && Clock::now() + kInTime < task.end_of_share;
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
    return Drop(task);
  }
  if (task->maybe_done && task->rpc.done_before == result.status.code()) return Drop(task);
  if (EndedEarly(*task, result.status)) {
    task->maybe_done = true;
    task->keeps_share = true;
    return TryAgain(task, result);
  }
  const bool others_left = task->rpc.servers.size() > 1;
  if (IsNoAnswer(result.status)) return Retry(task, result);
  const bool silent = absl::IsDeadlineExceeded(result.status) && task->rpc.retry.repeatable &&
                      Clock::now() < task->deadline;
  if (others_left && (silent || IsRefusal(result.status))) return FailOver(task, result);
  // The server's own bound of the wait is over, not the call's.
  if (silent && task->rpc.awaits_pushes) return TryAgain(task, result);
  FinishWithError(task, result.status);
}

void RpcBatch::Retry(Task* task, const AttemptResult& result) {
  const RetryPolicy& policy = task->rpc.retry;
  // With its pushback a server says that it did nothing.
  task->maybe_done = task->maybe_done || !result.pushback.has_value();
  if (!policy.repeatable && !result.pushback.has_value()) {
    return FinishWithError(task, result.status);
  }
  const Clock::time_point now = Clock::now();
  const bool others_left = task->rpc.servers.size() > 1;
  if (others_left && result.pushback.has_value()) {
    client_.health_.Full(task->server, now, now + *result.pushback);
  }
  if (others_left && task->tries_here >= policy.tries_a_server) {
    return FailOver(task, result);
  }
  if (!result.pushback.has_value()) WaitForServers(task, now);
  TryAgain(task, result);
}

void RpcBatch::TryAgain(Task* task, const AttemptResult& result) {
  task->NoteError(result.status);
  task->last_error = result.status;
  task->not_before = Clock::now() + RetryPause(task->attempts, result.pushback, NextJitter());
  if (task->not_before >= task->deadline) FinishWithError(task, result.status);
}

void RpcBatch::WaitForServers(Task* task, Clock::time_point now) const {
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
  if (once_around && IsNoAnswer(error) && !full) WaitForServers(task, now);
  const bool lost = !full && client_.health_.Lost(from, now);
  const int next = client_.health_.Choose(left, now);
  task->not_before = std::max(task->not_before, client_.health_.FullUntil(next));
  if (lost) spdlog::warn("{}", teller_.Lost(*task, once_around ? -1 : next, error));
  if (task->not_before >= task->deadline) return FinishWithError(task, error);
  if (next != from) {
    task->failed_over = true;
    ++context_.stats.failovers;
  }
  Leave(*task);
  Enter(task, next);
}

void RpcBatch::FinishWithError(Task* task, const Status& error) {
  Status final_error = teller_.FinalError(*task, error);
  std::vector<Rpc> more;
  if (task->rpc.on_error) {
    const OwnWork work(&suspension_);
    final_error = task->rpc.on_error(task->server, final_error, &more);
  }
  Drop(task);
  if (!final_error.ok()) return Fail(final_error);
  Add(std::move(more));
}

void RpcBatch::Drop(Task* task) {
  Leave(*task);
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

RpcClient::RpcClient(const RemoteOptions& options)
    : options_(options),
      health_(static_cast<int>(options.servers.size()), std::max(options.rank, 0)),
      transport_(ToTransportOptions(options)) {}

const std::string& RpcClient::address(int server) const {
  return options_.servers[static_cast<size_t>(server)];
}

Status RpcClient::Run(CallContext& context, std::vector<Rpc> calls,
                      const std::function<Clock::time_point()>& enough_at) {
  return RpcBatch(this, &context, enough_at).Run(std::move(calls));
}

}  // namespace halograph
