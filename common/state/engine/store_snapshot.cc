// Snapshots: checkpoints with a name, and the way back to them.
#include <algorithm>
#include <set>
#include <utility>

#include "common/state/engine/admin_turn.h"
#include "common/state/engine/checkpoint/moment.h"
#include "common/state/engine/log/bytes.h"
#include "common/state/engine/store.h"

namespace halograph {
namespace {

Status CheckName(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  if (!name.empty() && name.size() <= 200 && std::all_of(name.begin(), name.end(), allowed)) {
    return OkStatus();
  }
  return InvalidArgument("'{}' is no name of a snapshot: 1 to 200 of A-Z, a-z, 0-9, '.', '_', '-'",
                         name);
}

}  // namespace

Status Store::CheckNewSnapshot(const std::string& name) const {
  if (snapshots_.Find(name).ok()) return AlreadyExists("there is a snapshot {} already", name);
  int64_t there = std::ssize(snapshots_.list());
  {
    const MonitorLock lock(*monitor_);
    there += std::ssize(under_way_);
  }
  if (there < options_.max_snapshots) return OkStatus();
  return ResourceExhausted(
      "snapshot {}: part {} has {} snapshots, and makes none beyond {} (--state-snapshots): delete "
      "some, or start with a larger --state-snapshots",
      name, graph_.part, there, options_.max_snapshots);
}

StatusOr<SnapshotInfo> Store::Snapshot(const std::string& name, std::optional<int64_t> step,
                                       const WorkLimits& limits) {
  HG_RETURN_IF_ERROR(CheckName(name));
  if (step.has_value()) return SnapshotOfStep(name, *step, limits);
  const AdminTurn turn(*this, limits);
  HG_RETURN_IF_ERROR(turn.status());
  HG_RETURN_IF_ERROR(CheckNewSnapshot(name));
  {
    const MonitorLock lock(*monitor_);
    if (IsUnderWay(name)) return AlreadyExists("snapshot {} waits for its step already", name);
  }
  return WriteCheckpoint(&name, limits);
}

std::vector<SnapshotInfo> Store::Snapshots(const SnapshotRange& range) const {
  KeptSnapshots::List kept;
  {
    const MonitorLock lock(*monitor_);
    kept = snapshots_.list();
  }
  return Tell(kept, range);
}

Status Store::DeleteSnapshot(const std::string& name, const WorkLimits& limits) {
  const AdminTurn turn(*this, limits);
  HG_RETURN_IF_ERROR(turn.status());
  HG_RETURN_IF_ERROR(snapshots_.Find(name).status());
  KeptSnapshots::List rest = snapshots_.list();
  std::erase_if(rest, [&](const auto& snapshot) { return snapshot->info.name == name; });
  const std::set<int64_t> named = NamedBy(checkpoint_, rest);
  HG_RETURN_IF_ERROR(FailUnlessFull(catalogue_->RemoveSnapshot(name, LeftBeside(named))));
  {
    const MonitorLock lock(*monitor_);
    snapshots_.Remove(name);
  }
  snapshots_.Forget();
  SetNamedFiles(named);
  RemoveUnusedFiles();
  return OkStatus();
}

Status Store::RestoreSnapshot(const std::string& name, const WorkLimits& limits) {
  const AdminTurn turn(*this, limits);
  HG_RETURN_IF_ERROR(turn.status());
  HG_RETURN_IF_ERROR(log_->failure());
  HG_ASSIGN_OR_RETURN(const auto snapshot, snapshots_.Find(name));
  HG_ASSIGN_OR_RETURN(const std::vector<TensorMoment> then, CheckFiles(snapshot->files));
  TensorMap restored;
  HG_RETURN_IF_ERROR(TensorsOf(*snapshot, &restored));

  EndSnapshotsOfSteps(
      FailedPrecondition("snapshot {} was restored while this one waited for its step, and the run "
                         "that the step is of "
                         "is over: ask again when the next run has begun",
                         name));
  // From here until the end nobody pushes or reads.
  std::vector<Tensor> all;
  {
    const MonitorLock lock(*monitor_);
    restoring_ = true;
    for (const auto& [number, tensor] : tensors_) all.push_back(tensor);
  }
  const Patience patience(limits, env_.scheduler());
  Status status;
  std::vector<Tensor> stopped;
  for (const Tensor& tensor : all) {
    status = tensor->turns.WaitForTurn(TakeTicket(*tensor), patience, [] {});
    if (!status.ok()) {
      status = Annotate(status, WaitingFor(*tensor));
      break;
    }
    tensor->turns.BeginChange();
    stopped.push_back(tensor);
  }
  if (status.ok()) status = SwitchToSnapshot(*snapshot, then, restored, patience);
  for (const Tensor& tensor : stopped) {
    tensor->turns.EndChange();
    tensor->turns.EndTurn();
  }
  const MonitorLock lock(*monitor_);
  restoring_ = false;
  monitor_->NotifyAll();
  return status;
}

StatusOr<std::vector<TensorMoment>> Store::CheckFiles(const std::vector<int64_t>& files) const {
  std::vector<TensorMoment> last;
  CheckpointVisitor visitor;
  visitor.moments = [&](const std::vector<TensorMoment>& moments) {
    last = moments;
    return OkStatus();
  };
  for (const int64_t number : files) {
    HG_RETURN_IF_ERROR(ReadCheckpoint(FilePath(number), env_.files(), visitor));
  }
  return last;
}

Status Store::TensorsOf(const KeptSnapshot& snapshot, TensorMap* tensors) {
  int64_t bytes = 0;
  std::vector<CatalogueTensor> dropped;
  for (const auto& kept : *snapshot.tensors) {
    const auto live = tensors_.find(kept->number);
    if (live == tensors_.end()) {
      dropped.push_back(*kept);
    } else {
      (*tensors)[kept->number] = live->second;
      bytes += live->second->memory_bytes;
    }
  }
  return Annotate(MakeTensors(dropped, &bytes, tensors), "snapshot " + snapshot.info.name);
}

Status Store::SwitchToSnapshot(const KeptSnapshot& snapshot, const std::vector<TensorMoment>& then,
                               const TensorMap& restored, const Patience& patience) {
  // A file without rows says where the tensors stand from now on, and who pushed what until now.
  ClientTable::Saved clients;
  CheckpointInfo next;
  Moments moments;
  int64_t number = 0;
  {
    const MonitorLock lock(*monitor_);
    number = next_file_++;
    clients = clients_.Save();
    next.lsn = last_lsn_;
    next.first_lsn = last_lsn_ + 1;
    for (const TensorMoment& at : then) {
      if (!restored.contains(at.tensor)) {
        return DataLoss("snapshot {}: its last file names a tensor that its list does not",
                        snapshot.info.name);
      }
      auto moment = std::make_shared<Moment>();
      moment->tensor = restored.at(at.tensor);
      StepCollector steps = moment->tensor->progress.steps;
      if (!tensors_.contains(at.tensor)) steps.Remember(at.steps);  // it was dropped since
      static_cast<void>(steps.Restart(at.steps.step));
      moment->at = {at.tensor, last_lsn_, at.pushes, at.pushed_rows, steps.memory(), {}};
      moments.push_back(std::move(moment));
    }
  }
  next.files = snapshot.files;
  next.files.push_back(number);
  HG_RETURN_IF_ERROR(WriteFile(number, moments, clients, nullptr).status());
  HG_RETURN_IF_ERROR(log_->SyncTo(next.lsn, patience));
  next.first_epoch = log_->FirstEpochAfter(next.lsn);
  std::vector<CatalogueTensor> tensors;
  for (const auto& kept : *snapshot.tensors) tensors.push_back(*kept);
  HG_RETURN_IF_ERROR(SwitchTo(next, nullptr, &tensors));
  Status loaded = LoadRows(snapshot.files, restored);
  if (!loaded.ok()) {
    // The files were whole a moment ago. A restart reads them anew.
    log_->Fail(loaded, false);
    loaded = Annotate(loaded, "restart: the snapshot is set, but its rows could not be read");
  }
  const MonitorLock lock(*monitor_);
  if (!loaded.ok()) unreadable_ = loaded;
  const TensorMap before = tensors_;
  for (const auto& [old_number, tensor] : before) {
    if (!restored.contains(old_number)) Forget(*tensor);
  }
  memory_bytes_ = 0;
  for (const auto& moment : moments) {
    LiveTensor::Progress& progress = moment->tensor->progress;
    Applied(*moment->tensor, progress.steps.Restart(moment->at.steps.step));
    progress.steps.Remember(moment->at.steps);
    progress.applied_step = moment->at.steps.step;
    progress.pushes = moment->at.pushes;
    progress.pushed_rows = moment->at.pushed_rows;
    progress.dropped = false;
    tensors_[moment->at.tensor] = moment->tensor;
    memory_bytes_ += moment->tensor->memory_bytes;
  }
  NameTensors();
  return loaded;
}

}  // namespace halograph
