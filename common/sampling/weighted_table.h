// Making the tables of weighted sampling: SAMPLING.md, "Weighted picks". Done once, when a graph is
// partitioned.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/graph/weight_table.h"

namespace halograph {

// The weights of one node's in-edges may add up to this: any order of adding then stays finite.
inline constexpr double kMaxWeightSum = 0x1p1023;
// A node's in-edges: the 32nd bit of their number says something else.
inline constexpr int64_t kMaxWeightedDegree = (int64_t{1} << 31) - 1;

// As the contract adds them: in order.
[[nodiscard]] double SumOfWeights(std::span<const double> weights);

// Where a segment's tables are made: the arrays of WeightTable, to be written.
struct WeightTableRoom {
  AliasEntry* entries = nullptr;
  double* weights = nullptr;
  HeavyEdges* heavy = nullptr;
  uint32_t* drawable = nullptr;

  [[nodiscard]] WeightTable view() const { return {entries, weights, heavy, drawable}; }
};

// Tables in memory.
class WeightTableMemory {
 public:
  WeightTableMemory(int64_t nodes, int64_t edges)
      : entries_(static_cast<size_t>(edges)),
        weights_(static_cast<size_t>(edges)),
        heavy_(static_cast<size_t>(edges / kHeavyDegree)),
        drawable_(static_cast<size_t>(nodes)) {}

  [[nodiscard]] WeightTableRoom room() {
    return {entries_.data(), weights_.data(), heavy_.data(), drawable_.data()};
  }
  [[nodiscard]] const std::vector<AliasEntry>& entries() const { return entries_; }
  [[nodiscard]] const std::vector<double>& weights() const { return weights_; }
  [[nodiscard]] const std::vector<HeavyEdges>& heavy() const { return heavy_; }
  [[nodiscard]] const std::vector<uint32_t>& drawable() const { return drawable_; }

 private:
  std::vector<AliasEntry> entries_;
  std::vector<double> weights_;
  std::vector<HeavyEdges> heavy_;
  std::vector<uint32_t> drawable_;
};

// Not thread-safe; its memory (28 bytes an in-edge of the largest node) is reused.
class WeightTableBuilder {
 public:
  // Writes what belongs to one node, whose in-edges have these weights, in file order, and begin at
  // `begin` of the segment. Of `heavy` only the node's record is touched, if it has one.
  // Requires finite weights of at least 0, a sum of at most kMaxWeightSum, at most
  // kMaxWeightedDegree of them (asserted only: the partitioner refuses others with the place of the
  // edge).
  void Build(std::span<const double> weights, int64_t node, int64_t begin,
             const WeightTableRoom& room);

 private:
  [[nodiscard]] bool SetHeavyApart(std::span<const double> weights, HeavyEdges* heavy);
  void MakeAliases(std::span<const double> weights, AliasEntry* entries);

  std::vector<double> rest_;  // the weights without those set apart
  std::vector<double> shares_;
  std::vector<uint32_t> small_;
  std::vector<uint32_t> large_;
};

}  // namespace halograph
