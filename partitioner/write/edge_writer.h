// edges/<relation>: in-edges of every partition's core nodes as CSC, from two passes over the edge
// stream and in O(nodes) memory: in-degrees first, then each edge straight to its place in mapped
// files. The stream ascends by original edge id, and so do a node's in-edges.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "partitioner/write/write_context.h"

namespace halograph {

struct EdgeCounts {
  int64_t read = 0;                // in the input (with reverses that an option added)
  int64_t self_loops = 0;          // kept
  int64_t self_loops_dropped = 0;  // in the stream, by the reader's option
  int64_t duplicates = 0;          // found: edges after the first of their (source, destination)
  int64_t duplicates_dropped = 0;  // 0 or `duplicates`

  void Add(const EdgeCounts& other);
};

struct WrittenRelation {
  std::vector<int64_t> edges;  // per partition, after dropping
  EdgeCounts counts;
  int64_t undrawable_nodes = 0;  // with in-edges, but by some sampling weight none to draw
};

// Writes indptr.npy, indices.npy, original_ids.npy, features/*.npy and sampling/*/*.npy of one
// relation for every partition.
//   InvalidArgument    a NaN among the features (file, row, column), unless options.allow_nan;
//                      a weight that WriteWeightTables refuses
//   ResourceExhausted  disk full
//   DataLoss           the two passes gave different edges
[[nodiscard]] StatusOr<WrittenRelation> WriteRelation(const WriteContext& context, int relation);

}  // namespace halograph
