// GraphSAGE (Hamilton, Ying, Leskovec 2017) on the blocks of a minibatch:
//   --aggregator mean (equation 1)
//     h_N(v) <- mean of h_u over the sampled in-neighbours u of v
//   --aggregator pool (equation 3)
//     h_N(v) <- per column the largest of ReLU(W_pool h_u + b_pool)
//   h_v <- ReLU(W_self h_v + W_neigh h_N(v) + b)       the last layer without ReLU
// A node without sampled in-neighbours has zeros for h_N(v). For graphs of one node type and one
// relation. Knows no libtorch.
#pragma once

#include <cstdint>
#include <memory>

#include "trainer/models/layer_options.h"
#include "trainer/models/registry.h"

namespace halograph {

enum class SageAggregator : uint8_t { kMean, kPool };

struct SageOptions final : ModelOptions, LayerOptions {
  SageAggregator aggregator = SageAggregator::kMean;

  void AddRows(OptionTable& table) override {
    AddLayerRows(table);
    table
        .AddChoice("aggregator", &aggregator,
                   {{"mean", SageAggregator::kMean}, {"pool", SageAggregator::kPool}},
                   "of neighbours: their mean, or the maximum of a dense layer of theirs")
        .AllRanks();
  }
  Status TakesCoefficients() const override {
    if (aggregator == SageAggregator::kMean) return OkStatus();
    return InvalidArgument(
        "--aggregator pool takes the largest value of neighbours, which coefficients of edges "
        "cannot "
        "weigh: give --aggregator mean");
  }
  // Only the mean of inputs that nothing is left out of can be made before the step.
  ModelNeeds NeedsOf(const ModelNeeds& kind) const override {
    ModelNeeds needs = kind;
    if (aggregator != SageAggregator::kMean || input_dropout > 0) {
      needs.input_rows = InputRows::kNodes;
    }
    // What is pooled has parameters before it.
    if (aggregator == SageAggregator::kPool) needs.by_source = BySource::kAll;
    return needs;
  }
};

[[nodiscard]] std::shared_ptr<Model> MakeSage(const SageOptions& options, const ModelShape& shape);

}  // namespace halograph
