// Aggregation of a relational layer with bases (R-GCN) over all relations in one pass, as one
// Function of libtorch's autograd. One product of its result with the bases below each other makes
// the layer; no relation has a product or a pass of its own.
#pragma once

#include <optional>

#include "trainer/blocks/relational_block.h"
#include "trainer/kernels/dense_layer.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// Row v: for each basis b, h.size(1) columns from b * h.size(1) on, the sum over relations r of
// coefficients[r, b] * mean(h[u]) over the sources u of v by r, as often as they are listed, each
// times the coefficient of its edge, divided by the group's degree, where the block has these;
// relations without edges into v count nothing. With `first_self` the row ends with
// h[first_self + v]. [destinations, (bases + self) * h.size(1)], differentiable in `h` and
// `coefficients`. NaN and infinity go where the composition takes them.
// `h`: the stacked inputs, `coefficients`: [relations, bases]; float32, contiguous, on the CPU.
// `by_source`: GroupsBySource of `block`; null: backward makes its own. Requires every source of
// `block` below h.size(0), and that both live until backward is done.
// Coefficients are summed over a fixed number of chunks, so the number of threads changes no bit.
// Throws c10::Error if a tensor is of another kind or shape, and says which.
[[nodiscard]] torch::Tensor RelationalAggregate(const torch::Tensor& h,
                                                const RelationalBlock& block,
                                                const torch::Tensor& coefficients,
                                                std::optional<int64_t> first_self = {},
                                                const TransposedBlock* by_source = nullptr);

// The same, composed of libtorch's operations, on any device and in any floating type: the oracle
// of the tests.
[[nodiscard]] torch::Tensor ComposedRelationalAggregate(const torch::Tensor& h,
                                                        const RelationalBlock& block,
                                                        const torch::Tensor& coefficients,
                                                        std::optional<int64_t> first_self = {});

// float32, on the CPU.
struct RelationalWeights {
  torch::Tensor coefficients;  // [relations, bases], contiguous
  torch::Tensor bases;         // [bases, out, in]
  torch::Tensor self;          // [out, in]
  torch::Tensor bias;          // [out]
};

// The layer of R-GCN as one Function. Row v: self h[first_self + v] + bias + the sum over relations
// r of (the sum over b of coefficients[r, b] bases[b]) mean(h[u]) over the sources u of v by r;
// then ReLU and dropout as `output` says. [destinations, out], differentiable in `h` and weights.
// Rows are aggregated, multiplied and finished a few at a time. The rest as RelationalAggregate's.
[[nodiscard]] torch::Tensor RelationalLayer(const torch::Tensor& h, const RelationalBlock& block,
                                            const RelationalWeights& weights, int64_t first_self,
                                            const LayerOutput& output,
                                            const TransposedBlock* by_source = nullptr);

// The same before ReLU and dropout, composed of libtorch's operations.
[[nodiscard]] torch::Tensor ComposedRelationalLayer(const torch::Tensor& h,
                                                    const RelationalBlock& block,
                                                    const RelationalWeights& weights,
                                                    int64_t first_self);

}  // namespace halograph
