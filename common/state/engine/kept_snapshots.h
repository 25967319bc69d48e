// The snapshots that a store has, in memory. A tensor is held once, however many snapshots have it:
// numbers are never used again, so a number says which tensor it is. What a snapshot alone held
// goes with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/status.h"
#include "common/state/engine/catalogue/state_catalogue.h"
#include "common/state/state_store.h"

namespace halograph {

struct KeptSnapshot {
  using Tensors = std::vector<std::shared_ptr<const CatalogueTensor>>;

  SnapshotInfo info;           // without its tensors
  std::vector<int64_t> files;  // as CatalogueSnapshot has them
  std::shared_ptr<const Tensors> tensors;
};

class KeptSnapshots {
 public:
  using List = std::vector<std::shared_ptr<const KeptSnapshot>>;

  // Those that are there, by name. What it holds stays as it is while these change.
  [[nodiscard]] const List& list() const { return list_; }
  // NotFound naming what exists.
  [[nodiscard]] StatusOr<std::shared_ptr<const KeptSnapshot>> Find(const std::string& name) const;

  // What Add takes: by one thread at a time, also while others read the list.
  [[nodiscard]] std::shared_ptr<const KeptSnapshot> Share(const CatalogueSnapshot& snapshot);
  // Requires another name than those that are there.
  void Add(std::shared_ptr<const KeptSnapshot> snapshot);
  // Does nothing if there is none.
  void Remove(const std::string& name);
  // Lets go of tensors that no snapshot has any more; as Share.
  void Forget();

 private:
  List list_;
  std::unordered_map<uint32_t, std::weak_ptr<const CatalogueTensor>> tensors_;  // by number
  std::weak_ptr<const KeptSnapshot::Tensors>
      latest_;  // most snapshots have those of the one before
};

// What `range` asks for.
[[nodiscard]] std::vector<SnapshotInfo> Tell(const KeptSnapshots::List& list,
                                             const SnapshotRange& range);

}  // namespace halograph
