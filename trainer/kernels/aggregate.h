// Sum, mean and maximum over sampled in-neighbours, on a block's CSC: forward in parallel over
// destinations, backward in parallel over sources by the transposed CSC. Each row is made by one
// thread in a fixed order, so results do not depend on the number of threads.
#pragma once

#include "common/sampling/minibatch.h"
#include "trainer/blocks/block_transpose.h"
#include "trainer/kernels/block_on_device.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

enum class Aggregation { kSum, kMean, kMax };

// Row i: the sum, mean or maximum of rows h[u] over the sources u of destination i, as often as
// they are listed, each times the coefficient of its edge, where the block has these; a mean
// divides by the degree that the block gives, else by the number of edges (gather_rows.h); zeros
// for a destination without edges. [destinations of block, h.size(1)], differentiable in h. Of
// equal values the one listed first is the maximum, and it alone gets the gradient. NaN counts as
// larger than all else: the first NaN is the maximum, and gets the gradient. So it is with
// libtorch's max over a dimension.
// `h`: float32, contiguous, on the CPU. `by_source`: of `block`; null: backward makes its own.
// Requires every index of `block` below h.size(0), and that both live until backward is done.
// Throws c10::Error as libtorch does, and for the maximum of a block with coefficients.
[[nodiscard]] torch::Tensor Aggregate(const torch::Tensor& h, const Block& block, Aggregation how,
                                      const TransposedBlock* by_source = nullptr);

// The same of a block wherever it is. On a device the way back to `h` needs the block by source.
[[nodiscard]] torch::Tensor Aggregate(const torch::Tensor& h, const BlockRef& block,
                                      Aggregation how);

// The same, composed of libtorch's operations, on any device and in any floating type: the oracle
// of the tests. The maximum takes a row for each destination and place up to the largest degree.
[[nodiscard]] torch::Tensor ComposedAggregate(const torch::Tensor& h, const Block& block,
                                              Aggregation how);

}  // namespace halograph
