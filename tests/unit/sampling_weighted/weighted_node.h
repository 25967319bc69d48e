// One node's in-edges with weights, and its picks.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/sampling/weighted_drawer.h"
#include "common/sampling/weighted_table.h"
#include "common/storage/json.h"

namespace halograph {

class WeightedNode {
 public:
  explicit WeightedNode(const std::vector<double>& weights);

  [[nodiscard]] const std::vector<AliasEntry>& entries() const { return table_.entries(); }
  // Null if no edges are set apart.
  [[nodiscard]] const HeavyEdges* heavy() const { return row().heavy; }
  [[nodiscard]] WeightedRow row() const;
  // The positions picked, in order.
  [[nodiscard]] std::vector<int64_t> Pick(uint64_t node_key, int32_t fanout, bool replace);

 private:
  WeightTableMemory table_;
  WeightTable view_;
  WeightedDrawer drawer_;
};

// Weights from many decades: x^power for uniform x in (0, 1], every tenth 0 if `zeros`.
[[nodiscard]] std::vector<double> HeavyTail(uint64_t seed, int64_t count, double power, bool zeros);

// tests/data/sampling/golden_weighted_v1.json, which the oracle wrote.
[[nodiscard]] StatusOr<Json> LoadGoldenWeighted();
// Doubles as 16 hex digits each.
[[nodiscard]] std::vector<double> WeightsFromBits(const Json& list);

}  // namespace halograph
