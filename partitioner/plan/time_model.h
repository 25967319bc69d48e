// Predicts the time of methods and of writing: measures the speed of this machine for a fraction
// of a second, and scales the times of small trials by it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "common/base/status.h"
#include "partitioner/methods/method.h"
#include "partitioner/plan/trial.h"
#include "partitioner/stream/graph_counts.h"

namespace halograph {

// A random access without prefetch, as in METIS, or with prefetch, as in passes over edges.
enum class Access { kAtOnce, kAskedAhead };

// Nanoseconds of an access to a random place of an array of `bytes`. The array is no larger than a
// part of the free memory, nor than 1 GiB.
[[nodiscard]] double RandomAccessNs(int64_t bytes, Access access);

// Bytes a second of writing a new file below `folder`, synced; the file is removed.
[[nodiscard]] StatusOr<double> WriteSpeed(const std::filesystem::path& folder);

// The functions below predict the time on a large graph from the time on a small one. They are
// pure.
//
// A method makes `passes` over the edges. An edge costs what it cost in the trial, plus the slower
// memory: each random access goes to a large array instead of a small one. A pass takes at least
// the time of reading, which runs beside it. METIS works on every level of its coarsening, and a
// large graph has more levels. A method that gives METIS a coarse graph of a bounded size saves the
// time for the other edges.

// Nanoseconds of a random access: to the arrays of the trial, and to those of the planned graph.
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

// Writing takes a fixed time (files are synced) and a time per edge. Both come from two trials.
// Features are copied at the speed of the disk.
struct WritingTrials {
  double small_seconds = 0, large_seconds = 0;
  int64_t small_edges = 0, large_edges = 0;
};
[[nodiscard]] double PredictWriting(const WritingTrials& trials, int64_t edges,
                                    int64_t feature_bytes, double bytes_per_second,
                                    const MachineCost& cost);

}  // namespace halograph
