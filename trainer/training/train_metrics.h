// What a rank tells of its run while it goes on: metrics (docs/metrics.md, "Trainers"), and where
// it is. Counted where things happen, read by whoever scrapes. Thread-safe. Knows no libtorch.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/pulled_rows.h"
#include "common/base/mutex.h"
#include "common/metrics/found_series.h"
#include "common/metrics/registry.h"
#include "trainer/pipeline/stage_clock.h"

namespace halograph {

// What a run is doing. A process is ready from kTraining on.
enum class RunPhase : uint8_t { kStarting, kTraining, kEvaluating, kInferring, kEnding };
[[nodiscard]] std::string_view PhaseName(RunPhase phase);  // "starting", ...

// What the one thread that takes the steps does, as the stage `train`. Of the time of evaluation,
// nothing counts. Thread-safe.
class StepClock {
 public:
  explicit StepClock(StageClock::Now now) : now_(std::move(now)), since_(now_()) {}

  // From now on; what it did before.
  StageState Change(StageState to);
  // kParked: evaluation, and before the first step.
  [[nodiscard]] StageSeconds Read() const;

  // While it lives.
  class [[nodiscard]] Doing {
   public:
    Doing(StepClock* clock, StageState what) : clock_(clock), before_(clock->Change(what)) {}
    ~Doing() { static_cast<void>(clock_->Change(before_)); }
    Doing(const Doing&) = delete;
    Doing& operator=(const Doing&) = delete;

   private:
    StepClock* const clock_;
    const StageState before_;
  };

 private:
  [[nodiscard]] double& SecondsOf(StageState state) HG_REQUIRES(mutex_) {
    return seconds_[static_cast<size_t>(state)];
  }

  const StageClock::Now now_;
  mutable Mutex mutex_;
  StageState state_ HG_GUARDED_BY(mutex_) = StageState::kParked;
  double since_ HG_GUARDED_BY(mutex_);
  std::array<double, 4> seconds_ HG_GUARDED_BY(mutex_) = {};
};

class TrainMetrics final : public PulledRows {
 public:
  // Of rank `rank` of `world_size`. The registry may have those of other ranks, too.
  TrainMetrics(std::shared_ptr<MetricRegistry> registry, int rank, int world_size,
               StageClock::Now now = StageClock::Steady());

  // A step that is done.
  struct Taken {
    double seconds = 0;  // with all that it waited for
    int64_t seeds = 0;   // of this rank
  };
  void TookStep(const Taken& step);
  // Of a run that goes on: the steps that were done before.
  void GoOnFrom(int64_t steps_done) { step_ = steps_done; }
  void SetEpoch(int64_t epoch) { epoch_ = epoch; }
  // Of this rank's last step. Before the first there is none.
  void SetLoss(double loss) { loss_ = loss; }
  void SetPhase(RunPhase phase) { phase_ = phase; }
  // While it lives; then as before.
  class [[nodiscard]] InPhase {
   public:
    InPhase(TrainMetrics* metrics, RunPhase phase)
        : metrics_(metrics), before_(metrics->phase_.exchange(phase)) {}
    ~InPhase() { metrics_->phase_ = before_; }
    InPhase(const InPhase&) = delete;
    InPhase& operator=(const InPhase&) = delete;

   private:
    TrainMetrics* const metrics_;
    const RunPhase before_;
  };
  // The sum of what all ranks waited for others in one step, and this one. Of several ranks.
  void SetWaits(double of_all, double own);

  void Add(const TensorRef& tensor, PulledFrom from, int64_t rows, int64_t bytes) override;

  // The stages of a pipeline by name, as sums over threads, which only grow.
  using ReadStages = std::function<std::map<std::string, StageSeconds>()>;
  // Adds up what `read` gives while the handle lives; what it gave last counts from then on.
  class [[nodiscard]] Stages {
   public:
    Stages(std::shared_ptr<TrainMetrics> metrics, ReadStages read);
    ~Stages();
    Stages(const Stages&) = delete;
    Stages& operator=(const Stages&) = delete;

   private:
    const std::shared_ptr<TrainMetrics> metrics_;
    const ReadStages read_;
  };

  [[nodiscard]] RunPhase phase() const { return phase_; }
  [[nodiscard]] int64_t epoch() const { return epoch_; }
  // Done: of the run, or where models are averaged of this rank's parts, since it began or went on.
  [[nodiscard]] int64_t step() const { return step_; }
  [[nodiscard]] StepClock& clock() { return clock_; }
  // For what else counts in this process: it outlives the rank's stores.
  [[nodiscard]] MetricRegistry* registry() { return registry_.get(); }

 private:
  [[nodiscard]] std::map<std::string, StageSeconds> StageTotals() const;
  [[nodiscard]] std::vector<MetricSample> StageSamples() const;

  const std::shared_ptr<MetricRegistry> registry_;
  const Labels labels_;
  const int world_size_;
  StepClock clock_;
  std::atomic<RunPhase> phase_{RunPhase::kStarting};
  std::atomic<int64_t> epoch_{0}, step_{0};
  std::atomic<double> loss_{std::numeric_limits<double>::quiet_NaN()};

  Counter* const steps_;
  Counter* const seeds_;
  Histogram* const step_seconds_;
  Gauge* const straggler_;
  FoundCounters* const pulled_rows_;
  FoundCounters* const pulled_bytes_;

 public:
  // Counted by the loop.
  Counter* const sampled_edges;
  Counter* const wait;
  Counter* const sync_wait;
  Gauge* const sample_threads;

 private:
  mutable Mutex mutex_;
  std::map<std::string, StageSeconds> ended_ HG_GUARDED_BY(mutex_);  // of pipelines that are gone
  std::vector<const ReadStages*> reading_ HG_GUARDED_BY(mutex_);
  std::vector<MetricReader> readers_;  // last: they read the above
};

}  // namespace halograph
