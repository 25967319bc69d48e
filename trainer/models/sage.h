// GraphSAGE with the mean aggregator (Hamilton, Ying, Leskovec 2017, equation 1), on the blocks of
// a minibatch:
//   h_N(v) <- mean of h_u over the sampled in-neighbours u of v
//   h_v    <- ReLU(W_self h_v + W_neigh h_N(v) + b)       the last layer without ReLU
// For graphs of one node type and one relation. Knows no libtorch.
#pragma once

#include <cstdint>
#include <memory>

#include "trainer/models/registry.h"

namespace halograph {

struct SageOptions final : ModelOptions {
  int64_t hidden = 256;
  double dropout = 0.5;  // on the outputs of every layer but the last

  void AddRows(OptionTable& table) override {
    table.Add("hidden", &hidden, "width of the hidden layers").Range(1, 1 << 16).AllRanks();
    table.Add("dropout", &dropout, "share of a hidden layer's values that a step leaves out")
        .AtLeast(0)
        .Below(1)
        .AllRanks();
  }
};

[[nodiscard]] std::shared_ptr<Model> MakeSage(const SageOptions& options, const ModelShape& shape);

}  // namespace halograph
