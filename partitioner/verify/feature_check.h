// Feature rows of a partition folder against the input's files, byte by byte.
#pragma once

#include "common/graph/partition.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/verify/findings.h"
#include "partitioner/verify/node_maps.h"

namespace halograph {

// All features of all node types and relations. Requires schema and dataset to agree.
void VerifyFeatures(const Dataset& dataset, const PartitionSet& graph, const NodeMaps& maps,
                    Findings* findings);

}  // namespace halograph
