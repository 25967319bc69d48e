// edges/<relation>/features: rows in CSC order, gathered from the mapped input by the original
// edge ids that the topology files hold.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "partitioner/write/edge_bucketer.h"
#include "partitioner/write/halo_bits.h"
#include "partitioner/write/write_context.h"

namespace halograph {

// Requires the relation's original_ids.npy of every partition to be written.
//   InvalidArgument    a NaN in a row that is used (file, row, column), unless options.allow_nan
//   ResourceExhausted  disk full
[[nodiscard]] Status WriteEdgeFeatures(const WriteContext& context, int relation);

// edges/<relation> and nodes/<type>/halo_ids.npy of every partition: one pass over the edges of
// each relation into buckets of destinations, then, partition by partition, each bucket sorted and
// written front to back. Memory as PlanWriting says, whatever the number of edges. The stream
// ascends by original edge id, and so do a node's in-edges.

struct WrittenRelation {
  std::vector<int64_t> edges;  // per partition, after dropping
  EdgeCounts counts;
};

struct WrittenEdges {
  std::vector<WrittenRelation> relations;
  std::vector<HaloCounts> halo;  // per partition
};

// Writes indptr.npy, indices.npy and original_ids.npy of every relation and partition, and every
// halo_ids.npy. Edges that wait on disk do so in a file below context.ScratchFolder().
//   OutOfRange         an id beyond its node count (file and position)
//   ResourceExhausted  disk full
//   DataLoss           the input changed since the first pass, or meanwhile
[[nodiscard]] StatusOr<WrittenEdges> WriteEdges(const WriteContext& context);

}  // namespace halograph
