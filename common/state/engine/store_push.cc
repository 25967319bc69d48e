// How a push comes in: checked and summed without a lock, ordered under the store's, written by the
// log's thread while this one changes the rows, acknowledged after both.
#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <limits>
#include <new>
#include <utility>

#include "common/base/aligned_bytes.h"
#include "common/base/counted.h"
#include "common/state/engine/store.h"
#include "common/state/helper_threads.h"
#include "common/state/row_kernels.h"

namespace halograph {

namespace {

std::vector<int64_t> LsnsOf(const WaitingPushes& pushes) {
  std::vector<int64_t> lsns;
  for (const auto& push : pushes) lsns.push_back(push->record.lsn);
  return lsns;
}

}  // namespace

class Store::LateBytes {
 public:
  LateBytes(Store* store, int64_t bytes) : store_(*store), bytes_(bytes) { Add(bytes_); }
  ~LateBytes() { Add(-bytes_); }
  LateBytes(const LateBytes&) = delete;
  LateBytes& operator=(const LateBytes&) = delete;

 private:
  void Add(int64_t bytes) {
    const MonitorLock lock(*store_.monitor_);
    store_.late_bytes_ += bytes;
    store_.monitor_->NotifyAll();
  }
  Store& store_;
  const int64_t bytes_;
};

struct Store::PushUnderWay {
  Tensor tensor;
  LogRecord record;  // the log's from Append on
  LogRecord logged;  // the same with its LSN
  std::vector<int64_t> rows;
  Work work;
  // What owns ids and values if the caller may leave.
  std::vector<int64_t> ids;
  AlignedBytes values;
  std::shared_ptr<const void> kept;
  std::unique_ptr<LateBytes> late;  // its caller has left

  Status status = OkStatus();  // of its caller
  bool repeated = false;       // logged.lsn is that of the first time
  bool left = false;           // others do its work
  bool performed = false;      // by others; of monitor_

