// Writes edges/<relation>: topology by way of buckets, and features in CSC order, gathered from
// the mapped input by the original edge ids in the topology files.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "partitioner/write/edge_bucketer.h"
#include "partitioner/write/halo_bits.h"
#include "partitioner/write/write_context.h"

namespace halograph {

// Writes edges/<relation>/features, after the relation's original_ids.npy of every partition.
//   InvalidArgument    a NaN in a row that is used (file, row, column), unless options.allow_nan; a
//                      number there that a tensor's spec.dtype cannot hold (StoreRow)
//   ResourceExhausted  disk full
[[nodiscard]] Status WriteEdgeFeatures(const WriteContext& context, int relation);

struct WrittenRelation {
  std::vector<int64_t> edges;  // per partition, after dropping
  EdgeCounts counts;
};

struct WrittenEdges {
  std::vector<WrittenRelation> relations;
  std::vector<HaloCounts> halo;  // per partition
};

// Writes indptr.npy, indices.npy and original_ids.npy of every relation and partition, and every
// halo_ids.npy. One pass over the edges of each relation puts them into buckets of destinations;
// then each bucket is sorted and written front to back, partition by partition. Memory is that of
// PlanWriting, whatever the number of edges. Buckets on disk are a file below
// context.ScratchFolder(). The stream ascends by original edge id, and so do a node's in-edges.
//   OutOfRange         an id beyond its node count (file and position)
//   ResourceExhausted  disk full
//   DataLoss           the input changed since the first pass, or meanwhile
[[nodiscard]] StatusOr<WrittenEdges> WriteEdges(const WriteContext& context);

}  // namespace halograph
