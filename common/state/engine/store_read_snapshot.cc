// What a snapshot holds, out of its files: for whoever takes it elsewhere.
#include "common/state/engine/store.h"

namespace halograph {

StatusOr<SnapshotPage> Store::ReadSnapshot(const std::string& name, const TensorRef& ref,
                                           const SnapshotPlace& place, size_t max_bytes) const {
  std::shared_ptr<const KeptSnapshot> found;
  {
    const MonitorLock lock(*monitor_);
    HG_ASSIGN_OR_RETURN(found, snapshots_.Find(name));
  }
  const KeptSnapshot& snapshot = *found;
  const CatalogueTensor* tensor = nullptr;
  std::string names;
  for (const auto& kept : *snapshot.tensors) {
    if (kept->spec.ref == ref) tensor = kept.get();
    if (names.size() < 500) names += (names.empty() ? "" : ", ") + kept->spec.ref.ToString();
  }
  if (tensor == nullptr) {
    return NotFound("snapshot {} has no tensor {}; it has {}", name, ref.ToString(),
                    names.empty() ? "none" : names);
  }
  if (place.file >= snapshot.files.size()) {
    return DataLoss("snapshot {}: file {} of {} is asked for", name, place.file,
                    snapshot.files.size());
  }
  SnapshotPlace at = place;
  StatusOr<CheckpointPage> read =
      ReadCheckpointPage(FilePath(snapshot.files[at.file]), env_.files(), tensor->number,
                         RowLayout::Of(tensor->spec).image_bytes(), max_bytes, &at);
  if (!read.ok()) {
    // Its files go with a snapshot that is deleted meanwhile.
    const MonitorLock lock(*monitor_);
    HG_RETURN_IF_ERROR(snapshots_.Find(name).status());
    return read.status();
  }
  SnapshotPage page;
  page.rows = std::move(read->images.rows);
  page.images = std::move(read->images.images);
  // Of the moment: the last file's. Those before it tell of earlier checkpoints.
  const bool in_last = at.file + 1 == snapshot.files.size();
  if (in_last && read->moment.has_value()) page.step = read->moment->steps.step;
  if (read->at_end) {
    if (in_last) return page;
    at = {at.file + 1, 0, 0, 0};
  }
  page.next = at;
  return page;
}

}  // namespace halograph
