#include "common/state/parts/part_states.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/counted.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "common/graph/manifest.h"
#include "common/graph/owner_split.h"
#include "common/state/import_mark.h"

namespace halograph {
namespace {

StatusOr<std::span<const int64_t>> OriginalIds(const Partition& partition, bool edge, int type) {
  return edge ? partition.EdgeOriginalIds(type) : partition.NodeOriginalIds(type);
}

void LogFailure(int part, const std::filesystem::path& folder, const Status& reason,
                bool readable) {
  spdlog::error(
      "state of part {} in {}: {}, since {}. Mend that, then restart: the log is replayed", part,
      folder.string(),
      readable ? "pushes are refused from now on, reads go on"
               : "pushes and reads of mutable tensors are refused from now on",
      Message(reason));
}

bool Has(const StateStore& store, const std::string& snapshot) {
  return !store.Snapshots({.name = snapshot, .tensors = false}).empty();
}

}  // namespace

Status NoStateFolder(std::string_view what) {
  return FailedPrecondition(
      "{}: no mutable tensors are kept here: start halograph-server with --state DIR, or give "
      "--state DIR to a trainer without servers",
      what);
}

StatusOr<std::unique_ptr<PartStates>> PartStates::Open(const StateOptions& options,
                                                       const PartitionSet& parts,
                                                       const TensorCatalog& fixed, Env& env) {
  std::unique_ptr<PartStates> states(new PartStates(parts, fixed, env.scheduler()));
  const auto waiting = std::make_shared<WaitingBytes>(options.max_waiting_bytes);
  for (const auto& part : parts.parts()) {
    StateOptions of_part = options;
    of_part.folder = options.folder / PartFolderName(part->part());
    of_part.on_failure = [part = part->part(), folder = of_part.folder](const Status& reason,
                                                                        bool readable) {
      LogFailure(part, folder, reason, readable);
    };
    of_part.on_fall_back = [part = part->part(), folder = of_part.folder](
                               const std::string& snapshot, const Status& damage) {
      spdlog::warn(
          "state of part {} in {}: its files are damaged, so it goes back to snapshot {}, "
          "and what was pushed since is lost: {}",
          part, folder.string(), snapshot, Message(damage));
    };
    of_part.on_loss = [part = part->part(), folder = of_part.folder](const Status& damage,
                                                                     int64_t pushes) {
      spdlog::warn(
          "state of part {} in {}: {} pushes are gone, or more, as --accept-loss allows: {}", part,
          folder.string(), pushes, Message(damage));
    };
    of_part.on_unsynced_loss = [part = part->part(), folder = of_part.folder](const Status& end,
                                                                              int64_t records) {
      spdlog::warn(
          "state of part {} in {}: {} records of the push log are gone, or more, and nothing shows "
          "that they were synced. A power loss leaves it so; if there was none, look at the disk: "
          "{}",
          part, folder.string(), records, Message(end));
    };
    of_part.on_set_aside = [part = part->part()](const std::filesystem::path& file,
                                                 const std::filesystem::path& now) {
      spdlog::warn("state of part {}: {} is no file that it knows, and is now {}", part,
                   file.string(), now.string());
    };
    of_part.on_given_up = [part = part->part(), waiting](const TensorRef& tensor,
                                                         int64_t first_step, int64_t last_step,
                                                         int64_t pushes) {
      spdlog::warn(
          "state of part {}: {} pushes to {}, of steps {} to {}, which wait for other ranks, are "
          "given up, and their run is over: they do not fit into --state-waiting {}",
          part, pushes, tensor.ToString(), first_step, last_step, FormatBytes(waiting->most()));
    };
    of_part.waiting = waiting;
    of_part.memory_bytes = options.memory_bytes / std::ssize(parts.parts());
    const StateGraph graph{.identity = parts.identity(),
                           .part = part->part(),
                           .schema = &parts.schema(),
                           .book = &parts.book(),
                           .original_ids = [partition = part.get()](bool edge, int type) {
                             return OriginalIds(*partition, edge, type);
                           }};
    HG_ASSIGN_OR_RETURN(std::unique_ptr<StateStore> store, StateStore::Open(of_part, graph, env));
    const StateStats stats = store->stats();
    spdlog::info("state of part {} in {}: {} tensors, {} pushes replayed, opened in {}",
                 part->part(), of_part.folder.string(), stats.tensors.size(),
                 FormatCount(stats.replayed_pushes), FormatSeconds(stats.recovery_seconds));
    states->stores_.emplace(part->part(), std::move(store));
  }
  HG_RETURN_IF_ERROR(states->ReadCatalog());
  return states;
}

Status PartStates::ReadCatalog() {
  std::vector<TensorRef> refs;
  for (const auto& [part, store] : stores_) {
    for (const MutableTensorStats& tensor : store->stats().tensors) {
      HG_RETURN_IF_ERROR(catalog_.Put(tensor.spec));
      refs.push_back(tensor.spec.ref);
    }
  }
  catalog_.KeepOnly(refs);
  return OkStatus();
}

StateStore* PartStates::Find(int64_t part) const {
  if (part < 0 || part >= parts_.book().num_parts()) return nullptr;
  const auto found = stores_.find(static_cast<int>(part));
  return found == stores_.end() ? nullptr : found->second.get();
}

Status PartStates::Create(const MutableTensorSpec& spec, const WorkLimits& limits) {
  for (const auto& [part, store] : stores_) HG_RETURN_IF_ERROR(store->Create(spec, limits));
  return catalog_.Put(spec);
}

Status PartStates::Drop(const TensorRef& ref, const WorkLimits& limits) {
  Status dropped = DropOne(ref, limits);
  if (!dropped.ok() && !absl::IsNotFound(dropped)) return dropped;
  // Last: a tensor that is there is marked as long as it is not whole.
  Status unmarked = DropOne(ImportMarkOf(ref), limits);
  if (absl::IsNotFound(unmarked)) return dropped;
  return unmarked;
}

Status PartStates::FromAll(const std::function<Status(StateStore&)>& remove) const {
  Status missing = OkStatus();
  bool removed = false;
  for (const auto& [part, store] : stores_) {
    Status status = remove(*store);
    if (!status.ok() && !absl::IsNotFound(status)) return status;
    removed = removed || status.ok();
    if (!status.ok()) missing = std::move(status);
  }
  return removed ? OkStatus() : missing;
}

Status PartStates::DropOne(const TensorRef& ref, const WorkLimits& limits) {
  Status dropped = FromAll([&](StateStore& store) { return store.Drop(ref, limits); });
  if (dropped.ok() || absl::IsNotFound(dropped)) catalog_.Remove(ref);
  return dropped;
}

Status PartStates::CheckWhole(const TensorRef& ref) const {
  if (catalog_.FindMutable(ImportMarkOf(ref)) == nullptr) return OkStatus();
  return FailedPrecondition(
      "{} is being imported, or its import was interrupted: wait for it, or repeat it "
      "(halograph-ctl "
      "state import), or drop the tensor",
      ref.ToString());
}

Status PartStates::CheckPush(const TensorRef& ref, PushKind kind) const {
  if (kind == PushKind::kAssign || !MustBeFinite(kind)) return OkStatus();
  return CheckWhole(ref);
}

Status PartStates::NotHere(const std::string& what, int64_t part) const {
  std::vector<int> here;
  for (const auto& [number, opened] : stores_) here.push_back(number);
  return OutOfRange("{} is owned by part {}; those here are {}: ask the owner", what, part,
                    fmt::join(here, ", "));
}

int PartStates::OnlyPart(const MutableTensor& tensor, std::span<const int64_t> ids) const {
  int only = -1;
  for (const int64_t id : ids) {
    const int owner = tensor.placement->Owner(id);
    if (only >= 0 && owner != only) return -1;
    only = owner;
  }
  return only;
}

Status PartStates::Pull(const MutableTensor& tensor, std::span<const int64_t> ids,
                        std::span<const int64_t> positions, std::span<const int64_t> after,
                        std::byte* out, const WorkLimits& limits) const {
  const TensorRef& ref = tensor.spec.ref;
  HG_RETURN_IF_ERROR(CheckIdRange(ids, tensor.resolved.rows, ref.ToString()));
  HG_RETURN_IF_ERROR(CheckWhole(ref));
  PartSplit split;
  split.Split(tensor, ids, positions);
  for (size_t part = 0; part < split.shares().size(); ++part) {
    const IdShare& share = split.shares()[part];
    if (share.ids.empty()) continue;
    const StateStore* store = Find(static_cast<int64_t>(part));
    if (store == nullptr) {
      return NotHere(fmt::format("{}: id {}", ref.ToString(), share.ids.front()),
                     static_cast<int64_t>(part));
    }
    HG_RETURN_IF_ERROR(store->Pull(ref, share.ids, share.positions,
                                   part < after.size() ? after[part] : 0, out, limits,
                                   &tensor.spec));
  }
  return OkStatus();
}

bool PartStates::MayWaitForDisk(const MutableTensor& tensor) const {
  if (restoring_ > 0) return true;
  const auto image_bytes = static_cast<int64_t>(RowLayout::Of(tensor.spec).image_bytes());
  return std::any_of(stores_.begin(), stores_.end(), [&](const auto& part_and_store) {
    const auto stats = part_and_store.second->Describe(tensor.spec.ref);
    return stats.ok() && stats->memory_bytes < stats->ids.size() * image_bytes;
  });
}

std::map<int, StateStats> PartStates::Stats() const {
  std::map<int, StateStats> stats;
  for (const auto& [part, store] : stores_) stats.emplace(part, store->stats());
  return stats;
}

StatusOr<std::map<int, SnapshotInfo>> PartStates::Snapshot(const std::string& name,
                                                           std::optional<int64_t> step,
                                                           const WorkLimits& limits) {
  for (const auto& [part, store] : stores_) {
    for (const MutableTensorStats& tensor : store->stats().tensors) {
      HG_RETURN_IF_ERROR(CheckWhole(tensor.spec.ref));
    }
  }
  std::map<int, StatusOr<SnapshotInfo>> infos;
  for (const auto& [part, store] : stores_) infos.emplace(part, SnapshotInfo{});
  {
    std::vector<std::unique_ptr<RunningThread>> threads;
    for (auto& [part, info] : infos) {
      auto take = [&, store = Find(part), out = &info] {
        *out = store->Snapshot(name, step, limits);
      };
      if (part == infos.rbegin()->first) {
        take();  // the last one on this thread
      } else {
        threads.push_back(scheduler_.Start("snapshot", std::move(take)));
      }
    }
  }
  std::map<int, SnapshotInfo> made;
  Status failed;
  for (auto& [part, info] : infos) {
    if (info.ok()) {
      made.emplace(part, *std::move(info));
    } else if (failed.ok()) {
      failed = Annotate(info.status(), fmt::format("part {}", part));
    }
  }
  if (failed.ok()) return made;
  for (const auto& [part, unused] : made) {
    // What stays is listed, and may be deleted: the error is the one that matters.
    static_cast<void>(Find(part)->DeleteSnapshot(name));
  }
  return failed;
}

std::map<int, std::vector<SnapshotInfo>> PartStates::Snapshots(const SnapshotRange& range) const {
  std::map<int, std::vector<SnapshotInfo>> all;
  for (const auto& [part, store] : stores_) all.emplace(part, store->Snapshots(range));
  return all;
}

StatusOr<SnapshotPage> PartStates::ReadSnapshot(int64_t part, const std::string& name,
                                                const TensorRef& ref, const SnapshotPlace& place,
                                                size_t max_bytes) const {
  const StateStore* const store = Find(part);
  if (store == nullptr) return NotHere(fmt::format("snapshot {}", name), part);
  return store->ReadSnapshot(name, ref, place, max_bytes);
}

Status PartStates::DeleteSnapshot(const std::string& name, const WorkLimits& limits) {
  return FromAll([&](StateStore& store) { return store.DeleteSnapshot(name, limits); });
}

Status PartStates::RestoreSnapshot(const std::string& name, const WorkLimits& limits) {
  const Counted restoring(&restoring_);
  for (const auto& [part, store] : stores_) {
    if (!Has(*store, name)) {
      return NotFound("part {} has no snapshot '{}'; nothing was restored", part, name);
    }
  }
  for (const auto& [part, store] : stores_) {
    HG_RETURN_IF_ERROR(
        Annotate(store->RestoreSnapshot(name, limits), fmt::format("part {}", part)));
  }
  return ReadCatalog();
}

}  // namespace halograph
