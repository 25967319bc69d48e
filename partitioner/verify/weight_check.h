// Tables of weighted sampling of a partition folder against the features that they are of.
#pragma once

#include "common/graph/partition.h"
#include "partitioner/verify/findings.h"

namespace halograph {

// Makes every node's tables anew from the part's own feature; at most one difference a part and
// feature is noted. (That the feature is the input's: VerifyFeatures.)
void VerifyWeights(const PartitionSet& graph, Findings* findings);

}  // namespace halograph
