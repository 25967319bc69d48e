// Stores over a graph of which some partitions are mapped here and the rest is behind another
// store, of any kind (DistDGLv2 sections 5.4 and 5.5.1): each layer and each pull asks the other
// store only for what partitions not mapped here own, and serves the rest while the answers are
// under way. What they give is what either kind of store gives over the whole graph, bit for bit.
#pragma once

#include <memory>

#include "client/local/mapped_graph.h"

namespace halograph {

// Both require a graph of the same identity (CheckSameGraph) as what is mapped.

// Requires the topology of the mapped partitions.
[[nodiscard]] std::unique_ptr<GraphStore> MakeOwnPartGraphStore(
    std::shared_ptr<const MappedGraph> own, std::shared_ptr<GraphStore> rest);

// Requires the features of the mapped partitions. Task sets and what changes are the rest's matter.
[[nodiscard]] std::unique_ptr<RowStore> MakeOwnPartRowStore(std::shared_ptr<const MappedGraph> own,
                                                            std::shared_ptr<RowStore> rest);

}  // namespace halograph
