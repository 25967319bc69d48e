// A block with an edge from each destination to itself, as GAT attends. Plain values.
#pragma once

#include "common/sampling/minibatch.h"

namespace halograph {

// For each destination, itself first, then the sources that the block lists, in their order.
// Without edge ids and weights, which self loops have none of.
[[nodiscard]] Block WithSelfLoops(const Block& block);

}  // namespace halograph
