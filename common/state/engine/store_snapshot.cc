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

constexpr std::string_view kFilePrefix = "checkpoint-";

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

std::filesystem::path Store::FilePath(int64_t number) const {
  return options_.folder / "checkpoints" / fmt::format("{}{:08}", kFilePrefix, number);
}

void Store::RemoveUnusedFiles() {
  // After a failed write the catalogue may name files that this process does not know of.
  if (log_ != nullptr && !log_->failure().ok()) return;
  std::set<std::string> used;
  for (const int64_t number : checkpoint_.files) used.insert(FilePath(number).filename());
  for (const CatalogueSnapshot& snapshot : snapshots_) {
    for (const int64_t number : snapshot.files) used.insert(FilePath(number).filename());
  }
  {
    const MonitorLock lock(*monitor_);
    for (const auto& made : under_way_) {
      for (const int64_t number : made->base) used.insert(FilePath(number).filename());
      used.insert(FilePath(made->number).filename());
      used.insert(CheckpointWriter::TemporaryPath(FilePath(made->number)).filename());
    }
  }
  const std::filesystem::path folder = options_.folder / "checkpoints";
  const StatusOr<std::vector<std::string>> names = env_.files().List(folder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    // What cannot be removed now is tried again after the next checkpoint.
    if (!used.contains(name)) static_cast<void>(env_.files().Remove(folder / name).ok());
  }
}

StatusOr<SnapshotInfo> Store::Snapshot(const std::string& name, std::optional<int64_t> step,
                                       const WorkLimits& limits) {
  HG_RETURN_IF_ERROR(CheckName(name));
  if (step.has_value()) return SnapshotOfStep(name, *step, limits);
  const AdminTurn turn(*this, limits);
  HG_RETURN_IF_ERROR(turn.status());
  if (FindSnapshot(name).ok()) return AlreadyExists("there is a snapshot {} already", name);
  {
    const MonitorLock lock(*monitor_);
    if (IsUnderWay(name)) return AlreadyExists("snapshot {} waits for its step already", name);
  }
  return WriteCheckpoint(&name, limits);
}

std::vector<SnapshotInfo> Store::Snapshots() const {
  const MonitorLock lock(*monitor_);
  std::vector<SnapshotInfo> infos;
  for (const CatalogueSnapshot& snapshot : snapshots_) {
    infos.push_back(snapshot.info);
    for (const CatalogueTensor& tensor : snapshot.tensors) {
      infos.back().tensors.push_back(tensor.spec);
    }
  }
  std::sort(infos.begin(), infos.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return infos;
}

StatusOr<CatalogueSnapshot> Store::FindSnapshot(const std::string& name) const {
  std::string names;
  for (const CatalogueSnapshot& snapshot : snapshots_) {
    if (snapshot.info.name == name) return snapshot;
    if (names.size() < 500) names += (names.empty() ? "" : ", ") + snapshot.info.name;
  }
  return NotFound("no snapshot {}; there {}", name, names.empty() ? "is none" : "are " + names);
}

Status Store::DeleteSnapshot(const std::string& name, const WorkLimits& limits) {
  const AdminTurn turn(*this, limits);
  HG_RETURN_IF_ERROR(turn.status());
  HG_RETURN_IF_ERROR(FindSnapshot(name).status());
  if (Status removed = catalogue_->RemoveSnapshot(name); !removed.ok()) {
    log_->Fail(removed);
    return removed;
  }
  {
    const MonitorLock lock(*monitor_);
    std::erase_if(snapshots_, [&](const auto& snapshot) { return snapshot.info.name == name; });
  }
  RemoveUnusedFiles();
  return OkStatus();
}

Status Store::RestoreSnapshot(const std::string& name, const WorkLimits& limits) {
  const AdminTurn turn(*this, limits);
  HG_RETURN_IF_ERROR(turn.status());
  HG_RETURN_IF_ERROR(log_->failure());
  HG_ASSIGN_OR_RETURN(const CatalogueSnapshot snapshot, FindSnapshot(name));
  HG_ASSIGN_OR_RETURN(const std::vector<TensorMoment> then, CheckFiles(snapshot.files));
  TensorMap restored;
  HG_RETURN_IF_ERROR(TensorsOf(snapshot, &restored));

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
  if (status.ok()) status = SwitchToSnapshot(snapshot, then, restored, patience);
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

Status Store::TensorsOf(const CatalogueSnapshot& snapshot, TensorMap* tensors) {
  int64_t bytes = 0;
  std::vector<CatalogueTensor> dropped;
  for (const CatalogueTensor& kept : snapshot.tensors) {
    const auto live = tensors_.find(kept.number);
    if (live == tensors_.end()) {
      dropped.push_back(kept);
    } else {
      (*tensors)[kept.number] = live->second;
      bytes += live->second->memory_bytes;
    }
  }
  return Annotate(MakeTensors(dropped, &bytes, tensors), "snapshot " + snapshot.info.name);
}

Status Store::SwitchToSnapshot(const CatalogueSnapshot& snapshot,
                               const std::vector<TensorMoment>& then, const TensorMap& restored,
                               const Patience& patience) {
  // A file without rows says where the tensors stand from now on, and who pushed what until now.
  std::string clients;
  CheckpointInfo next;
  Moments moments;
  int64_t number = 0;
  {
    const MonitorLock lock(*monitor_);
    number = next_file_++;
    clients_.Save(&clients);
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
      moment->at = {at.tensor, last_lsn_, at.pushes, at.pushed_rows, steps.memory()};
      moments.push_back(std::move(moment));
    }
  }
  next.files = snapshot.files;
  next.files.push_back(number);
  HG_RETURN_IF_ERROR(WriteFile(number, moments, clients, nullptr).status());
  HG_RETURN_IF_ERROR(log_->SyncTo(next.lsn, patience));
  next.first_epoch = log_->FirstEpochAfter(next.lsn);
  HG_RETURN_IF_ERROR(SwitchTo(next, nullptr, &snapshot.tensors));
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
  return loaded;
}

}  // namespace halograph
