// A block with an edge from each destination to itself, as GAT attends.
#pragma once

#include "common/sampling/minibatch.h"
#include "trainer/kernels/block_tensors.h"

namespace halograph {

// For each destination, itself first, then the sources that the block lists, in their order. The
// arrays are the result's own, so they live as long as whoever keeps the tensors; the block need
// not. Without `by_source`.
[[nodiscard]] BlockTensors WithSelfLoops(const Block& block);

}  // namespace halograph
