// Simple graph convolution (Wu et al. 2019, equation 8): as many steps of GCN's propagation as
// there are layers, and one linear layer.
//   h_v <- sum over u in N(v) and v itself of h_u / sqrt(d_u d_v)       once for each of --layers
//   W h_v + b
// Degrees are as GCN's (trainer/kernels/normalized_sum.h). For graphs of one node type and one
// relation, meant for undirected ones. Knows no libtorch.
#pragma once

#include <memory>

#include "trainer/models/layer_options.h"
#include "trainer/models/registry.h"

namespace halograph {

// It has no hidden layers, and so none of their options.
struct SgcOptions final : ModelOptions, LayerOptions {
  void AddRows(OptionTable& table) override { AddInputRows(table); }
};

[[nodiscard]] std::shared_ptr<Model> MakeSgc(const SgcOptions& options, const ModelShape& shape);

}  // namespace halograph
