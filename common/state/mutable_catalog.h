// The mutable tensors that a process knows, beside the features of the graph: what each is, and who
// owns its rows. What there is in a store, and what a client has been told.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/graph/owner_split.h"
#include "common/graph/row_source.h"
#include "common/state/mutable_tensor.h"
#include "common/state/placement.h"

namespace halograph {

// Immutable. As a feature of rank 2; boundaries: of positions; no row is here.
struct MutableTensor : CatalogTensor {
  MutableTensorSpec spec;
  std::unique_ptr<const RowPlacement> placement;
};

// Ids of one mutable tensor, shared out to partitions. Not thread-safe; memory is reused.
class PartSplit {
 public:
  // Requires ids within the tensor. `positions` as OwnerSplit::Split.
  void Split(const MutableTensor& tensor, std::span<const int64_t> ids,
             std::span<const int64_t> positions = {});
  // One a partition, maybe empty. Valid until the next Split; its ids as given.
  [[nodiscard]] std::span<const IdShare> shares() const { return shares_; }

 private:
  OwnerSplit split_;
  std::vector<int> targets_;            // partition p itself
  std::vector<int64_t> places_;         // of ids, where these are not ids
  std::vector<int64_t> ids_;            // of the shares, then
  std::vector<int64_t> out_positions_;  // the same
  std::vector<IdShare> shares_;
};

// Thread-safe. What it gives lives as long as the catalog, also of tensors that were dropped.
class MutableCatalog final : public TensorCatalog {
 public:
  // All three outlive it. `fixed`: the graph's features.
  MutableCatalog(const TensorCatalog* fixed, const Schema* schema, const PartitionBook* book)
      : fixed_(*fixed), schema_(*schema), book_(*book) {}

  // Adds a tensor, or replaces the one of its name.
  // NotFound: an unknown node type or relation.
  [[nodiscard]] Status Put(const MutableTensorSpec& spec);
  // Nothing happens if there is none.
  void Remove(const TensorRef& ref);
  // Removes all but these.
  void KeepOnly(std::span<const TensorRef> refs);

  // Features first. NotFound naming what is unknown, and what exists.
  [[nodiscard]] StatusOr<const CatalogTensor*> Find(const TensorRef& ref) const override;
  // Null: none.
  [[nodiscard]] const MutableTensor* FindMutable(const TensorRef& ref) const;
  // What Find gave, if it is a mutable tensor; else null.
  [[nodiscard]] static const MutableTensor* AsMutable(const CatalogTensor* tensor);
  // "node paper / emb, node author / emb"; "none".
  [[nodiscard]] std::string Names() const;

 private:
  using Key = std::tuple<bool, std::string, std::string>;
  [[nodiscard]] static Key KeyOf(const TensorRef& ref) { return {ref.edge, ref.type, ref.name}; }

  const TensorCatalog& fixed_;
  const Schema& schema_;
  const PartitionBook& book_;
  mutable Mutex mutex_;
  std::deque<MutableTensor> all_ HG_GUARDED_BY(mutex_);  // dropped ones too: few
  std::map<Key, const MutableTensor*> known_ HG_GUARDED_BY(mutex_);
};

}  // namespace halograph
