// How a store begins whose own files are damaged: as it was at a snapshot that is whole.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/state/engine/store.h"

namespace halograph {
namespace {

constexpr size_t kNamed = 20;  // snapshots, in a message

bool IsDamage(const Status& status) { return absl::IsNotFound(status) || absl::IsDataLoss(status); }

}  // namespace

Status Store::WithSnapshots(const Status& damage) const {
  std::vector<SnapshotInfo> known = Snapshots({.tensors = false});
  if (known.empty()) return damage;
  std::sort(known.begin(), known.end(), [](const SnapshotInfo& a, const SnapshotInfo& b) {
    return a.lsn != b.lsn ? a.lsn > b.lsn : a.name > b.name;
  });
  std::string names;
  for (size_t i = 0; i < std::min(known.size(), kNamed); ++i) {
    names += (names.empty() ? "" : ",") + known[i].name;
  }
  return DataLoss(
      "{}. Or go back to the first of its snapshots that is whole, and lose what was pushed since: "
      "--state-fall-back {}",
      Message(damage), names);
}

Status Store::FallBack(const Status& damage) {
  HG_RETURN_IF_ERROR(OpenFolder());
  HG_ASSIGN_OR_RETURN(const CheckpointInfo before, catalogue_->Checkpoint());
  HG_RETURN_IF_ERROR(catalogue_->VisitSnapshots(
      [&](const CatalogueSnapshot& kept) { snapshots_.Add(snapshots_.Share(kept)); }));
  std::map<int64_t, Status> files;  // by number, what is wrong with them
  const auto is_whole = [&](const KeptSnapshot& snapshot) -> StatusOr<bool> {
    for (const int64_t number : snapshot.files) {
      const auto [found, fresh] = files.try_emplace(number);
      if (fresh) found->second = CheckFiles({number}).status();
      if (found->second.ok()) continue;
      if (IsDamage(found->second)) return false;
      return found->second;
    }
    return true;
  };
  std::map<std::string, std::shared_ptr<const KeptSnapshot>> whole;
  for (const auto& snapshot : snapshots_.list()) {
    HG_ASSIGN_OR_RETURN(const bool good, is_whole(*snapshot));
    if (good) whole.emplace(snapshot->info.name, snapshot);
  }
  const auto chosen = std::find_if(options_.fall_back_to.begin(), options_.fall_back_to.end(),
                                   [&](const std::string& name) { return whole.contains(name); });
  if (chosen == options_.fall_back_to.end()) {
    std::vector<std::string> names;
    names.reserve(whole.size());
    for (const auto& [name, of_name] : whole) names.push_back(name);
    return DataLoss("{}; none of the snapshots to fall back to is whole here; whole {}: {}",
                    Message(damage), names.empty() ? "are none" : "are", fmt::join(names, ", "));
  }
  // The log begins anew, behind all LSNs that are known: its records are in segments of older
  // epochs, which nobody reads again.
  const KeptSnapshot& snapshot = *whole.at(*chosen);
  CheckpointInfo next{.files = snapshot.files};
  HG_ASSIGN_OR_RETURN(const int64_t synced, catalogue_->SyncedLsn());
  next.lsn = std::max({before.lsn, synced, snapshot.info.lsn});
  next.first_lsn = next.lsn + 1;
  HG_ASSIGN_OR_RETURN(const NamedSegments segments, catalogue_->Segments());
  next.first_epoch = segments.next_epoch;
  HG_ASSIGN_OR_RETURN(LeftFiles left, catalogue_->Left());
  named_files_ = NamedBy(before, snapshots_.list());
  unused_ = {left.unused.begin(), left.unused.end()};
  left.unused = LeftBeside(NamedBy(next, snapshots_.list())).unused;
  // Told before it is done: a process that ends in between has said too much, not too little.
  if (options_.on_fall_back != nullptr) options_.on_fall_back(*chosen, damage);
  std::vector<CatalogueTensor> tensors;
  for (const auto& tensor : *snapshot.tensors) tensors.push_back(*tensor);
  return catalogue_->SetCheckpoint(next, left, nullptr, &tensors);
}

}  // namespace halograph
