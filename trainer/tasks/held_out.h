// Whether the graph has edges that a task holds out: training would see them in neighbourhoods.
#pragma once

#include <string_view>

#include "client/graph_store.h"
#include "common/base/status.h"
#include "trainer/pipeline/edge_rows.h"

namespace halograph {

// Looks for every edge of `rows`, a rank's of the set named, among the in-edges of its destination,
// a few edges at a time.
//   FailedPrecondition  some are there: how many, and of which relation the first is
//   else                as GraphStore::Sample
[[nodiscard]] Status CheckHeldOut(GraphStore& graph, std::string_view set, const EdgeRows& rows,
                                  const CancelToken* cancel);

}  // namespace halograph
