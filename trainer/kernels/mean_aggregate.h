// The mean over sampled in-neighbours: what GraphSAGE aggregates by.
#pragma once

#include "trainer/kernels/aggregate.h"

namespace halograph {

// Aggregate by Aggregation::kMean, with its contract.
[[nodiscard]] inline torch::Tensor MeanAggregate(const torch::Tensor& h, const Block& block) {
  return Aggregate(h, block, Aggregation::kMean);
}

}  // namespace halograph
