// One layer of GraphSAGE with the mean aggregator: aggregation, product, bias, ReLU and the
// dropout of its own output as one Function of libtorch's autograd. Composed of libtorch's
// operations, the same takes several times as long (docs/performance.md).
#pragma once

#include "common/sampling/minibatch.h"
#include "trainer/blocks/block_transpose.h"
#include "trainer/kernels/block_on_device.h"
#include "trainer/kernels/dense_layer.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// float32, on the device of the rows.
struct SageWeights {
  torch::Tensor self;      // [out, in]
  torch::Tensor neighbor;  // [out, in]
  torch::Tensor bias;      // [out]
};

// Row v: ReLU(self h_v + neighbor mean(h_u) + bias), then dropout, over the sources u of
// destination v in `block`, by its coefficients and degrees (aggregate.h); the mean of no sources
// is 0. [destinations, out], of the precision of `output`, differentiable in h and weights. `h`:
// [sources, in], float32, or bfloat16, as is its gradient then, contiguous, on the CPU; its first
// rows are the destinations'. Requires every index of `block` below h.size(0), and that `block`
// lives until backward is done. The number of threads changes no bit. Throws c10::Error as libtorch
// does.
[[nodiscard]] torch::Tensor SageLayer(const torch::Tensor& h, const Block& block,
                                      const SageWeights& weights, const LayerOutput& output);
// The same with the block given by its sources too, which backward else finds out. Null: it does.
// Must live as long as `block`. `precision`: of the rows [h_v, mean(h_u)], of which the products
// are made (dense_products.h); the mean itself is summed in float32.
[[nodiscard]] torch::Tensor SageLayer(const torch::Tensor& h, const Block& block,
                                      const TransposedBlock* by_source, const SageWeights& weights,
                                      const LayerOutput& output,
                                      Precision precision = Precision::kFloat32);

// The same of a block wherever it is. On a device it is composed of libtorch's operations there;
// the way back to `h` needs the block by source.
[[nodiscard]] torch::Tensor SageLayer(const torch::Tensor& h, const BlockRef& block,
                                      const SageWeights& weights, const LayerOutput& output,
                                      Precision precision = Precision::kFloat32);

// The same of rows [h_v, mean(h_u)] that were made before, [destinations, 2 in], float32 or
// bfloat16, on the CPU; without a gradient of theirs. Best made with RowsWithRoom: others are
// copied.
[[nodiscard]] torch::Tensor SageLayerOfRows(const torch::Tensor& self_and_mean,
                                            const SageWeights& weights, const LayerOutput& output);

// SageLayer, composed of libtorch's operations and Aggregate: the oracle of the tests, and what
// a new layer starts with. The same values are left out.
[[nodiscard]] torch::Tensor ComposedSageLayer(const torch::Tensor& h, const Block& block,
                                              const SageWeights& weights,
                                              const LayerOutput& output);

}  // namespace halograph
