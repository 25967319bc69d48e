#include "trainer/output/epoch_figures.h"

#include <algorithm>
#include <cmath>

namespace halograph {
namespace {

constexpr bool kWhole = true;
constexpr bool kLogged = true;

constexpr FigureRow kRows[] = {
    {Figure::kLoss, "loss", OverRanks::kSum, !kWhole, Figure::kLossWeight},
    {Figure::kLossWeight, "loss_weight", OverRanks::kSum, !kWhole, Figure::kCount, !kLogged},
    {Figure::kTrainSeeds, "train_seeds", OverRanks::kSum, kWhole},
    {Figure::kTime, "time", OverRanks::kOwn},
    {Figure::kLearningRate, "lr", OverRanks::kOwn},
    {Figure::kSeconds, "seconds", OverRanks::kOwn},
    {Figure::kEvalSeconds, "eval_s", OverRanks::kOwn},
    {Figure::kSampleWait, "sample_wait_s", OverRanks::kMean},
    {Figure::kFeatureWait, "feature_wait_s", OverRanks::kMean},
    {Figure::kCompute, "compute_s", OverRanks::kMean},
    {Figure::kSyncWait, "sync_wait_s", OverRanks::kMean},
    {Figure::kPush, "push_s", OverRanks::kMean},
    {Figure::kSteps, "steps", OverRanks::kOwn, kWhole},
    {Figure::kSampledEdges, "sampled_edges", OverRanks::kSum, kWhole},
    {Figure::kLocalBytes, "local_bytes", OverRanks::kSum, kWhole},
    {Figure::kRemoteBytes, "remote_bytes", OverRanks::kSum, kWhole},
    {Figure::kRemoteSampleBytes, "remote_sample_bytes", OverRanks::kSum, kWhole},
    {Figure::kRounds, "rounds_per_minibatch", OverRanks::kSum, !kWhole, Figure::kMinibatches},
    {Figure::kFailovers, "failovers", OverRanks::kSum, kWhole},
    {Figure::kCutNodes, "cut_nodes", OverRanks::kSum, kWhole},
    {Figure::kCacheHits, "cache_hits", OverRanks::kSum, kWhole},
    {Figure::kCacheMisses, "cache_misses", OverRanks::kSum, kWhole},
    {Figure::kCacheRefetches, "cache_refetches", OverRanks::kSum, kWhole},
    {Figure::kCacheEnough, "cache_enough_bytes", OverRanks::kMean, kWhole},
    {Figure::kRowForecast, "cache_forecast", OverRanks::kSum, kWhole},
    {Figure::kDeviceHits, "device_cache_hits", OverRanks::kSum, kWhole},
    {Figure::kDeviceSaved, "device_cache_saved_bytes", OverRanks::kSum, kWhole},
    {Figure::kMinibatches, "minibatches", OverRanks::kSum, !kWhole, Figure::kCount, !kLogged},
};

// In the order of StepPart.
constexpr std::string_view kStages[] = {"schedule", "sample", "compact", "plan",
                                        "gather",   "learn",  "move",    "train"};
static_assert(std::size(kStages) == static_cast<size_t>(StepPart::kCount));

// Training that starves for a smaller share of the time waits for nobody.
constexpr double kStarves = 0.1;
// A stage that is busy for a smaller share of the time bounds nothing.
constexpr double kBounds = 0.5;
// A stage that waits for a server for a smaller share of the time is held up by something else.
constexpr double kServerCounts = 0.1;

// None: there is no stage of this name.
std::optional<size_t> FindStage(std::string_view name) {
  const auto found = std::find(std::begin(kStages), std::end(kStages), name);
  if (found == std::end(kStages)) return {};
  return static_cast<size_t>(found - std::begin(kStages));
}

constexpr bool InOrder() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<size_t>(kRows[i].figure) != i) return false;
  }
  return std::size(kRows) == static_cast<size_t>(Figure::kCount);
}
static_assert(InOrder());

}  // namespace

std::span<const FigureRow> FigureRows() { return kRows; }

void EpochFigures::AddStage(std::string_view name, const StageFigures& spent) {
  const std::optional<size_t> found = FindStage(name);
  if (!found.has_value()) return;
  StageFigures& stage = stages_[*found];
  stage.busy += spent.busy;
  stage.starved += spent.starved;
  stage.blocked += spent.blocked;
}

