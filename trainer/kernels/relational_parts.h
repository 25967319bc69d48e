// What the Functions of relational layers have in common.
#pragma once

#include "trainer/blocks/relational_block.h"
#include "trainer/kernels/block_tensors.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// The edges of groups, which stand for destinations. Throws c10::Error if coefficients or degrees
// are not as many.
[[nodiscard]] inline BlockTensors EdgesOf(const RelationalBlock& block,
                                          const TransposedBlock* by_source) {
  CheckFactors(block.sources.size(), block.relations.size(), block.coefficients, block.degrees);
  return {ViewOf(block.indptr, torch::kInt64), ViewOf(block.sources, torch::kInt32), by_source,
          ViewOfAny(block.coefficients), ViewOfAny(block.degrees)};
}

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
