// Weighted draws behind the kernel's seam (pick_drawer.h): finds a destination's table and draws
// from it. What is drawn: SAMPLING.md, "Weighted picks".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/graph/topology.h"
#include "common/sampling/pick_drawer.h"

namespace halograph {

class WeightedPicks final : public PickDrawer {
 public:
  // Of a rule with a weight whose tables every segment has that is here. Points into the mapped
  // tables, which must outlive it.
  WeightedPicks(const DrawRule& rule, const RelationTopology& topology);

  void Expect(std::span<const PickRow> rows, std::span<const uint64_t> node_keys) const override;
  void Draw(uint64_t node_key, const PickRow& row, PickScratch* scratch) const override;
  [[nodiscard]] int64_t Count(const PickRow& row) const override;

 private:
  [[nodiscard]] WeightedRow Find(const PickRow& row) const;

  std::vector<WeightTable> tables_;  // by segment
};

}  // namespace halograph
