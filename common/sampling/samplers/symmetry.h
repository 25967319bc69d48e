// Whether a relation is symmetric, as subgraphs by nodes, edges or walks need it: as many edges
// from u to v as from v to u. Asked of whoever has its parts, once a run, before the first
// minibatch.
#pragma once

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/sampling/topology_source.h"

namespace halograph {

// Asks about all of the graph's `num_parts` parts in one exchange. Each reads all edges that it
// owns of the relation. A relation that is not symmetric passes by a chance of 2^-64.
//   FailedPrecondition  it is not symmetric: names it, and what to do
//   InvalidArgument     it leads from one node type to another
//   Internal            answers that fit no question
//   else                as `ask`
[[nodiscard]] Status CheckSymmetric(const Schema& schema, int relation, int num_parts,
                                    const AskTopology& ask);

}  // namespace halograph
