// How fast this machine is at what partitioning is made of. Each takes a fraction of a second.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "common/base/status.h"
#include "partitioner/methods/method.h"
#include "partitioner/plan/trial.h"
#include "partitioner/stream/graph_counts.h"

namespace halograph {

// As METIS makes it, or asked for some accesses ahead as passes over edges do.
enum class Access { kAtOnce, kAskedAhead };

// Nanoseconds of an access to a random place of an array of `bytes`. The array is no larger than a
// part of the free memory, nor than 1 GiB.
[[nodiscard]] double RandomAccessNs(int64_t bytes, Access access);

// Bytes a second of writing a new file below `folder`, synced; the file is removed.
[[nodiscard]] StatusOr<double> WriteSpeed(const std::filesystem::path& folder);

// From what a method took on a small graph to what it will take on a large one. Pure functions.
//
// A method makes `passes` over the edges. What an edge costs in one is what it cost in the trial,
// plus what memory adds: for each random access of the method, one to the large arrays in place of
// one to the small ones. A pass takes no less than reading does, which goes on beside it. METIS
// works on every level of its coarsening, of which a large graph has more; a method that gives it a
// coarse graph of a bounded size spares it the rest of the edges.

// Of a random access: to the arrays of the trial, and of the graph that is planned for.
struct AccessCost {
  double small_ns = 0;
  double large_ns = 0;

  // Seconds that one more takes.
  [[nodiscard]] double added() const { return std::max(0.0, large_ns - small_ns) * 1e-9; }
};

struct MachineCost {
  AccessCost at_once;      // METIS' accesses, and of writing, whose sorting asks for nothing ahead
  AccessCost asked_ahead;  // a method's own
  double read_ns = 0;      // reading an edge from the input
};

// Seconds of Assign of the method that was tried.
[[nodiscard]] double PredictAssign(const MethodTrial& trial, const GraphCounts& counts,
                                   const MethodProfile& profile, const MachineCost& cost);

// Writing takes a fixed time (files are synced) and a time an edge, both from two trials; features
// are copied at the disk's speed.
struct WritingTrials {
  double small_seconds = 0, large_seconds = 0;
  int64_t small_edges = 0, large_edges = 0;
};
[[nodiscard]] double PredictWriting(const WritingTrials& trials, int64_t edges,
                                    int64_t feature_bytes, double bytes_per_second,
                                    const MachineCost& cost);

}  // namespace halograph
