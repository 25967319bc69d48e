// Measures how good an assignment is before anything is written: edge cut, replication and
// balance, from streamed passes over the edges. The figures are those that `inspect` gives for
// the partition folder. They differ only where parallel edges are dropped: the stream still has
// them, so they count here.
//
// An edge belongs to the owner of its destination. The halo nodes of a partition are the sources
// of its edges that another partition owns.
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
