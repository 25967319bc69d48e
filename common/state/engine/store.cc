#include "common/state/engine/store.h"

#include <algorithm>

#include "common/base/call_metadata.h"
#include "common/graph/tensor_ref.h"
#include "common/state/engine/admin_turn.h"
#include "common/state/helper_threads.h"
#include "common/state/import_mark.h"

namespace halograph {
namespace {

constexpr size_t kToldAtATime = 256;

}  // namespace

Store::Store(const StateOptions& options, const StateGraph& graph, Env& env)
    : options_(options),
      graph_(graph),
      env_(env),
      monitor_(env.scheduler().NewMonitor()),
      clients_(options.max_clients),
      waiting_(options.waiting != nullptr
                   ? options.waiting
                   : std::make_shared<WaitingBytes>(options.max_waiting_bytes)) {}

Store::~Store() {
  checkpointer_.reset();
  waiting_->Remove(waiting_bytes_);
  if (log_ == nullptr) return;
  const int64_t last = log_->stats().last_lsn;
  // What fails here is found, and told, by the replay of the next start.
  if (log_->SyncTo(last).ok()) static_cast<void>(catalogue_->SetSyncedLsn(last).ok());
  log_.reset();
}

StatusOr<Store::Tensor> Store::Find(const TensorRef& ref) const {
  if (const auto found = by_name_.find(ref); found != by_name_.end()) return found->second;
  std::string names;
  for (const auto& [other, tensor] : by_name_) {
    if (names.size() >= 500) break;
    names += (names.empty() ? "" : ", ") + other.ToString();
  }
  return NotFound("no mutable tensor {}; there {}", ref.ToString(),
                  names.empty() ? "is none" : "are " + names);
}

Status Store::CheckSpec(const MutableTensorSpec& spec) const {
  HG_RETURN_IF_ERROR(spec.Validate());
  if (spec.placement == Placement::kRange || spec.placement == Placement::kHash) return OkStatus();
  const StatusOr<ResolvedTensor> feature = ResolveTensor(*graph_.schema, spec.ref);
  if (feature.ok()) {
    return AlreadyExists("the graph has a feature {}: choose another name", spec.ref.ToString());
  }
  return OkStatus();
}

Status Store::Create(const MutableTensorSpec& spec, const WorkLimits& limits) {
  HG_RETURN_IF_ERROR(CheckSpec(spec));
  const AdminTurn turn(*this, limits);
  HG_RETURN_IF_ERROR(turn.status());
  {
    const MonitorLock lock(*monitor_);
    const StatusOr<Tensor> same = Find(spec.ref);
    if (same.ok()) return spec.SameAs((*same)->spec);
    HG_RETURN_IF_ERROR(CheckRoomFor(spec.ref));
  }
  HG_RETURN_IF_ERROR(log_->failure());
  HG_ASSIGN_OR_RETURN(const uint32_t number, catalogue_->NextNumber());
  int64_t used = memory_bytes_;
  TensorMap made;
  HG_RETURN_IF_ERROR(MakeTensors({{number, spec}}, &used, &made));
  LiveTensor& tensor = *made.at(number);
  HG_RETURN_IF_ERROR(tensor.InitializeRows(RowSet(tensor.positions.size())));
  HG_RETURN_IF_ERROR(FailUnlessFull(catalogue_->AddTensor({number, spec})));
  const MonitorLock lock(*monitor_);
  memory_bytes_ = used;
  by_name_.emplace(spec.ref, made.at(number));
  tensors_.merge(made);
  return OkStatus();
}

// Marks of imports are counted apart: a state as full as it may be can be imported.
Status Store::CheckRoomFor(const TensorRef& ref) const {
  if (std::ssize(tensors_) < options_.max_tensors) return OkStatus();
  const bool mark = IsImportMark(ref);
  const auto there = std::count_if(by_name_.begin(), by_name_.end(), [&](const auto& tensor) {
    return IsImportMark(tensor.first) == mark;
  });
  if (there < options_.max_tensors) return OkStatus();
  return ResourceExhausted(
      "{}: part {} has {} mutable tensors{}, and makes none beyond {} (--state-tensors): drop "
      "some, "
      "or start with a larger --state-tensors",
      ref.ToString(), graph_.part, there, mark ? " that are being imported" : "",
      options_.max_tensors);
}

void Store::NameTensors() {
  by_name_.clear();
  for (const auto& [number, tensor] : tensors_) by_name_.emplace(tensor->spec.ref, tensor);
}

Status Store::Drop(const TensorRef& ref, const WorkLimits& limits) {
  const AdminTurn turn(*this, limits);
  HG_RETURN_IF_ERROR(turn.status());
  Tensor tensor;
  {
    const MonitorLock lock(*monitor_);
    HG_ASSIGN_OR_RETURN(tensor, Find(ref));
  }
  HG_RETURN_IF_ERROR(log_->failure());
  HG_RETURN_IF_ERROR(FailUnlessFull(catalogue_->RemoveTensor(tensor->number)));
  const MonitorLock lock(*monitor_);
  Forget(*tensor);
  return OkStatus();
}

Status Store::FailUnlessFull(const Status& status) {
  if (status.ok() || absl::IsResourceExhausted(status)) return status;
  log_->Fail(status);
  return WithReason(log_->failure(), kMaybeDone);
}

void Store::Forget(LiveTensor& tensor) {
  tensor.progress.dropped = true;
  Applied(tensor, tensor.progress.steps.Restart(-1));
  memory_bytes_ -= tensor.memory_bytes;
  by_name_.erase(tensor.spec.ref);
  tensors_.erase(tensor.number);
  monitor_->NotifyAll();  // a snapshot may have waited for its step
}

Status Store::Pull(const TensorRef& ref, std::span<const int64_t> ids,
                   std::span<const int64_t> positions, int64_t min_lsn, std::byte* out,
                   const WorkLimits& limits, const MutableTensorSpec* expected) const {
  Tensor tensor;
  {
    const MonitorLock lock(*monitor_);
    HG_ASSIGN_OR_RETURN(tensor, Find(ref));
    if (expected != nullptr && tensor->spec != *expected) {
      return NotFound("{} was dropped, and made anew with another specification: pull it again",
                      ref.ToString());
    }
    HG_RETURN_IF_ERROR(unreadable_);
    if (min_lsn > 0) {
      HG_RETURN_IF_ERROR(AwaitApplied(*tensor, min_lsn, limits));
      tensor->progress.staleness.Add(std::max<int64_t>(0, AppliedLsn(*tensor) - min_lsn),
                                     env_.scheduler().NowNs());
    }
  }
  std::vector<int64_t> rows;
  HG_RETURN_IF_ERROR(tensor->ToRows(ids, &rows));
  const TurnsRead read(tensor->turns, Patience(limits, env_.scheduler()).until_ns());
  if (!read.begun()) {
    return DeadlineExceeded("{}: its rows were being changed until the deadline of the call",
                            ref.ToString());
  }
  HG_RETURN_IF_ERROR(tensor->CheckWhole());
  const HelperThreads::Share at_work(env_.helpers(), 0);
  HG_RETURN_IF_ERROR(tensor->table->Gather(rows, positions, out));
  // What made the rows unreadable may have been what this read waited for.
  const MonitorLock lock(*monitor_);
  return unreadable_;
}

Status Store::AwaitApplied(const LiveTensor& tensor, int64_t min_lsn,
                           const WorkLimits& limits) const {
  const int64_t until = env_.scheduler().NowNs() + options_.step_timeout_ns;
  const LiveTensor::Progress& progress = tensor.progress;
  if (min_lsn > last_lsn_) {
    HG_RETURN_IF_ERROR(Patience(limits, env_.scheduler()).Check());
    return DataLoss(
        "{}: min_lsn {} is above {}, the last LSN that part {} gave to a push: marks come from "
        "acknowledgements alone, so either this one was lost, with the pushes up to it, or it is "
        "of "
        "another part or state",
        tensor.spec.ref.ToString(), min_lsn, last_lsn_, graph_.part);
  }
  while (!progress.applied.Show(min_lsn)) {
    HG_RETURN_IF_ERROR(unreadable_);
    if (progress.dropped) return NotFound("{} was dropped", tensor.spec.ref.ToString());
    Status waited = WaitForChange(limits, until);
    if (waited.ok()) continue;
    if (!absl::IsDeadlineExceeded(waited) || progress.applied.Show(min_lsn)) return waited;
    const std::string why = progress.steps.Missing();
    return DeadlineExceeded("{}: LSN {} was not reached in time: {}", tensor.spec.ref.ToString(),
                            min_lsn, why.empty() ? "pushes are being applied" : why);
  }
  return OkStatus();
}

Status Store::WaitForChange(const WorkLimits& limits, int64_t until_ns) const {
  const Patience patience(limits, env_.scheduler());
  HG_RETURN_IF_ERROR(patience.Check());
  if (until_ns != kForever && env_.scheduler().NowNs() >= until_ns) {
    return DeadlineExceeded("the deadline of the call has passed");
  }
  return patience.Wait(*monitor_, until_ns);
}

StatusOr<bool> Store::Shows(const TensorRef& ref, int64_t min_lsn) const {
  const MonitorLock lock(*monitor_);
  HG_ASSIGN_OR_RETURN(const Tensor tensor, Find(ref));
  return min_lsn <= last_lsn_ && tensor->progress.applied.Show(min_lsn);
}

int64_t Store::AppliedLsn(const LiveTensor& tensor) const {
  return tensor.progress.applied.missing().value_or(last_lsn_ + 1) - 1;
}

MutableTensorStats Store::StatsOf(const LiveTensor& tensor) const {
  const LiveTensor::Progress& progress = tensor.progress;
  MutableTensorStats stats;
  stats.spec = tensor.spec;
  stats.ids = tensor.positions;
  stats.memory_bytes = tensor.memory_bytes;
  stats.pushes = progress.pushes;
  stats.pushed_rows = progress.pushed_rows;
  stats.not_finite_rows = tensor.not_finite_rows;
  stats.lsn = AppliedLsn(tensor);
  stats.last_lsn = last_lsn_;
  stats.staleness = progress.staleness.Value(env_.scheduler().NowNs());
  stats.step = progress.applied_step;
  return stats;
}

StatusOr<MutableTensorStats> Store::Describe(const TensorRef& ref) const {
  const MonitorLock lock(*monitor_);
  HG_ASSIGN_OR_RETURN(const Tensor tensor, Find(ref));
  MutableTensorStats stats = StatsOf(*tensor);
  stats.refused = Message(log_->failure());
  return stats;
}

std::vector<MutableTensorStats> Store::TensorStats(const TensorRange& range) const {
  std::vector<MutableTensorStats> all;
  const std::string refused = Message(log_->failure());
  std::optional<TensorRef> after = range.after;
  // Some at a time: pushes wait meanwhile.
  for (bool more = true; more && all.size() < range.most;) {
    const MonitorLock lock(*monitor_);
    auto at = after.has_value() ? by_name_.upper_bound(*after) : by_name_.begin();
    for (size_t n = 0; n < kToldAtATime && at != by_name_.end() && all.size() < range.most;
         ++n, ++at) {
      all.push_back(StatsOf(*at->second));
      all.back().refused = refused;
    }
    more = at != by_name_.end();
    if (!all.empty()) after = all.back().spec.ref;
  }
  return all;
}

StateStats Store::stats(const TensorRange& range) const {
  const PushLog::Stats log = log_->stats();
  StateStats stats;
  stats.tensors = TensorStats(range);
  const MonitorLock lock(*monitor_);
  stats.lsn = log.last_lsn;
  stats.synced_lsn = log.synced_lsn;
  stats.log_bytes = log.bytes;
  stats.sync_seconds = static_cast<double>(log.sync_ns) * 1e-9;
  stats.syncs = log.syncs;
  stats.recovery_seconds = recovery_seconds_;
  stats.replayed_pushes = log.replayed;
  stats.taken_pushes = taken_pushes_;
  stats.taken_rows = taken_rows_;
  stats.registered_clients = static_cast<int64_t>(clients_.registered());
  stats.checkpoints = checkpoints_;
  stats.checkpoint_age_seconds =
      static_cast<double>(env_.scheduler().NowNs() - checkpointed_ns_) * 1e-9;
  return stats;
}

}  // namespace halograph
