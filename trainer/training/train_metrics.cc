#include "trainer/training/train_metrics.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "common/metrics/buckets.h"

namespace halograph {
namespace {

constexpr std::string_view kSources[] = {"local", "remote", "cache"};  // in the order of PulledFrom

Labels LabelsOf(int rank) { return {{"rank", std::to_string(rank)}}; }

std::string TensorName(const TensorRef& tensor) { return tensor.type + "/" + tensor.name; }

}  // namespace

std::string_view PhaseName(RunPhase phase) {
  switch (phase) {
    case RunPhase::kStarting:
      return "starting";
    case RunPhase::kTraining:
      return "training";
    case RunPhase::kEvaluating:
      return "evaluating";
    case RunPhase::kInferring:
      return "inferring";
    case RunPhase::kEnding:
      return "ending";
  }
  return "";
}

StageState StepClock::Change(StageState to) {
  const MutexLock lock(mutex_);
  const double now = now_();
  SecondsOf(state_) += now - since_;
  since_ = now;
  return std::exchange(state_, to);
}

StageSeconds StepClock::Read() const {
  const MutexLock lock(mutex_);
  std::array<double, 4> seconds = seconds_;
  seconds[static_cast<size_t>(state_)] += now_() - since_;
  return {.busy = seconds[static_cast<size_t>(StageState::kBusy)],
          .starved = seconds[static_cast<size_t>(StageState::kStarved)],
          .blocked = seconds[static_cast<size_t>(StageState::kBlocked)]};
}

TrainMetrics::TrainMetrics(std::shared_ptr<MetricRegistry> registry, int rank, int world_size,
                           StageClock::Now now)
    : registry_(std::move(registry)),
      labels_(LabelsOf(rank)),
      world_size_(world_size),
      clock_(std::move(now)),
      steps_(registry_->AddCounter(
          {"halograph_trainer_steps_total", MetricUnit::kNone, "Steps done"}, labels_)),
      seeds_(registry_->AddCounter(
          {"halograph_trainer_seeds_total", MetricUnit::kNone, "Seeds of these steps"}, labels_)),
      step_seconds_(registry_->AddHistogram(
          {"halograph_trainer_step_seconds", MetricUnit::kSeconds, "How long a step took"},
          LatencyBounds(), labels_)),
      straggler_(registry_->AddGauge({"halograph_trainer_straggler_seconds", MetricUnit::kSeconds,
                                      "How much later than the mean of the ranks this one came to "
                                      "the meeting before the last"},
                                     labels_)),
      pulled_rows_(
          registry_->AddFoundCounters({"halograph_trainer_pull_rows_total", MetricUnit::kNone,
                                       "Rows that minibatches pulled, by where they came from"},
                                      {"tensor", "source"}, labels_)),
      pulled_bytes_(registry_->AddFoundCounters(
          {"halograph_trainer_pull_bytes_total", MetricUnit::kBytes, "Bytes of these rows"},
          {"tensor", "source"}, labels_)),
      sampled_edges(registry_->AddCounter({"halograph_trainer_sampled_edges_total",
                                           MetricUnit::kNone, "Edges that minibatches sampled"},
                                          labels_)),
      wait(registry_->AddCounter({"halograph_trainer_wait_seconds_total", MetricUnit::kSeconds,
                                  "Time that steps waited for their minibatch"},
                                 labels_)),
      sync_wait(
          registry_->AddCounter({"halograph_trainer_sync_wait_seconds_total", MetricUnit::kSeconds,
                                 "Time that steps waited for other ranks"},
                                labels_)),
      sample_threads(registry_->AddGauge({"halograph_trainer_sample_threads", MetricUnit::kNone,
                                          "Minibatches that are sampled at once"},
                                         labels_)) {
  registry_->AddGauge({"halograph_trainer_ranks", MetricUnit::kNone, "Ranks of the run"}, labels_)
      ->Set(world_size);
  readers_.push_back(registry_->ReadGauge(
      {"halograph_trainer_epoch", MetricUnit::kNone, "The epoch that runs, from 0"}, labels_,
      [this] { return static_cast<double>(epoch()); }));
  readers_.push_back(registry_->ReadGauges(
      {"halograph_trainer_loss", MetricUnit::kNone, "Loss of this rank's last step, a row"},
      {"rank"}, [this]() -> std::vector<MetricSample> {
        const double loss = loss_;
        if (std::isnan(loss)) return {};
        return {{{labels_.front().value}, loss}};
      }));
  readers_.push_back(
      registry_->ReadCounters({"halograph_trainer_stage_seconds_total", MetricUnit::kSeconds,
                               "What the threads of a stage did, all added up"},
                              {"rank", "stage", "state"}, [this] { return StageSamples(); }));
}

void TrainMetrics::TookStep(const Taken& step) {
  ++step_;
  steps_->Add();
  seeds_->Add(step.seeds);
  step_seconds_->Observe(step.seconds);
}

// Who waits less came later.
void TrainMetrics::SetWaits(double of_all, double own) {
  straggler_->Set(of_all / world_size_ - own);
}

void TrainMetrics::Add(const TensorRef& tensor, PulledFrom from, int64_t rows, int64_t bytes) {
  const std::string name = TensorName(tensor);
  const std::string_view source = kSources[static_cast<size_t>(from)];
  pulled_rows_->Of(name, source)->Add(rows);
  pulled_bytes_->Of(name, source)->Add(bytes);
}

TrainMetrics::Stages::Stages(std::shared_ptr<TrainMetrics> metrics, ReadStages read)
    : metrics_(std::move(metrics)), read_(std::move(read)) {
  const MutexLock lock(metrics_->mutex_);
  metrics_->reading_.push_back(&read_);
}

TrainMetrics::Stages::~Stages() {
  const MutexLock lock(metrics_->mutex_);
  std::erase(metrics_->reading_, &read_);
  for (const auto& [name, seconds] : read_()) metrics_->ended_[name] += seconds;
}

std::map<std::string, StageSeconds> TrainMetrics::StageTotals() const {
  const MutexLock lock(mutex_);
  std::map<std::string, StageSeconds> totals = ended_;
  for (const ReadStages* const read : reading_) {
    for (const auto& [name, seconds] : (*read)()) totals[name] += seconds;
  }
  return totals;
}

std::vector<MetricSample> TrainMetrics::StageSamples() const {
  std::map<std::string, StageSeconds> totals = StageTotals();
  totals["train"] = clock_.Read();
  const std::string& rank = labels_.front().value;
  std::vector<MetricSample> samples;
  for (const auto& [stage, seconds] : totals) {
    samples.push_back({{rank, stage, "busy"}, seconds.busy});
    samples.push_back({{rank, stage, "starved"}, seconds.starved});
    samples.push_back({{rank, stage, "blocked"}, seconds.blocked});
  }
  return samples;
}

}  // namespace halograph
