#include "trainer/checkpoint/snapshots/run_snapshots.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "common/storage/json.h"
#include "trainer/checkpoint/files/checkpoint_folder.h"

namespace halograph {
namespace {

constexpr char kFile[] = "snapshots.json";
constexpr char kFormat[] = "halograph snapshots of checkpoints";

// What the checkpoints in a folder name. An error: one could not be read, and may name one.
StatusOr<std::set<std::string>> NamedIn(const std::filesystem::path& dir) {
  std::set<std::string> names;
  HG_ASSIGN_OR_RETURN(const auto checkpoints, ListCheckpoints(dir));
  for (const auto& [steps, folder] : checkpoints) {
    const auto manifest = ReadCheckpointManifest(folder);
    if (absl::IsNotFound(manifest.status()) || absl::IsDataLoss(manifest.status())) continue;
    HG_RETURN_IF_ERROR(manifest.status());
    for (const auto* named : {&manifest->snapshot, &manifest->best_snapshot}) {
      if (named->has_value()) names.insert((*named)->name);
    }
  }
  return names;
}

}  // namespace

Status CheckAlone(std::span<const MutableTensorState> states, std::span<const TensorRef> tensors) {
  for (const MutableTensorState& state : states) {
    const TensorRef& ref = state.spec.ref;
    if (std::find(tensors.begin(), tensors.end(), ref) != tensors.end()) continue;
    return FailedPrecondition(
        "--checkpoint: the store keeps {} beside this run's learnt inputs, and going back to a "
        "checkpoint would change that, too; drop it (halograph-ctl state drop), or give the run a "
        "state folder or servers of its own",
        ref.ToString());
  }
  return OkStatus();
}

StatusOr<std::unique_ptr<RunSnapshots>> RunSnapshots::Open(TensorAdmin* admin,
                                                           std::vector<TensorRef> tensors,
                                                           const std::filesystem::path& dir) {
  std::unique_ptr<RunSnapshots> snapshots(new RunSnapshots(admin, std::move(tensors), dir));
  CallContext context;
  HG_RETURN_IF_ERROR(snapshots->CheckStillAlone(context));
  HG_RETURN_IF_ERROR(snapshots->ReadOrMakePrefix());
  return snapshots;
}

Status RunSnapshots::ReadOrMakePrefix() {
  const std::filesystem::path path = dir_ / kFile;
  std::string number;
  Status read = [&]() -> Status {
    HG_ASSIGN_OR_RETURN(const Json json, ReadManifest(path));
    HG_ASSIGN_OR_RETURN(number, GetString(json, "folder", path.string()));
    return OkStatus();
  }();
  if (!read.ok()) {
    if (absl::IsDataLoss(read)) {
      spdlog::warn("{}; snapshots that no checkpoint names stay where they are", Message(read));
    } else if (!absl::IsNotFound(read)) {
      return read;
    }
    std::random_device draw;
    number = fmt::format("{:08x}{:08x}", draw(), draw());
    HG_RETURN_IF_ERROR(WriteManifest(path, Json{{"format", kFormat}, {"folder", number}}));
  }
  prefix_ = "checkpoints-" + number + "-";
  return OkStatus();
}

Status RunSnapshots::CheckStillAlone(CallContext& context) const {
  HG_ASSIGN_OR_RETURN(const auto states, admin_.List(context));
  return CheckAlone(states, tensors_);
}

std::string RunSnapshots::NewName(int64_t steps_done) const {
  std::random_device draw;
  return fmt::format("{}{}-{:08x}", prefix_, CheckpointName(steps_done), draw());
}

Status RunSnapshots::Take(const std::string& name, std::optional<int64_t> step,
                          CallContext& context) const {
  return Annotate(admin_.Snapshot(name, step, context), "a snapshot of learnt inputs");
}

Status RunSnapshots::GoBackTo(const std::string& name, CallContext& context) const {
  HG_RETURN_IF_ERROR(CheckStillAlone(context));
  return admin_.RestoreSnapshot(name, context);
}

void RunSnapshots::Spare(std::string name) {
  const MutexLock lock(mutex_);
  spared_ = std::move(name);
}

void RunSnapshots::DeleteUnused() const {
  const Status deleted = TryDeleteUnused();
  if (deleted.ok()) return;
  spdlog::warn("snapshots {}... that no checkpoint in {} names stay for now: {}", prefix_,
               dir_.string(), ToString(deleted));
}

Status RunSnapshots::TryDeleteUnused() const {
  CallContext context;
  HG_ASSIGN_OR_RETURN(const auto kept, admin_.ListSnapshots(context));
  HG_ASSIGN_OR_RETURN(std::set<std::string> used, NamedIn(dir_));
  {
    const MutexLock lock(mutex_);
    used.insert(spared_);
  }
  std::set<std::string> unused;
  for (const auto& [part, snapshots] : kept) {
    for (const SnapshotInfo& snapshot : snapshots) {
      if (snapshot.name.starts_with(prefix_) && !used.contains(snapshot.name)) {
        unused.insert(snapshot.name);
      }
    }
  }
  for (const std::string& name : unused) {
    const Status deleted = admin_.DeleteSnapshot(name, context);
    if (!absl::IsNotFound(deleted)) HG_RETURN_IF_ERROR(deleted);
  }
  return OkStatus();
}

}  // namespace halograph
