// In-edges as the sampler reads them: per relation, one CSC segment a partition that is here.
// Views only: spans into mapped files that the owner (Partition) keeps alive. Thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/graph/partition_book.h"
#include "common/graph/weight_table.h"

namespace halograph {

// Global source ids of one partition's in-edges of one relation. Ids are uint32 if the whole
// source type fits, else int64: exactly one of the two pointers is set.
struct CscSegment {
  IdRange nodes;                    // destinations that the segment owns
  const int64_t* indptr = nullptr;  // nodes.size() + 1 offsets, starting at 0
  const uint32_t* indices32 = nullptr;
  const int64_t* indices64 = nullptr;
  int64_t first_edge = 0;  // global edge id of position 0
  // One an edge feature of the relation, in the schema's order; null if none has a table.
  const WeightTable* weights = nullptr;

  [[nodiscard]] bool present() const { return indptr != nullptr; }
  [[nodiscard]] int64_t Source(int64_t position) const {
    return indices32 != nullptr ? int64_t{indices32[position]} : indices64[position];
  }
};

// All segments of one relation, indexed by partition; those not here are not present().
class RelationTopology {
 public:
  RelationTopology() = default;
  // `boundaries`: the destination type's P + 1 boundaries.
  RelationTopology(std::vector<int64_t> boundaries, std::vector<CscSegment> segments)
      : boundaries_(std::move(boundaries)), segments_(std::move(segments)) {}

  // The segment that owns destination `v`, which may be not present().
  // Requires 0 <= v < count of the destination type.
  [[nodiscard]] const CscSegment& Owner(int64_t v) const {
    return segments_.size() == 1 ? segments_[0] : segments_[FindRange(boundaries_, v)];
  }
  [[nodiscard]] bool Has(int64_t v) const {
    return v >= 0 && v < boundaries_.back() && Owner(v).present();
  }
  [[nodiscard]] int64_t num_destinations() const { return boundaries_.back(); }
  [[nodiscard]] std::span<const CscSegment> segments() const { return segments_; }
  // The same relation, of which only what one part owns is present.
  [[nodiscard]] RelationTopology Only(int part) const {
    std::vector<CscSegment> segments = segments_;
    for (size_t p = 0; p < segments.size(); ++p) {
      if (p != static_cast<size_t>(part)) segments[p] = {.nodes = segments[p].nodes};
    }
    return {boundaries_, std::move(segments)};
  }
  // All segments have one width; those without edges may have no indices at all.
  [[nodiscard]] bool HasWideIds() const {
    return std::any_of(segments_.begin(), segments_.end(),
                       [](const CscSegment& segment) { return segment.indices64 != nullptr; });
  }

 private:
  std::vector<int64_t> boundaries_;
  std::vector<CscSegment> segments_;
};

// One entry a relation, in the schema's order.
using Topology = std::vector<RelationTopology>;

}  // namespace halograph
