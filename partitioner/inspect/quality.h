// How good an assignment is, before anything is written: edge cut, replication, balance, in
// streamed passes over the edges. What `inspect` says of the partition folder written from it,
// exactly, unless parallel edges are dropped: the stream still has them, so edges and cut count
// them here.
//
// Owner rule and direction: an edge belongs to the owner of its destination, halo nodes of a
// partition are the sources of its edges owned elsewhere.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/inspect/inspect_graph.h"
#include "partitioner/methods/method.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

// For the halo nodes: a bit a node and partition.
inline constexpr int64_t kQualityBytes = int64_t{256} << 20;

// identity, build, options and the bytes of the parts stay empty. Memory: a kEdgePassBytes and at
// most `memory`, but never less than a bit a node; where that is not a bit for all partitions, they
// are counted in ranges, a pass over the edges each.
//   Internal         the assignment does not fit the data set (sizes, an owner that is none)
//   InvalidArgument  a task set that makes no sense (ResolveTaskColumns)
//   DataLoss         the input changed between passes
// and whatever the edge stream reports.
[[nodiscard]] StatusOr<GraphSummary> QualityOf(const Dataset& dataset, const Assignment& assignment,
                                               int parts, int64_t memory = kQualityBytes);

}  // namespace halograph
