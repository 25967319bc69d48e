#include "partitioner/plan/time_model.h"

#include <span>
#include <vector>

#include "common/base/prefetch.h"
#include "common/base/rng.h"
#include "common/base/stopwatch.h"
#include "common/storage/file.h"
#include "common/storage/fused_array.h"
#include "partitioner/methods/metis/metis_method.h"
#include "partitioner/stream/ahead.h"
#include "partitioner/stream/memory_plan.h"

namespace halograph {

namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;
constexpr int64_t kAccesses = int64_t{1} << 22;
constexpr int64_t kAhead = 2 * kFarAhead;  // both ends of an edge
constexpr int64_t kWriteBytes = int64_t{128} << 20;

}  // namespace

double RandomAccessNs(int64_t bytes, Access access) {
  const int64_t limit = std::min(kMostBytes, AvailableMemory() / 4);
  const auto count = static_cast<size_t>(std::clamp<int64_t>(bytes, 4096, limit) / 4);
  const FusedArray<uint32_t> array(count);
  for (size_t i = 0; i < count; i += 1024) array.data()[i] = 1;  // pages are there
  const Stopwatch watch;
  const auto place = [&](int64_t i) {
    return array.data() + Bounded(Mix(static_cast<uint64_t>(i)), count);
  };
  for (int64_t i = 0; i < kAccesses; ++i) {
    if (access == Access::kAskedAhead) PrefetchToWrite(place(i + kAhead));
    ++*place(i);
  }
  return watch.Seconds() * 1e9 / static_cast<double>(kAccesses);
}

StatusOr<double> WriteSpeed(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "write-speed";
  const std::vector<std::byte> block(size_t{1} << 20);
  const Stopwatch watch;
  HG_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(path));
  for (int64_t written = 0; written < kWriteBytes; written += static_cast<int64_t>(block.size())) {
    HG_RETURN_IF_ERROR(writer.Append(std::span(block)));
  }
  HG_RETURN_IF_ERROR(writer.Close());
  const double seconds = watch.Seconds();
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return static_cast<double>(kWriteBytes) / std::max(seconds, 1e-6);
}

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
