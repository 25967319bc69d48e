// The second level of a partitioning (DistDGLv2, section 5.3): the parts, each divided among the
// trainers of its machine. Sub-parts balance what parts do and cut few of the part's own edges.
// Nodes are numbered sub-part by sub-part, and trainers take equal ranges of the sorted seeds, so a
// trainer's minibatches have many neighbours in common.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "partitioner/methods/method.h"
#include "partitioner/stream/graph_counts.h"
#include "partitioner/stream/memory_plan.h"

namespace halograph {

// The method by which the parts that `method` made are divided: the method itself where it is
// METIS' (metis, lp-metis, stream-metis), "auto" where owners came from files, and else
// stream-metis, which holds no edges in memory either. `auto` stands for itself: see AddSubParts.
//   InvalidArgument  random: its parts have no edges to speak of; it names methods that do
[[nodiscard]] StatusOr<std::string> MethodOfSubParts(std::string_view method);

// What AddSubParts holds on a graph of these counts, beside what it is given: as if parts were
// even, with as many of the edges as nodes. `options` as for the first level. `method`: as
// MethodOfSubParts gives it.
[[nodiscard]] MemoryPlan PlanSubParts(const GraphCounts& counts, const std::string& method,
                                      const MethodOptions& options, int trainers_per_part);

// Divides each part of `assignment` into `trainers_per_part` >= 1 sub-parts, part by part, by the
// first level's method, balance and seed; 1 changes nothing. Fills sub_parts and num_sub_parts, and
// adds "sub_parts" to the report: {"method", "nodes": {type: [part][sub-part]}, "constraints": the
// largest max_over_mean of any part}. `method`: as MethodOfSubParts gives it; for "auto" the one
// that the report says was chosen. Files are written below options.scratch, which exists; they are
// gone afterwards, and never take more than 8 bytes an edge.
//   InvalidArgument    a part has fewer nodes than sub-parts
//   ResourceExhausted  no memory, or the largest part takes more than options.memory leaves (the
//                      plan goes by even parts)
// and whatever the method, and reading and writing edges, report.
[[nodiscard]] Status AddSubParts(const Dataset& dataset, const std::string& method,
                                 const MethodOptions& options, int trainers_per_part,
                                 Assignment* assignment);

}  // namespace halograph
