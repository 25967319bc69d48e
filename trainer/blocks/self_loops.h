// A block with an edge from each destination to itself, as GAT attends. Plain values.
#pragma once

#include "common/sampling/minibatch.h"

namespace halograph {

// For each destination, itself first, then the sources that the block lists, in their order.
// Without edge ids and weights, which self loops have none of. A self loop has coefficient 1, and
// counts 1 in the degree of each node that the block knows the degree of.
[[nodiscard]] Block WithSelfLoops(const Block& block);

}  // namespace halograph
