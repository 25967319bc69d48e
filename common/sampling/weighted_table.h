// Making alias tables: SAMPLING.md, "Weighted picks". Done once, when a graph is partitioned.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/graph/weight_table.h"

namespace halograph {

// The weights of one node's in-edges may add up to this: any order of adding then stays finite.
inline constexpr double kMaxWeightSum = 0x1p1023;

// As the contract adds them: in order.
[[nodiscard]] double SumOfWeights(std::span<const double> weights);

// Not thread-safe; its memory (20 bytes an in-edge of the largest node) is reused.
class AliasTableBuilder {
 public:
  // The entries of one node, in file order; returns how many weights are above 0. `entries` has
  // room for weights.size().
  // Requires finite weights of at least 0, a sum of at most kMaxWeightSum, fewer than 2^32 of them
  // (asserted only: the partitioner refuses others with the place of the edge).
  uint32_t Build(std::span<const double> weights, AliasEntry* entries);

 private:
  std::vector<double> shares_;
  std::vector<uint32_t> small_;
  std::vector<uint32_t> large_;
};

}  // namespace halograph
