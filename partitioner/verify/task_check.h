// Task sets of a partition folder against the input.
#pragma once

#include "common/base/status.h"
#include "common/graph/partition.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/verify/findings.h"
#include "partitioner/verify/node_maps.h"

namespace halograph {

// Every row of every task set, with the partition that owns it (a node's owner; of a pair that of
// its second column, of a wider tuple of its first), in input order, seeds and negatives of a
// relation as global ids, the rest byte by byte. Requires schema and dataset to agree.
[[nodiscard]] Status VerifyTasks(const Dataset& dataset, const PartitionSet& graph,
                                 const NodeMaps& maps, Findings* findings);

}  // namespace halograph
