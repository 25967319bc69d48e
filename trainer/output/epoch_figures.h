// What an epoch of training comes to, in figures: one table says what each is called in the log,
// how the ranks' figures become one, and what it is divided by. Knows no libtorch.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/storage/json.h"

namespace halograph {

// A rank adds to them during the epoch; after the ranks have met they are the run's.
enum class Figure : uint8_t {
  kLoss,        // summed over rows; after Finish the mean
  kLossWeight,  // of these rows
  kTrainSeeds,
  kTime,  // when it ended, seconds since 1970
  kLearningRate,
  kSeconds,  // training without evaluation
  kEvalSeconds,
  kSampleWait,   // seconds that the loop stood still for sampling
  kFeatureWait,  // and for features
  kCompute,      // seconds of forward, backward and optimizer
  kSyncWait,     // seconds of all-reducing gradients
  kPush,         // seconds of pushing gradients of learnt inputs
  kSteps,
  kSampledEdges,
  kLocalBytes,   // of features
  kRemoteBytes,  // of features
  kRemoteSampleBytes,
  kRounds,          // of communication; after Finish the mean over minibatches
  kFailovers,       // calls that went on at another server of their part
  kCutNodes,        // whose neighbours were not known (CallStats::cut_nodes)
  kCacheHits,       // remote rows that the cache had
  kCacheMisses,     // and that it fetched
  kCacheRefetches,  // of these, rows that it had fetched before
  kCacheEnough,     // memory of a cache that would have kept these, bytes; 0: there is no cache
  kRowForecast,     // how many of both were expected; 0: not known
  kDeviceHits,      // rows of features that the device had
  kDeviceSaved,     // bytes of these, which were neither gathered nor copied
  kMinibatches,     // with seeds
  kCount,
};

enum class OverRanks : uint8_t {
  kSum,
  kMean,
  kOwn,  // each rank keeps its own: they are equal, or rank 0's is what is wanted
};

struct FigureRow {
  Figure figure;
  std::string_view key;  // in the log, and in checkpoints: a figure keeps its key
  OverRanks over_ranks;
  bool whole = false;           // a whole number in the log
  Figure per = Figure::kCount;  // what the sum is divided by; kCount: nothing
  bool logged = true;           // is in the log
};

// In the order of Figure.
[[nodiscard]] std::span<const FigureRow> FigureRows();

// What a step goes through (trainer/pipeline/stage_pipeline.h), and the training that it ends in.
enum class StepPart : uint8_t {
  kSchedule,
  kSample,
  kCompact,
  kPlan,
  kGather,
  kLearn,
  kMove,
  kTrain,
  kCount
};

// Seconds of a stage: at work, without work, and with work that has no room.
struct StageFigures {
  double busy = 0;
  double starved = 0;
  double blocked = 0;
};

// The stage that an epoch waits for.
struct StageBound {
  std::string_view stage;
  double share = 0;  // of the epoch's time, that it was busy
  // Which server it waited for longest, by this rank's calls, and for what share of the epoch's
  // time; empty: for none to speak of.
  std::string server = {};
  double server_share = 0;
};

// Not thread-safe.
class EpochFigures {
 public:
  [[nodiscard]] double& operator[](Figure figure) { return values_[static_cast<size_t>(figure)]; }
  [[nodiscard]] double operator[](Figure figure) const {
    return values_[static_cast<size_t>(figure)];
  }

  // Of the stage that is called so; others are not kept.
  void AddStage(std::string_view name, const StageFigures& spent);
  // The stage that is called so waited so long for a server, in seconds; of several steps at
  // once, the mean over them.
  void AddServerWait(std::string_view name, const std::string& server, double seconds);
  // Makes the stage of training of what the loop's own figures come to: it starves while it waits
  // for minibatches, and is blocked while it waits for other ranks and for pushes. Before ToSum.
  void SetTraining();
  [[nodiscard]] const StageFigures& stage(StepPart part) const {
    return stages_[static_cast<size_t>(part)];
  }
  // After Finish. Training, unless it starves for a tenth of the time; else the busiest of the
  // others. None: that stage is busy for less than half of the time.
  [[nodiscard]] std::optional<StageBound> BoundBy() const;

  // Those that the ranks add up, as one buffer: sum it over ranks, element by element.
  [[nodiscard]] std::vector<double> ToSum() const;
  // Takes the sums and makes means and quotients of them. `sums` is as long as ToSum()'s.
  void Finish(std::span<const double> sums, int world_size);

  // Adds the figures of an epoch that one rank ran alone and finished: as if they were of one more
  // epoch of this rank, and not yet finished.
  void Add(const EpochFigures& finished);

  // {key: value} of all that are logged; `stages` of those that took time, and `server_wait_s` of
  // those that waited for servers.
  [[nodiscard]] Json ToJson() const;

 private:
  std::array<double, static_cast<size_t>(Figure::kCount)> values_{};
  std::array<StageFigures, static_cast<size_t>(StepPart::kCount)> stages_{};  // means over ranks
  // Per stage, seconds by server. Each rank keeps its own: ranks may name servers differently.
  std::array<std::map<std::string, double>, static_cast<size_t>(StepPart::kCount)> waits_{};
};

}  // namespace halograph
