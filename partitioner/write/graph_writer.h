// Writes a whole partition folder from a data set and an assignment. All partition methods share
// it.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "common/graph/manifest.h"
#include "partitioner/write/edge_bucketer.h"
#include "partitioner/write/write_context.h"

namespace halograph {

struct WrittenGraph {
  GraphManifest manifest;
  EdgeCounts edges;              // over all relations
  int64_t undrawable_nodes = 0;  // with in-edges, but by some sampling weight none to draw
};

// Writes everything below context.folder, an empty folder: per part the arrays, then its manifest;
// manifest.json last, with `graph_options` as its options. Nothing is renamed into place: see
// PartitionGraph. Errors as those of the writers, and
//   ResourceExhausted  the file system has less room than the output, and the edges on their way
//                      there, take (checked first)
[[nodiscard]] StatusOr<WrittenGraph> WriteGraph(const WriteContext& context, Json graph_options);

// Bytes that the output takes at least (halo ids aside, which are not known before).
[[nodiscard]] int64_t EstimateOutputBytes(const Dataset& dataset);
// With what is there beside it while it is made, in a run that may hold `memory`.
[[nodiscard]] int64_t NeededDiskBytes(const Dataset& dataset, int parts, int64_t memory);

}  // namespace halograph
