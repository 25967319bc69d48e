#include "partitioner/plan/time_model.h"

#include <algorithm>

#include "partitioner/methods/metis/metis_method.h"

namespace halograph {
namespace {

// Of writing.
constexpr double kAccessesPerPass = 2;
// METIS' own random accesses an edge and level: matching, contracting, refining.
constexpr double kMetisAccesses = 6;
// Up to so many arcs methods call METIS several times and take the best.
constexpr int64_t kSmallArcs = int64_t{4} << 20;

}  // namespace

double PredictAssign(const MethodTrial& trial, const GraphCounts& counts,
                     const MethodProfile& profile, const MachineCost& cost) {
  const auto edges = static_cast<double>(counts.num_edges());
  const double scale = edges / static_cast<double>(std::max<int64_t>(trial.size.edges, 1));
  double work = trial.seconds * scale;
  double memory = profile.accesses * trial.passes * cost.asked_ahead.added();
  if (profile.metis_edges > 0) {
    if (counts.num_edges() > kSmallArcs) work /= trial.attempts;
    const double share =
        std::min(1.0, static_cast<double>(profile.metis_edges) / std::max(edges, 1.0));
    const double levels = MetisLevels(counts.num_nodes(), counts.num_edges());
    work *= 1 + share * (levels / MetisLevels(trial.size.nodes, trial.size.edges) - 1);
    memory += share * kMetisAccesses * levels * cost.at_once.added();
  }
  const double reading = trial.passes * edges * cost.read_ns * 1e-9;
  return std::max(work + memory * edges, reading);
}

double PredictWriting(const WritingTrials& trials, int64_t edges, int64_t feature_bytes,
                      double bytes_per_second, const MachineCost& cost) {
  const auto more = static_cast<double>(trials.large_edges - trials.small_edges);
  const double an_edge =
      more > 0 ? std::max(0.0, trials.large_seconds - trials.small_seconds) / more : 0;
  const double fixed =
      std::max(0.0, trials.small_seconds - an_edge * static_cast<double>(trials.small_edges));
  return fixed +
         static_cast<double>(edges) *
             std::max(an_edge + kAccessesPerPass * cost.at_once.added(), cost.read_ns * 1e-9) +
         static_cast<double>(feature_bytes) / std::max(bytes_per_second, 1.0);
}

}  // namespace halograph
