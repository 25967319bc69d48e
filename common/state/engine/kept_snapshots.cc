#include "common/state/engine/kept_snapshots.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace halograph {
namespace {

// Where the name is, or would be.
template <typename List>
auto PlaceOf(List& list, const std::string& name) {
  return std::lower_bound(
      list.begin(), list.end(), name,
      [](const auto& snapshot, const std::string& key) { return snapshot->info.name < key; });
}

}  // namespace

StatusOr<std::shared_ptr<const KeptSnapshot>> KeptSnapshots::Find(const std::string& name) const {
  const auto found = PlaceOf(list_, name);
  if (found != list_.end() && (*found)->info.name == name) return *found;
  std::string names;
  for (const auto& snapshot : list_) {
    if (names.size() >= 500) break;
    names += (names.empty() ? "" : ", ") + snapshot->info.name;
  }
  return NotFound("no snapshot {}; there {}", name, names.empty() ? "is none" : "are " + names);
}

std::shared_ptr<const KeptSnapshot> KeptSnapshots::Share(const CatalogueSnapshot& snapshot) {
  auto tensors = std::make_shared<KeptSnapshot::Tensors>();
  tensors->reserve(snapshot.tensors.size());
  for (const CatalogueTensor& tensor : snapshot.tensors) {
    std::weak_ptr<const CatalogueTensor>& known = tensors_[tensor.number];
    std::shared_ptr<const CatalogueTensor> shared = known.lock();
    if (shared == nullptr) known = shared = std::make_shared<const CatalogueTensor>(tensor);
    tensors->push_back(std::move(shared));
  }
  std::shared_ptr<const KeptSnapshot::Tensors> list = latest_.lock();
  if (list == nullptr || *list != *tensors) latest_ = list = std::move(tensors);
  return std::make_shared<const KeptSnapshot>(
      KeptSnapshot{.info = snapshot.info, .files = snapshot.files, .tensors = std::move(list)});
}

void KeptSnapshots::Add(std::shared_ptr<const KeptSnapshot> snapshot) {
  list_.insert(PlaceOf(list_, snapshot->info.name), std::move(snapshot));
}

void KeptSnapshots::Remove(const std::string& name) {
  const auto found = PlaceOf(list_, name);
  if (found != list_.end() && (*found)->info.name == name) list_.erase(found);
}

void KeptSnapshots::Forget() {
  std::erase_if(tensors_, [](const auto& tensor) { return tensor.second.expired(); });
}

std::vector<SnapshotInfo> Tell(const KeptSnapshots::List& list, const SnapshotRange& range) {
  std::vector<SnapshotInfo> told;
  size_t room = range.most;
  auto at = range.from.has_value() ? PlaceOf(list, range.from->snapshot) : list.begin();
  for (; at != list.end() && room > 0; ++at) {
    const KeptSnapshot& snapshot = **at;
    if (!range.name.empty() && snapshot.info.name != range.name) continue;
    size_t next = 0;
    if (range.from.has_value() && snapshot.info.name == range.from->snapshot) {
      next = range.from->tensors;
      if (!range.tensors || next >= snapshot.tensors->size()) continue;  // it was told
    } else {
      --room;
    }
    SnapshotInfo& info = told.emplace_back(snapshot.info);
    if (!range.tensors) continue;
    for (; next < snapshot.tensors->size() && room > 0; ++next, --room) {
      info.tensors.push_back((*snapshot.tensors)[next]->spec);
    }
  }
  return told;
}

}  // namespace halograph