  void Keep(const StatePush& request) {
    kept = request.kept;
    if (kept != nullptr) return;
    RowPush& push = record.push;
    ids.assign(push.ids.begin(), push.ids.end());
    values = AlignedBytes(push.rows.size());
    std::copy(push.rows.begin(), push.rows.end(), values.data());
    push.ids = ids;
    push.rows = values.span();
  }
};

std::vector<StatusOr<PushReceipt>> Store::Push(std::span<const StatePush> pushes,
                                               const WorkLimits& limits) {
  const Patience patience(limits, env_.scheduler());
  const Counted under_way(&pushes_under_way_);
  UnderWay all;
  for (const StatePush& push : pushes) all.push_back(Receive(push, patience));
  for (size_t next = 0; next < all.size();) {
    const Status late = Annotate(patience.Check(), "the push is not in the log");
    if (!late.ok()) {
      for (; next < all.size(); ++next) {
        if (all[next]->status.ok()) all[next]->status = late;
      }
      break;
    }
    const UnderWay appended = Append(all, &next, limits);
    for (const auto& push : appended) {
      // While another one of them has a turn to come, this thread waits for nothing: what it waited
      // for could wait for that turn.
      if (push == appended.back()) {
        push->status = Perform(push, patience);
      } else {
        push->left = !Perform(push, Patience::None(env_.scheduler())).ok();
      }
    }
    // So that the log knows how long it is. Finish tells of an error.
    if (next < all.size() && !appended.empty()) {
      static_cast<void>(log_->WaitAcknowledged(appended.back()->logged.lsn, patience).ok());
    }
  }
  std::vector<StatusOr<PushReceipt>> answers;
  for (const auto& push : all) answers.push_back(Finish(push, patience));
  return answers;
}

std::shared_ptr<Store::PushUnderWay> Store::Receive(const StatePush& request,
                                                    const Patience& patience) const {
  auto push = std::make_shared<PushUnderWay>();
  push->status = [&]() -> Status {
    HG_RETURN_IF_ERROR(patience.Check());
    {
      const MonitorLock lock(*monitor_);
      HG_ASSIGN_OR_RETURN(push->tensor, Find(request.push.tensor));
    }
    try {
      HG_ASSIGN_OR_RETURN(push->record, Prepare(*push->tensor, request, &push->rows));
      if (!patience.endless()) push->Keep(request);
    } catch (const std::bad_alloc&) {
      return ResourceExhausted("no memory for a push of {} rows", request.push.ids.size());
    }
    return OkStatus();
  }();
  push->logged = push->record;
  return push;
}

// Without memory the process ends, also for want of the words of a refusal: what is in the log
// counts after the restart.
Store::UnderWay Store::Append(const UnderWay& all, size_t* next,
                              const WorkLimits& limits) noexcept {
  UnderWay appended;
  std::vector<LogRecord*> records;
  int64_t bytes = 0;
  const MonitorLock lock(*monitor_);
  for (; *next < all.size(); ++*next) {
    PushUnderWay& push = *all[*next];
    if (!push.status.ok()) continue;
    // What it waits for may wait for the turns of those before it, or for their records. The log
    // may be full from one look to the next, so one look counts.
    bytes += push.logged.copied_bytes();
    const char* const waits_for = WaitsFor();
    if (!records.empty() && (bytes > options_.segment_bytes || waits_for != nullptr)) break;
    push.status = Admit(push, limits, waits_for);
    if (!push.status.ok() || push.repeated) continue;
    push.record.lsn = push.logged.lsn;
    push.record.second = push.logged.second = env_.scheduler().WallSeconds();
    records.push_back(&push.record);
    appended.push_back(all[*next]);
    last_lsn_ = push.logged.lsn;
    clients_.Take(push.logged);
    push.work = Plan(*push.tensor, push.logged);
  }
  log_->Append(records);
  return appended;
}

StatusOr<PushReceipt> Store::Finish(const std::shared_ptr<PushUnderWay>& push,
                                    const Patience& patience) {
  const int64_t lsn = push->logged.lsn;
  Status finished = push->status;
  if (push->left) {
    const MonitorLock lock(*monitor_);
    while (finished.ok() && !push->performed) {
      finished = Annotate(patience.Wait(*monitor_), "waiting for the pushes before it");
    }
  }
  if (finished.ok()) finished = log_->WaitAcknowledged(lsn, patience);
  if (finished.ok()) return PushReceipt{lsn, push->repeated};
  const bool late = absl::IsDeadlineExceeded(finished) || absl::IsCancelled(finished);
  if (!late || lsn == 0 || push->repeated) return finished;
  Leave(push);
  return Annotate(finished, fmt::format("{}: the push has LSN {}, and is applied yet: repeat it to "
                                        "know",
                                        push->tensor->spec.ref.ToString(), lsn));
}

// Without memory the process ends: what the log reads must stay.
void Store::Leave(const std::shared_ptr<PushUnderWay>& push) noexcept {
  push->late = std::make_unique<LateBytes>(this, push->logged.copied_bytes());
  log_->KeepUntilReleased(push->logged.lsn, push);
}

StatusOr<LogRecord> Store::Prepare(const LiveTensor& tensor, const StatePush& request,
                                   std::vector<int64_t>* rows) const {
  const MutableTensorSpec& spec = tensor.spec;
  const RowPush& push = request.push;
  HG_RETURN_IF_ERROR(CheckPushedRows(spec, push));
  const auto bytes = static_cast<int64_t>(push.ids.size_bytes() + push.rows.size());
  if (bytes > options_.max_push_bytes) {
    return ResourceExhausted("{}: a push of {} bytes; at most {} are taken: split it",
                             spec.ref.ToString(), bytes, options_.max_push_bytes);
  }
  const HelperThreads::Share share(env_.helpers(), push.rows.size());
  HG_RETURN_IF_ERROR(tensor.ToRows(push.ids, rows));
  LogRecord record;
  record.tensor = tensor.number;
  record.push = {.kind = push.kind,  // and the tensor's number in place of its name
                 .step = push.step,
                 .ids = push.ids,
                 .dtype = push.dtype,
                 .rows = push.rows};
  record.id = request.id;
  record.ids_checksum = PartChecksum(std::as_bytes(push.ids));
  if (!MustBeFinite(push.kind)) {
    HG_RETURN_IF_ERROR(CheckPushedValues(spec, push));
    record.rows_checksum = PartChecksum(push.rows, share.pool());
  } else {
    HG_ASSIGN_OR_RETURN(record.rows_checksum, CheckValues(spec, push, share.pool()));
  }
  return record;
}

// In pieces that stay in the cache between the check and the sum.
StatusOr<uint64_t> Store::CheckValues(const MutableTensorSpec& spec, const RowPush& push,
                                      ThreadPool* pool) {
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  std::atomic<size_t> bad = kNone;  // the first element that is not finite
  const auto check = [&](size_t first, std::span<const std::byte> piece) {
    const auto found = FindNotFinite(push.dtype, piece);
    if (!found.has_value()) return;
    const size_t element = first / DTypeSize(push.dtype) + *found;
    size_t before = bad;
    while (element < before && !bad.compare_exchange_weak(before, element)) {
    }
  };
  const uint64_t sum = PartChecksum(push.rows, pool, check);
  if (bad != kNone) return NotFiniteAt(spec, push, bad);
  return sum;
}

Status Store::Admit(PushUnderWay& push, const WorkLimits& limits, const char* waits_for) {
  const LogRecord& record = push.logged;
  const LiveTensor& tensor = *push.tensor;
  while (true) {
    if (tensor.progress.dropped) return NotFound("{} was dropped", tensor.spec.ref.ToString());
    HG_ASSIGN_OR_RETURN(const ClientTable::Verdict verdict,
                        clients_.Check(record.id, record.Digest()));
    push.repeated = verdict.repeated;
    if (push.repeated) {
      push.logged.lsn = verdict.lsn;
      return OkStatus();
    }
    HG_RETURN_IF_ERROR(log_->failure());
    if (record.push.step.has_value()) {
      const Status fits = tensor.progress.steps.Check(*record.push.step, record.push.kind,
                                                      record.copied_bytes(), *waiting_);
      if (!fits.ok()) return Annotate(fits, tensor.spec.ref.ToString());
    }
    if (waits_for == nullptr) {
      push.logged.lsn = last_lsn_ + 1;
      return OkStatus();
    }
    HG_RETURN_IF_ERROR(
        Annotate(WaitForChange(limits, kForever),
                 fmt::format("waiting for {}; the push is not in the log", waits_for)));
    waits_for = WaitsFor();
  }
}

const char* Store::WaitsFor() const {
  if (restoring_) return "a snapshot to be restored";
  if (LogIsFull()) return "a checkpoint that shortens the log";
  if (late_bytes_ >= options_.max_waiting_bytes) return "pushes whose callers have left";
  return nullptr;
}

Store::Work Store::Plan(LiveTensor& tensor, const LogRecord& record) noexcept {
  LiveTensor::Progress& progress = tensor.progress;
  ++progress.pushes;
  progress.pushed_rows += std::ssize(record.push.ids);
  ++taken_pushes_;
  taken_rows_ += std::ssize(record.push.ids);
  progress.applied.Take(record.lsn);
  Work work;
  work.ticket = tensor.turns.Take();
  if (!record.push.step.has_value()) return work;
  work.waiting = std::make_shared<WaitingPush>();
  work.waiting->record = record;
  work.waiting->record.push.ids = {};
  work.waiting->record.push.rows = {};
  Applied(tensor, progress.steps.Add(work.waiting));
  for (Step step = {progress.steps.TakeComplete(), {}}; !step.pushes.empty();
       step = {progress.steps.TakeComplete(), {}}) {
    if (!progress.steps.empty()) progress.applied.Complete(LsnsOf(step.pushes));
    if (!progress.moments.empty()) step.then = ReachStep(tensor, record.lsn);
    work.steps.push_back(std::move(step));
  }
  if (!work.completes()) CountWaiting(*work.waiting, record.copied_bytes());
  return work;
}

void Store::CountWaiting(WaitingPush& push, int64_t bytes) {
  push.bytes += bytes;
  waiting_bytes_ += bytes;
  waiting_->Add(bytes);
}

void Store::Applied(LiveTensor& tensor, int64_t lsn) {
  tensor.progress.applied.Apply(lsn);
  monitor_->NotifyAll();
}

void Store::Applied(LiveTensor& tensor, const WaitingPushes& pushes) {
  for (const auto& push : pushes) {
    CountWaiting(*push, -push->bytes);
    Applied(tensor, push->record.lsn);
  }
}

void Store::Guarded(size_t rows, const std::function<Status()>& change) {
  Status changed;
  try {
    changed = change();
  } catch (const std::bad_alloc&) {
    changed = ResourceExhausted("no memory to apply a push of {} rows", rows);
  }
  if (changed.ok()) return;
  // The push is in the log and not in the rows: only a replay brings them together again.
  if (log_ != nullptr) log_->Fail(changed, false);
  const MonitorLock lock(*monitor_);
  unreadable_ = Unavailable("rows miss a push: {}; restart the server", Message(changed));
  monitor_->NotifyAll();
}

Status Store::PerformAgain(const Tensor& tensor, const LogRecord& record) {
  const auto push = std::make_shared<PushUnderWay>();
  push->tensor = tensor;
  push->logged = record;
  HG_RETURN_IF_ERROR(tensor->ToRows(record.push.ids, &push->rows));
  {
    const MonitorLock lock(*monitor_);
    push->work = Plan(*tensor, record);
    LeaveOutWaiting(push->work.waiting.get());
  }
  HG_RETURN_IF_ERROR(Perform(push, {}));
  return unreadable_;
}

Status Store::Perform(const std::shared_ptr<PushUnderWay>& push, const Patience& patience) {
  LiveTensor& tensor = *push->tensor;
  CopyIfWaiting(*push);
  const auto by_others = [this, push] {
    PerformInTurn(*push);
    const MonitorLock lock(*monitor_);
    push->performed = true;
    monitor_->NotifyAll();
  };
  HG_RETURN_IF_ERROR(Annotate(tensor.turns.WaitForTurn(push->work.ticket, patience, by_others),
                              "waiting for the pushes before it"));
  if (!tensor.captures.empty()) {
    const auto turn = [push, by_others] {
      by_others();
      push->tensor->turns.EndTurn();
    };
    const auto captures = tensor.captures;  // whoever does a turn that is left may end them
    for (const auto& capture : captures) {
      HG_RETURN_IF_ERROR(Annotate(capture->WaitForSpace(patience, turn),
                                  "waiting for a checkpoint to write the rows that it changes"));
    }
  }
  PerformInTurn(*push);
  tensor.turns.EndTurn();
  return OkStatus();
}

void Store::CopyIfWaiting(const PushUnderWay& push) {
  if (push.work.waiting == nullptr || push.work.completes()) return;
  if (push.work.waiting->left_out > 0) return;
  Guarded(push.rows.size(), [&] {
    const RowPush& from = push.logged.push;
    WaitingPush& waiting = *push.work.waiting;
    waiting.ids.assign(from.ids.begin(), from.ids.end());
    waiting.values.assign(from.rows.begin(), from.rows.end());
    waiting.rows = push.rows;
    waiting.record.push.ids = waiting.ids;
    waiting.record.push.rows = waiting.values;
    waiting.copied = true;
    return OkStatus();
  });
}

void Store::PerformInTurn(const PushUnderWay& push) {
  LiveTensor& tensor = *push.tensor;
  const RowPush& from = push.logged.push;
  const PushedRows own = {push.rows, from.dtype, from.rows};
  if (push.work.waiting == nullptr) {
    Guarded(push.rows.size(), [&] { return tensor.Apply(from.kind, std::span(&own, 1)); });
    const MonitorLock lock(*monitor_);
    Applied(tensor, push.logged.lsn);
  }
  for (const Step& step : push.work.steps) {
    Guarded(push.rows.size(),
            [&] { return ApplyStep(tensor, step, push.work.waiting.get(), own); });
    if (step.then.empty()) continue;
    const MonitorLock lock(*monitor_);
    for (const auto& moment : step.then) moment->performed = true;
    monitor_->NotifyAll();
  }
}

Status Store::ApplyPushes(LiveTensor& tensor, const WaitingPushes& pushes, const WaitingPush* own,
                          const PushedRows& own_rows) {
  std::vector<PushedRows> lists;
  for (const auto& push : pushes) {
    if (push->left_out > 0) {
      rows_lack_steps_ = true;
      return OkStatus();
    }
    if (push.get() != own && !push->copied) throw std::bad_alloc();  // as its copy did
    lists.push_back(push.get() == own
                        ? own_rows
                        : PushedRows{push->rows, push->record.push.dtype, push->values});
  }
  return tensor.Apply(pushes.front()->record.push.kind, lists);
}

Status Store::ApplyStep(LiveTensor& tensor, const Step& step, const WaitingPush* own,
                        const PushedRows& own_rows) {
  HG_RETURN_IF_ERROR(ApplyPushes(tensor, step.pushes, own, own_rows));
  for (const auto& moment : step.then) {
    if (Claim(*moment)) Capture(*moment);
  }
  const MonitorLock lock(*monitor_);
  Applied(tensor, step.pushes);
  tensor.progress.applied_step = step.pushes.front()->step().step;
  return OkStatus();
}

}  // namespace halograph
