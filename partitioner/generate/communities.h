// What the generators of communities describe in the same way: pairs of nodes, and features that
// tell a node's community.
#pragma once

#include <cstdint>
#include <functional>

#include "partitioner/generate/corner_features.h"
#include "partitioner/generate/generated_graph.h"
#include "partitioner/generate/node_pairs.h"

namespace halograph {

// Edges, features and labels; the rest is the caller's to fill. `pairs` and `features` must outlive
// the result, and so must what `community_of` refers to.
[[nodiscard]] GeneratedGraph DescribeCommunities(const NodePairs& pairs,
                                                 const CornerFeatures& features,
                                                 std::function<int64_t(int64_t node)> community_of);

}  // namespace halograph
