#include "common/state/mutable_catalog.h"

#include <numeric>
#include <set>

namespace halograph {

namespace {

// ResolvedTensor::feature of mutable tensors: no index in a schema.
constexpr int kMutable = -2;

}  // namespace

void PartSplit::Split(const MutableTensor& tensor, std::span<const int64_t> ids,
                      std::span<const int64_t> positions) {
  const std::span<const int64_t> boundaries = tensor.placement->boundaries();
  const auto parts = static_cast<int>(boundaries.size()) - 1;
  targets_.resize(static_cast<size_t>(parts));
  std::iota(targets_.begin(), targets_.end(), 0);
  if (tensor.spec.placement != Placement::kHash) {
    static_cast<void>(split_.Split(boundaries, targets_, parts, ids, positions));
    shares_.assign(split_.shares().begin(), split_.shares().end());
    return;
  }
  places_.resize(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) places_[i] = tensor.placement->Position(ids[i]);
  // Shares of places, by their order in the list: from that the ids, and what the caller gave.
  static_cast<void>(split_.Split(boundaries, targets_, parts, places_));
  ids_.resize(ids.size());
  out_positions_.resize(ids.size());
  shares_.clear();
  size_t next = 0;
  for (const IdShare& share : split_.shares()) {
    const size_t begin = next;
    for (const int64_t entry : share.positions) {
      const auto at = static_cast<size_t>(entry);
      ids_[next] = ids[at];
      out_positions_[next++] = positions.empty() ? entry : positions[at];
    }
    shares_.push_back({std::span<const int64_t>(ids_).subspan(begin, next - begin),
                       std::span<const int64_t>(out_positions_).subspan(begin, next - begin)});
  }
}

Status MutableCatalog::Put(const MutableTensorSpec& spec) {
  HG_ASSIGN_OR_RETURN(std::unique_ptr<const RowPlacement> placement,
                      RowPlacement::Make(spec, schema_, book_));
  const MutexLock lock(mutex_);
  const MutableTensor*& known = known_[KeyOf(spec.ref)];
  if (known != nullptr && known->spec == spec) return OkStatus();
  MutableTensor& added = all_.emplace_back();
  added.spec = spec;
  added.placement = std::move(placement);
  added.resolved = {
      .edge = spec.ref.edge,
      .feature = kMutable,
      .spec = {.name = spec.ref.name, .dtype = spec.dtype, .rank = 2, .dim = spec.dim},
      .rows = added.placement->rows()};
  added.boundaries = added.placement->boundaries();
  known = &added;
  return OkStatus();
}

void MutableCatalog::Remove(const TensorRef& ref) {
  const MutexLock lock(mutex_);
  known_.erase(KeyOf(ref));
}

void MutableCatalog::KeepOnly(std::span<const TensorRef> refs) {
  const std::set<TensorRef> kept(refs.begin(), refs.end());
  const MutexLock lock(mutex_);
  std::erase_if(known_, [&](const auto& known) { return !kept.contains(known.second->spec.ref); });
}

StatusOr<const CatalogTensor*> MutableCatalog::Find(const TensorRef& ref) const {
  // Of the rows of no graph object no feature could be asked for.
  StatusOr<const CatalogTensor*> found = fixed_.Find(ref);
  if (found.ok()) return found;
  if (const MutableTensor* tensor = FindMutable(ref); tensor != nullptr) return tensor;
  return NotFound("{}; mutable tensors are: {}", Message(found.status()), Names());
}

const MutableTensor* MutableCatalog::FindMutable(const TensorRef& ref) const {
  const MutexLock lock(mutex_);
  const auto found = known_.find(KeyOf(ref));
  return found == known_.end() ? nullptr : found->second;
}

const MutableTensor* MutableCatalog::AsMutable(const CatalogTensor* tensor) {
  return tensor->resolved.feature == kMutable ? static_cast<const MutableTensor*>(tensor) : nullptr;
}

std::string MutableCatalog::Names() const {
  const MutexLock lock(mutex_);
  std::string names;
  for (const auto& [key, tensor] : known_) {
    if (names.size() >= 500) return names + ", ...";
    names += (names.empty() ? "" : ", ") + tensor->spec.ref.ToString();
  }
  return names.empty() ? "none" : names;
}

}  // namespace halograph
