// The graph convolutional network (Kipf and Welling 2017, equation 2) on the blocks of a minibatch:
//   h_v <- ReLU(W (sum over u in N(v) and v itself of h_u / sqrt(d_u d_v)) + b)
// the last layer without ReLU; d is a node's degree plus one, for the self loop that the layer
// adds. What a degree is in a sampled block: trainer/kernels/normalized_sum.h.
// For graphs of one node type and one relation, meant for undirected ones. Knows no libtorch.
#pragma once

#include <memory>

#include "trainer/models/layer_options.h"
#include "trainer/models/registry.h"

namespace halograph {

struct GcnOptions final : ModelOptions, LayerOptions {
  void AddRows(OptionTable& table) override { AddLayerRows(table); }
};

[[nodiscard]] std::shared_ptr<Model> MakeGcn(const GcnOptions& options, const ModelShape& shape);

}  // namespace halograph
