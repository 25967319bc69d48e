// What layers on a device are composed of: rows picked and summed along the edges of a block, on
// any device. Each sum is made front to back by the same call forward and backward (the way back
// runs over the block by source), without atomic additions: so two runs give the same bits, and
// sums are the CPU kernels' bit for bit. The block must live until backward is done.
#pragma once

#include "trainer/kernels/block_on_device.h"
#include "trainer/kernels/dense_layer.h"
#include "trainer/kernels/dropout.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// Row v: the sum of rows h[u] over the sources u of v, as often as they are listed, each times the
// coefficient of its edge, where the block has these; zeros without edges. [destinations,
// h.size(1)], float32. `h`: [sources, columns], float32. Differentiable; throws c10::Error on the
// way back where the block has no form by source.
[[nodiscard]] torch::Tensor SumOfSources(const torch::Tensor& h, const BlockOnDevice& block);

// [edges, columns]: the row of each edge's source, or destination. Differentiable, as SumOfSources.
[[nodiscard]] torch::Tensor RowsOfSources(const torch::Tensor& h, const BlockOnDevice& block);
[[nodiscard]] torch::Tensor RowsOfDestinations(const torch::Tensor& h, const BlockOnDevice& block);
// Row v: the sum of the rows of the edges into v. `edges`: [edges, columns], float32.
[[nodiscard]] torch::Tensor SumOfEdges(const torch::Tensor& edges, const BlockOnDevice& block);
// Row v: the largest values among the edges into v, -infinity without edges. No gradient.
[[nodiscard]] torch::Tensor LargestOfEdges(const torch::Tensor& edges, const BlockOnDevice& block);

// In-edges of each destination, int32 [destinations].
[[nodiscard]] torch::Tensor DegreesOf(const BlockOnDevice& block);

// The reciprocals of what means divide by, float32 [destinations]: the block's degrees, or the
// number of its edges; 0 where that is 0.
[[nodiscard]] torch::Tensor ReciprocalsOf(const BlockOnDevice& block);
// Of each source the sum of the coefficients of its edges, float32 [num_sources]. The block must
// have coefficients; it needs no form by source.
[[nodiscard]] torch::Tensor CoefficientsBySource(const BlockOnDevice& block, int64_t num_sources);

// Whether `dropout` keeps the value at (row, column): bool [rows, cols], made on `device`.
[[nodiscard]] torch::Tensor KeptPlacesOn(const torch::Device& device, const Dropout& dropout,
                                         int64_t rows, int64_t cols);
// `values` [rows, columns] less what `dropout` leaves out, the rest scaled. Differentiable.
[[nodiscard]] torch::Tensor DropOnDevice(const torch::Tensor& values, const Dropout& dropout);
// z finished as `output` says. Differentiable.
[[nodiscard]] torch::Tensor FinishOnDevice(const torch::Tensor& z, const LayerOutput& output);

}  // namespace halograph
