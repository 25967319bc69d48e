// LABOR-0's draws (Balin, Catalyurek: Layer-Neighbor Sampling, arXiv 2210.13339): an edge is taken
// by a number that its source alone gives it, so that destinations share sources. What is drawn:
// SAMPLING.md, "LABOR".
#pragma once

#include <cstdint>
#include <span>

#include "common/graph/topology.h"
#include "common/sampling/pick_drawer.h"

namespace halograph {

class LaborPicks final : public PickDrawer {
 public:
  LaborPicks(const DrawRule& rule, const RelationTopology& topology, uint64_t layer_key)
      : PickDrawer(rule), topology_(topology), layer_key_(layer_key) {}

  void Expect(std::span<const PickRow> rows, std::span<const uint64_t> node_keys) const override;
  void Draw(uint64_t node_key, const PickRow& row, PickScratch* scratch) const override;
  // Reads the in-edges, as Draw does.
  [[nodiscard]] int64_t Count(const PickRow& row) const override;
  [[nodiscard]] bool TakesAll(const PickRow& row) const override;

 private:
  template <typename See>
  void ForEachPick(const PickRow& row, See see) const;

  const RelationTopology& topology_;
  const uint64_t layer_key_;
};

}  // namespace halograph
