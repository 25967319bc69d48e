// What the Functions of relational layers have in common.
#pragma once

#include "trainer/kernels/block_tensors.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// The gradient of the stacked inputs of a relational layer, [num_sources, cols]: of those that the
// groups took the mean of, and of the nodes themselves.
// `groups`: the edges, groups standing for destinations. `means_grad`: the gradient of the groups'
// means, [groups, cols]. `self_grad`: that of rows `first_self` on of the inputs, or no tensor.
// Rows of both may be further apart than they are long.
[[nodiscard]] torch::Tensor BackToInputs(const BlockTensors& groups,
                                         const torch::Tensor& means_grad,
                                         const torch::Tensor& self_grad, int64_t first_self,
                                         int64_t num_sources);

}  // namespace halograph
