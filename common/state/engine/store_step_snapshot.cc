// Snapshots of a step: each tensor is at its moment when the step is complete there. Others have
// the admin turn meanwhile, and may come and go: a tensor that is created joins, one that is
// dropped leaves. The images of a moment are written at once, so that no push waits for the last
// tensor.
//
// Who waits for a step waits for no turn at a tensor: a push that has it may wait for images of
// another tensor to be written, which is for this thread to do.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/state/engine/admin_turn.h"
#include "common/state/engine/checkpoint/moment.h"
#include "common/state/engine/store.h"
#include "common/state/import_mark.h"

namespace halograph {
namespace {

bool HasSteps(const StepCollector& steps) {
  return steps.step() >= 0 || steps.memory().world_size > 0;
}

}  // namespace

StatusOr<SnapshotInfo> Store::SnapshotOfStep(const std::string& name, int64_t step,
                                             const WorkLimits& limits) {
  const auto own = std::make_shared<CheckpointUnderWay>();
  own->name = name;
  own->step = step;
  std::unique_ptr<CheckpointWriter> writer;
  SnapshotInfo info;
  info.name = name;
  info.step = step;
  HG_RETURN_IF_ERROR(TakePlaceToWait());
  Status status = BeginSnapshotOfStep(own, limits);
  const bool begun = status.ok();
  if (begun) status = AwaitStep(*own, limits, &writer);
  --waiting_snapshots_;
  if (!begun) return status;
  if (status.ok()) {
    const AdminTurn turn(*this, limits);
    status = turn.status();
    if (status.ok()) {
      const MonitorLock lock(*monitor_);
      status = own->ended;
    }
    if (status.ok()) status = log_->failure();
    if (status.ok()) status = WriteMoments(*own, std::move(writer), limits, &info);
  }
  ReleaseMoments(*own, status.ok());
  if (!status.ok()) return status;
  return info;
}

Status Store::TakePlaceToWait() {
  if (waiting_snapshots_.fetch_add(1) < kMostWaitingSnapshots) return OkStatus();
  --waiting_snapshots_;
  std::vector<int64_t> steps;
  const MonitorLock lock(*monitor_);
  for (const auto& made : under_way_) steps.push_back(*made->step);
  return ResourceExhausted(
      "{} snapshots wait for their steps already (step {}): wait for one of them",
      kMostWaitingSnapshots, fmt::join(steps, ", "));
}

bool Store::IsUnderWay(const std::string& name) const {
  return std::any_of(under_way_.begin(), under_way_.end(),
                     [&](const auto& made) { return made->name == name; });
}

// The first look is within the turn: so what is at its step already is not beside a checkpoint.
Status Store::BeginSnapshotOfStep(const std::shared_ptr<CheckpointUnderWay>& own,
                                  const WorkLimits& limits) {
  const AdminTurn turn(*this, limits, own->name);
  HG_RETURN_IF_ERROR(turn.status());
  HG_RETURN_IF_ERROR(log_->failure());
  HG_RETURN_IF_ERROR(CheckNewSnapshot(own->name));
  const MonitorLock lock(*monitor_);
  own->number = next_file_++;
  under_way_.push_back(own);
  own->ended = FindReached(*own).status();
  return OkStatus();
}

Status Store::AwaitStep(CheckpointUnderWay& own, const WorkLimits& limits,
                        std::unique_ptr<CheckpointWriter>* writer) {
  const int64_t until = env_.scheduler().NowNs() + options_.step_timeout_ns;
  while (true) {
    for (const auto& moment : std::exchange(own.turns, {})) CaptureInSomeTurn(moment);
    Moments captured;
    {
      const MonitorLock lock(*monitor_);
      HG_RETURN_IF_ERROR(own.ended);
      captured = TakeCaptured(own);
      if (captured.empty()) {
        std::string missing;
        if (!own.complete) {
          HG_ASSIGN_OR_RETURN(missing, FindReached(own));
        }
        if (own.complete) missing = NotCaptured(own);
        if (missing.empty()) return OkStatus();
        if (own.turns.empty()) HG_RETURN_IF_ERROR(WaitForStep(own, missing, limits, until));
      }
    }
    if (!captured.empty()) HG_RETURN_IF_ERROR(WriteCaptured(own, captured, writer));
  }
}

StatusOr<std::string> Store::FindReached(CheckpointUnderWay& own) {
  const LiveTensor* behind = nullptr;
  bool any_steps = tensors_.empty();
  bool importing = false;
  Moments now;
  Moments without_steps;
  for (const auto& [number, tensor] : tensors_) {
    const StepCollector& steps = tensor->progress.steps;
    any_steps = any_steps || HasSteps(steps);
    importing = importing || IsImportMark(tensor->spec.ref);
    HG_ASSIGN_OR_RETURN(const std::shared_ptr<Moment> moment, MomentOf(own, tensor));
    if (moment->reached) continue;
    if (steps.step() == *own.step) {
      now.push_back(moment);
    } else if (!HasSteps(steps)) {
      without_steps.push_back(moment);
    } else {
      behind = tensor.get();
    }
  }
  std::string missing;
  if (behind != nullptr) {
    const StepCollector& steps = behind->progress.steps;
    missing = fmt::format("{} is at step {}{}{}", behind->spec.ref.ToString(), steps.step(),
                          steps.empty() ? "" : "; ", steps.Missing());
  }
  if (!any_steps) missing = "no tensor has a synchronous push";
  // It would be half in the snapshot, maybe without its mark.
  if (importing && missing.empty()) missing = "a tensor is being imported";
  // Tensors that nobody pushes in steps come last.
  if (missing.empty()) {
    now.insert(now.end(), without_steps.begin(), without_steps.end());
    own.complete = true;
    own.complete_lsn = last_lsn_;
  }
  for (const auto& moment : now) {
    std::erase(moment->tensor->progress.moments, moment);
    ReachNow(*moment);
  }
  own.turns = std::move(now);
  return missing;
}

std::string Store::NotCaptured(const CheckpointUnderWay& own) {
  for (const auto& moment : own.moments) {
    const LiveTensor& tensor = *moment->tensor;
    if (!moment->performed && !tensor.progress.dropped) return WaitingFor(tensor);
  }
  return "";
}

StatusOr<std::shared_ptr<Moment>> Store::MomentOf(CheckpointUnderWay& own, const Tensor& tensor) {
  std::shared_ptr<Moment>& moment = own.by_tensor[tensor.get()];
  if (moment != nullptr && moment->reached) return moment;
  const int64_t at = tensor->progress.steps.step();
  if (at > *own.step) {
    return FailedPrecondition(
        "step {} is over: {} is at step {}; choose a later step, snapshot without a step, or drop "
        "the tensor if it is of an earlier run",
        *own.step, tensor->spec.ref.ToString(), at);
  }
  if (moment != nullptr) return moment;
  moment = std::make_shared<Moment>();
  moment->tensor = tensor;
  moment->of = &own;
  own.moments.push_back(moment);
  tensor->progress.moments.push_back(moment);
  return moment;
}

Status Store::WaitForStep(const CheckpointUnderWay& own, const std::string& missing,
                          const WorkLimits& limits, int64_t until_ns) {
  const Status waited = WaitForChange(limits, own.complete ? kForever : until_ns);
  if (own.complete || !absl::IsDeadlineExceeded(waited)) return Annotate(waited, missing);
  return DeadlineExceeded(
      "step {} was not reached in time: {}; if nobody pushes to it any more, drop the tensor or "
      "snapshot without a step",
      *own.step, missing);
}

Store::Moments Store::TakeCaptured(CheckpointUnderWay& own) {
  Moments captured;
  for (const auto& moment : own.moments) {
    if (moment->performed && moment->capture != nullptr && !moment->in_file) {
      captured.push_back(moment);
    }
  }
  return captured;
}

Store::Moments Store::ReachStep(LiveTensor& tensor, int64_t lsn) {
  Moments reached;
  LiveTensor::Progress& progress = tensor.progress;
  std::erase_if(progress.moments, [&](const auto& moment) {
    if (*moment->of->step != progress.steps.step()) return false;
    reached.push_back(moment);
    return true;
  });
  for (const auto& moment : reached) Reach(*moment, lsn);
  return reached;
}

void Store::CaptureInSomeTurn(const std::shared_ptr<Moment>& moment) {
  const auto capture = [this, moment] {
    Guarded(0, [&] {
      if (Claim(*moment)) Capture(*moment);
      return OkStatus();
    });
    const MonitorLock lock(*monitor_);
    moment->performed = true;
    monitor_->NotifyAll();
  };
  Turns& turns = moment->tensor->turns;
  if (!turns.WaitForTurn(*moment->ticket, Patience::None(env_.scheduler()), capture).ok()) return;
  capture();
  turns.EndTurn();
}

Status Store::WriteCaptured(CheckpointUnderWay& own, const Moments& captured,
                            std::unique_ptr<CheckpointWriter>* writer) {
  const auto write = [&]() -> Status {
    if (*writer == nullptr) {
      HG_ASSIGN_OR_RETURN(
          *writer,
          CheckpointWriter::Create(FilePath(own.number), catalogue_->generation(), env_.files()));
    }
    return WriteImages(captured, writer->get());
  };
  const Status written = write();
  return written.ok() ? written : FileFailed(written, captured);
}

void Store::EndSnapshotsOfSteps(const Status& why) {
  Moments ended;
  {
    const MonitorLock lock(*monitor_);
    Moments all;  // those who wait may go while this thread does
    for (const auto& made : under_way_) {
      if (made->ended.ok()) made->ended = why;
      all.insert(all.end(), made->moments.begin(), made->moments.end());
    }
    for (const auto& moment : all) {
      std::erase(moment->tensor->progress.moments, moment);
      moment->given_up = !moment->claimed;
      while (moment->claimed && !moment->performed) monitor_->Wait(kForever);
      if (moment->capture != nullptr) ended.push_back(moment);
    }
    monitor_->NotifyAll();
  }
  for (const auto& moment : ended) {
    moment->capture->Close();
    moment->capture->RunLeft();
  }
}

}  // namespace halograph
