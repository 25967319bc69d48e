// The one pass over a relation's edges that writing needs. Each edge, with its source
// renumbered, goes into the bucket of its destination.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "partitioner/write/buckets.h"
#include "partitioner/write/write_context.h"
#include "partitioner/write/writing_plan.h"

namespace halograph {

struct EdgeCounts {
  int64_t read = 0;                // in the input (with reverses that an option added)
  int64_t self_loops = 0;          // kept
  int64_t self_loops_dropped = 0;  // in the stream, by the reader's option
  int64_t duplicates = 0;          // found: edges after the first of their (source, destination)
  int64_t duplicates_dropped = 0;  // 0 or `duplicates`

  void Add(const EdgeCounts& other);
};

struct RelationBuckets {
  BucketRanges ranges;               // of destinations
  size_t first = 0;                  // the store's number of bucket 0
  std::vector<BucketedEdges> edges;  // per bucket
  EdgeCounts counts;                 // without duplicates
};

// Memory: as PlanWriting says of "bucketing edges".
//   OutOfRange         an id beyond its node count (file and position)
//   ResourceExhausted  disk full
//   DataLoss           the input changed since the first pass, or during this one
[[nodiscard]] StatusOr<RelationBuckets> BucketRelation(const WriteContext& context, int relation,
                                                       const WritingBudget& budget,
                                                       BucketStore* store);

}  // namespace halograph
