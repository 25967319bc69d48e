// How a store begins whose own files are damaged: as it was at a snapshot that is whole.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/state/engine/store.h"

namespace halograph {
namespace {

bool IsDamage(const Status& status) { return absl::IsNotFound(status) || absl::IsDataLoss(status); }

// Records of the log are after the snapshot, or in it. None is read again, whatever it says.
Status RemoveLog(const std::filesystem::path& folder, FileSystem& files) {
  const auto names = files.List(folder);
  if (absl::IsNotFound(names.status())) return OkStatus();
  HG_RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) HG_RETURN_IF_ERROR(files.Remove(folder / name));
  return files.SyncFolder(folder);
}

}  // namespace

Status Store::FallBack(const Status& damage) {
  HG_RETURN_IF_ERROR(OpenFolder());
  HG_ASSIGN_OR_RETURN(const CheckpointInfo before, catalogue_->Checkpoint());
  HG_ASSIGN_OR_RETURN(const std::vector<CatalogueSnapshot> all, catalogue_->Snapshots());
  std::map<int64_t, Status> files;  // by number, what is wrong with them
  const auto is_whole = [&](const CatalogueSnapshot& snapshot) -> StatusOr<bool> {
    for (const int64_t number : snapshot.files) {
      const auto [found, fresh] = files.try_emplace(number);
      if (fresh) found->second = CheckFiles({number}).status();
      if (found->second.ok()) continue;
      if (IsDamage(found->second)) return false;
      return found->second;
    }
    return true;
  };
  std::map<std::string, const CatalogueSnapshot*> whole, damaged;
  for (const CatalogueSnapshot& snapshot : all) {
    HG_ASSIGN_OR_RETURN(const bool good, is_whole(snapshot));
    (good ? whole : damaged).emplace(snapshot.info.name, &snapshot);
  }
  const auto chosen = std::find_if(options_.fall_back_to.begin(), options_.fall_back_to.end(),
                                   [&](const std::string& name) { return whole.contains(name); });
  if (chosen == options_.fall_back_to.end()) {
    return DataLoss("{}; of the snapshots to fall back to none is here and whole: {}",
                    Message(damage), fmt::join(options_.fall_back_to, ", "));
  }
  const CatalogueSnapshot& snapshot = *whole.at(*chosen);
  // LSNs go on where they were as far as that is known, in segments of new epochs.
  CheckpointInfo next{.files = snapshot.files};
  HG_ASSIGN_OR_RETURN(const int64_t closed, catalogue_->ClosedLsn());
  next.lsn = std::max({before.lsn, closed, snapshot.info.lsn});
  next.first_lsn = next.lsn + 1;
  HG_ASSIGN_OR_RETURN(next.first_epoch, catalogue_->TakeEpochs());
  for (const auto& [name, of_name] : damaged) {
    HG_RETURN_IF_ERROR(catalogue_->RemoveSnapshot(name));
  }
  HG_RETURN_IF_ERROR(catalogue_->SetCheckpoint(next, nullptr, &snapshot.tensors));
  HG_RETURN_IF_ERROR(RemoveLog(options_.folder / "log", env_.files()));
  if (options_.on_fall_back != nullptr) options_.on_fall_back(*chosen, damage);
  return OkStatus();
}

}  // namespace halograph
