// The tables of weighted sampling as they lie in a partition folder (FORMAT.md): views of mapped
// files. How they are made and drawn from: common/sampling.
#pragma once

#include <array>
#include <cstdint>

namespace halograph {

// Which tables a manifest speaks of ("sampling" in the schema); others are refused.
inline constexpr int kWeightTableLayout = 2;

// One in-edge. A draw that lands here gives this edge or its alias, by the contract
// (common/sampling/SAMPLING.md, "Weighted picks").
struct AliasEntry {
  uint32_t threshold = 0;
  uint32_t alias = 0;  // a position in the same node's in-edge list
  bool operator==(const AliasEntry&) const = default;
};
static_assert(sizeof(AliasEntry) == 8);  // as in the file, little-endian

inline constexpr int64_t kHeavyEdges = 10;
// Only nodes with so many in-edges have edges set apart. So the record of a node whose in-edges
// begin at `begin` can be number begin / kHeavyDegree, which no other node's is.
inline constexpr int64_t kHeavyDegree = 64;

// The heaviest in-edges of a node, drawn apart from the others.
struct HeavyEdges {
  double rest = 0;                                   // the sum of the other weights
  std::array<double, kHeavyEdges> weights = {};      // descending
  std::array<uint32_t, kHeavyEdges> positions = {};  // in the node's in-edge list
  bool operator==(const HeavyEdges&) const = default;
};
static_assert(sizeof(HeavyEdges) == 128);  // two cache lines, as in the file

// Of one segment and one edge feature. All pointers are set, or none: no table by this feature.
struct WeightTable {
  static constexpr uint32_t kTopHeavy = uint32_t{1} << 31;

  const AliasEntry* entries = nullptr;  // beside `indices`, one an edge
  const double* weights = nullptr;      // the same
  const HeavyEdges* heavy = nullptr;    // edges / kHeavyDegree records
  // Per destination: how many of its in-edges have a weight above 0; with kTopHeavy where some are
  // set apart.
  const uint32_t* drawable = nullptr;

  [[nodiscard]] bool present() const { return entries != nullptr; }
  [[nodiscard]] int64_t Drawable(int64_t node) const { return drawable[node] & ~kTopHeavy; }
  // Null if none is set apart. `begin` and `degree`: of the node's in-edges.
  [[nodiscard]] const HeavyEdges* Heavy(int64_t node, int64_t begin, int64_t degree) const {
    const bool top_heavy = (drawable[node] & kTopHeavy) != 0 && degree >= kHeavyDegree;
    return top_heavy ? heavy + begin / kHeavyDegree : nullptr;
  }
};

}  // namespace halograph
