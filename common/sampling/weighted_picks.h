// Weighted draws behind the kernel's seam (layer_draws.h): finds a destination's table and draws
// from it. What is drawn: SAMPLING.md, "Weighted picks".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/graph/topology.h"
#include "common/sampling/layer_draws.h"

namespace halograph {

class WeightedPicks final : public PickDrawer {
 public:
  // `feature`: index of an edge feature of the relation whose tables every segment has that is
  // here (FindSamplingWeight). Points into the mapped tables, which must outlive it.
  WeightedPicks(const RelationTopology& topology, int feature, int32_t fanout, bool replace);

  void Expect(std::span<const PickRow> rows, std::span<const uint64_t> node_keys) const override;
  void Draw(uint64_t node_key, const PickRow& row, PickScratch* scratch) const override;
  [[nodiscard]] int64_t Count(const PickRow& row) const override;

 private:
  [[nodiscard]] WeightedRow Find(const PickRow& row) const;

  std::vector<WeightTable> tables_;  // by segment
  int32_t fanout_;
  bool replace_;
};

}  // namespace halograph
