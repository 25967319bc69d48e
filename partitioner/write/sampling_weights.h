// Writes edges/<relation>/sampling/<name>: tables with which the sampler draws in-edges with
// probabilities proportional to an edge feature (common/sampling/SAMPLING.md, "Weighted picks").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "partitioner/write/write_context.h"

namespace halograph {

// Marks every edge feature of these names (spec.sampling): tables will be made of them.
//   NotFound         no relation has an edge feature of a name; those that exist are listed
//   InvalidArgument  a feature of more than one column
[[nodiscard]] Status MarkSamplingWeights(const std::vector<std::string>& names, Dataset* dataset);

// Bytes of the tables of one relation's marked features.
[[nodiscard]] int64_t WeightTableBytes(const InputRelation& relation, int64_t edges, int64_t nodes);

// Writes the tables of the relation's marked features for every partition; returns how many nodes
// have in-edges, but none that can be drawn by a feature (over all of them). Requires the
// relation's other files to be written. Memory: O(largest in-degree).
//   InvalidArgument    a weight that is NaN, infinite or negative (file, relation, edge), a node
//                      whose weights add up to more than 2^1023, or with 2^31 in-edges or more
//   ResourceExhausted  disk full
[[nodiscard]] StatusOr<int64_t> WriteWeightTables(const WriteContext& context, int relation);

}  // namespace halograph