void EpochFigures::AddServerWait(std::string_view name, const std::string& server, double seconds) {
  const std::optional<size_t> found = FindStage(name);
  if (found.has_value()) waits_[*found][server] += seconds;
}

void EpochFigures::SetTraining() {
  StageFigures& train = stages_[static_cast<size_t>(StepPart::kTrain)];
  train.starved = (*this)[Figure::kSampleWait] + (*this)[Figure::kFeatureWait];
  train.blocked = (*this)[Figure::kSyncWait] + (*this)[Figure::kPush];
  train.busy = std::max(0.0, (*this)[Figure::kSeconds] - train.starved - train.blocked);
}

std::optional<StageBound> EpochFigures::BoundBy() const {
  const StageFigures& train = stage(StepPart::kTrain);
  const double all = train.busy + train.starved + train.blocked;
  auto bound = static_cast<size_t>(StepPart::kTrain);
  if (train.starved >= kStarves * all) {
    bound = 0;
    for (size_t i = 1; i < static_cast<size_t>(StepPart::kTrain); ++i) {
      if (stages_[i].busy > stages_[bound].busy) bound = i;
    }
  }
  if (all <= 0 || stages_[bound].busy < kBounds * all) return {};
  StageBound by{.stage = kStages[bound], .share = std::min(1.0, stages_[bound].busy / all)};
  for (const auto& [server, seconds] : waits_[bound]) {
    // Calls are counted when their step is taken, and stages as they work: a little may differ.
    const double share = std::min(by.share, seconds / all);
    if (share < kServerCounts || share <= by.server_share) continue;
    by.server = server;
    by.server_share = share;
  }
  return by;
}

std::vector<double> EpochFigures::ToSum() const {
  std::vector<double> sums;
  for (const FigureRow& row : kRows) {
    if (row.over_ranks != OverRanks::kOwn) sums.push_back((*this)[row.figure]);
  }
  for (const StageFigures& stage : stages_) {
    sums.insert(sums.end(), {stage.busy, stage.starved, stage.blocked});
  }
  return sums;
}

void EpochFigures::Finish(std::span<const double> sums, int world_size) {
  size_t next = 0;
  for (const FigureRow& row : kRows) {
    if (row.over_ranks == OverRanks::kOwn) continue;
    (*this)[row.figure] = sums[next++] / (row.over_ranks == OverRanks::kMean ? world_size : 1);
  }
  for (StageFigures& stage : stages_) {
    for (double* const seconds : {&stage.busy, &stage.starved, &stage.blocked}) {
      *seconds = sums[next++] / world_size;
    }
  }
  for (const FigureRow& row : kRows) {
    if (row.per != Figure::kCount) (*this)[row.figure] /= (*this)[row.per];
  }
}

void EpochFigures::Add(const EpochFigures& finished) {
  for (const FigureRow& row : kRows) {
    double value = finished[row.figure];
    // What was divided by 0 was 0.
    if (row.per != Figure::kCount) value = finished[row.per] > 0 ? value * finished[row.per] : 0;
    (*this)[row.figure] += value;
  }
  for (size_t i = 0; i < stages_.size(); ++i) {
    AddStage(kStages[i], finished.stages_[i]);
    for (const auto& [server, seconds] : finished.waits_[i]) waits_[i][server] += seconds;
  }
}

Json EpochFigures::ToJson() const {
  Json json = Json::object();
  for (const FigureRow& row : kRows) {
    if (!row.logged) continue;
    const double value = (*this)[row.figure];
    if (row.whole) {
      json[std::string(row.key)] = std::llround(value);
    } else {
      json[std::string(row.key)] = value;
    }
  }
  Json stages = Json::object();
  for (size_t i = 0; i < stages_.size(); ++i) {
    const auto& [busy, starved, blocked] = stages_[i];
    if (busy + starved + blocked <= 0) continue;
    stages[std::string(kStages[i])] = {{"busy", busy}, {"starved", starved}, {"blocked", blocked}};
  }
  if (!stages.empty()) json["stages"] = std::move(stages);
  Json waits = Json::object();
  for (size_t i = 0; i < waits_.size(); ++i) {
    if (!waits_[i].empty()) waits[std::string(kStages[i])] = waits_[i];
  }
  if (!waits.empty()) json["server_wait_s"] = std::move(waits);
  return json;
}

}  // namespace halograph
