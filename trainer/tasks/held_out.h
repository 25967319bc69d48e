// Whether the graph has edges that a task holds out, which training would see in neighbourhoods;
// and whether it has pairs that are given as negatives.
#pragma once

#include <cstdint>

#include "client/graph_store.h"
#include "common/base/status.h"
#include "trainer/distributed/communicator.h"
#include "trainer/seeds/edge_rows.h"

namespace halograph {

// What is looked for.
enum class HeldOutRows : uint8_t { kEdges, kGivenNegatives };

// Of a set, over all ranks.
struct HeldOutFound {
  int64_t rows = 0;       // that were looked for
  int64_t present = 0;    // that the graph has
  int64_t ways_back = 0;  // whose way back it has (ReverseRelations of pipeline/edge_seeds.h)
  // The relation that most of `present` are of, and how many; -1: none is there.
  int relation = -1;
  int64_t of_relation = 0;
};

// Looks for every edge of `rows`, a rank's of a set, among the in-edges of its destination, and for
// its way back among those of its source; or for every negative that is given, which has no way
// back. The in-edges of a node are read once a relation, those of kHeldOutNodesTogether nodes at a
// time. Takes 10 bytes an edge. Ranks have uneven work, and meet meanwhile (WorkTogether). So all
// ranks must call it, those without rows too. The same on all ranks. Errors as GraphStore::Sample
// and WorkTogether.
inline constexpr int64_t kHeldOutNodesTogether = 256;
[[nodiscard]] StatusOr<HeldOutFound> FindHeldOut(GraphStore& graph, const EdgeRows& rows,
                                                 Communicator& ranks, const CancelToken* cancel,
                                                 HeldOutRows which = HeldOutRows::kEdges);

}  // namespace halograph
