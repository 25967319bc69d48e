#include "trainer/output/epoch_figures.h"

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
    {Figure::kMinibatches, "minibatches", OverRanks::kSum, !kWhole, Figure::kCount, !kLogged},
};

constexpr bool InOrder() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<size_t>(kRows[i].figure) != i) return false;
  }
  return std::size(kRows) == static_cast<size_t>(Figure::kCount);
}
static_assert(InOrder());

}  // namespace

std::span<const FigureRow> FigureRows() { return kRows; }

std::vector<double> EpochFigures::ToSum() const {
  std::vector<double> sums;
  for (const FigureRow& row : kRows) {
    if (row.over_ranks != OverRanks::kOwn) sums.push_back((*this)[row.figure]);
  }
  return sums;
}

void EpochFigures::Finish(std::span<const double> sums, int world_size) {
  size_t next = 0;
  for (const FigureRow& row : kRows) {
    if (row.over_ranks == OverRanks::kOwn) continue;
    (*this)[row.figure] = sums[next++] / (row.over_ranks == OverRanks::kMean ? world_size : 1);
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
  return json;
}

}  // namespace halograph
