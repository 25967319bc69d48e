// The mean over sampled in-neighbours, on a block's CSC: forward in parallel over destinations,
// backward in parallel over sources by the transposed CSC. Each row is summed by one thread in a
// fixed order, so results do not depend on the number of threads.
#pragma once

#include "common/sampling/minibatch.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// Row i: the mean of rows h[u] over the sources u of destination i, as often as they are listed;
// zeros for a destination without edges. [destinations of block, h.size(1)], differentiable in h.
// `h`: float32, contiguous, on the CPU. Requires every index of `block` below h.size(0), and that
// `block` lives until backward is done. Throws c10::Error as libtorch does.
[[nodiscard]] torch::Tensor MeanAggregate(const torch::Tensor& h, const Block& block);

}  // namespace halograph
