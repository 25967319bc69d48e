// Edges of a partition folder against the input's stream.
#pragma once

#include "common/base/status.h"
#include "common/graph/partition.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/readers/reader.h"
#include "partitioner/verify/findings.h"
#include "partitioner/verify/node_maps.h"

namespace halograph {

// One relation (index as in the schema, the same in the dataset): every edge of the input that
// `duplicates` keeps, once, between the right nodes, and no other; in-edges of a node ascend by
// original edge id. With kDrop the smallest id among equal (source, destination) is the one kept.
// Errors are those of reading the input.
[[nodiscard]] Status VerifyEdges(const Dataset& dataset, const PartitionSet& graph, int relation,
                                 EdgePolicy duplicates, const NodeMaps& maps, Findings* findings);

}  // namespace halograph
