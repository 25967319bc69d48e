// What a step of each rank comes to.
#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "client/ctl/why/draw.h"

namespace halograph::ctl {
namespace {

// The order in which minibatches go through stages. Those of other names come last.
constexpr std::array<std::string_view, 7> kOrder = {"schedule", "sample", "compact", "plan",
                                                    "gather",   "learn",  "move"};
constexpr char kComputingStage[] = "train";

constexpr char kSteps[] = "halograph_trainer_steps_total";
constexpr char kStageSeconds[] = "halograph_trainer_stage_seconds_total";

double Share(std::optional<double> seconds, double all) {
  return seconds && all > 0 ? std::clamp(*seconds / all, 0.0, 1.0) : 0;
}

std::optional<double> PerSecond(const TrainerEvidence& trainer, const char* name) {
  const auto value = trainer.metrics.Counter(name);
  return value ? std::optional(*value / std::max(trainer.seconds, 1e-9)) : std::nullopt;
}

std::optional<StageShares> SharesOf(const MetricChange& metrics, const std::string& name,
                                    const LabelValues& rank) {
  const auto seconds = [&](const char* state) {
    LabelValues labels = {{"stage", name}, {"state", state}};
    labels.insert(rank.begin(), rank.end());
    return metrics.Counter(kStageSeconds, labels).value_or(0);
  };
  StageShares shares{name, seconds("busy"), seconds("starved"), seconds("blocked")};
  const double all = shares.busy + shares.starved + shares.blocked;
  if (all <= 0) return {};
  shares.busy /= all;
  shares.starved /= all;
  shares.blocked /= all;
  return shares;
}

std::vector<StageShares> StagesOf(const MetricChange& metrics, const LabelValues& rank) {
  std::vector<StageShares> stages;
  for (const std::string& name : metrics.ValuesOf(kStageSeconds, "stage")) {
    if (name == kComputingStage) continue;
    if (auto shares = SharesOf(metrics, name, rank)) stages.push_back(*std::move(shares));
  }
  const auto place = [](const StageShares& stage) {
    return std::find(kOrder.begin(), kOrder.end(), stage.name);
  };
  std::stable_sort(stages.begin(), stages.end(),
                   [&](const auto& one, const auto& other) { return place(one) < place(other); });
  return stages;
}

// `number`: -1: the trainer does not say it.
RankPicture DrawRank(const TrainerEvidence& trainer, int number, LabelValues labels) {
  const MetricChange& metrics = trainer.metrics;
  RankPicture rank{.name = number >= 0 ? fmt::format("rank {}", number) : trainer.address,
                   .address = trainer.address,
                   .rank = number,
                   .world_size = trainer.world_size,
                   .evidence = &trainer,
                   .labels = std::move(labels)};
  rank.steps = metrics.Counter(kSteps, rank.labels).value_or(0);
  rank.step_seconds = trainer.seconds / std::max(rank.steps, 1.0);
  const auto waits = metrics.Counter("halograph_trainer_wait_seconds_total", rank.labels);
  const auto meets = metrics.Counter("halograph_trainer_sync_wait_seconds_total", rank.labels);
  rank.processors = PerSecond(trainer, "process_cpu_seconds_total");
  rank.waited_for_processors = PerSecond(trainer, "process_processor_wait_seconds_total");
  rank.usable_processors = metrics.Gauge("process_usable_processors");
  rank.waiting = Share(waits, trainer.seconds);
  rank.meeting = Share(meets, trainer.seconds);
  static_cast<void>(metrics.Counter(kStageSeconds));  // noted, if it is missing
  rank.stages = StagesOf(metrics, rank.labels);
  // What is left of a step, unless the stage tells better.
  rank.computing = waits ? std::max(0.0, 1 - rank.waiting - rank.meeting) : 0;
  if (const auto shares = SharesOf(metrics, kComputingStage, rank.labels)) {
    rank.computing = shares->busy;
    if (!waits) rank.waiting = shares->starved;
    rank.pushing = std::max(0.0, shares->blocked - rank.meeting);
    // Where computing is said to go on while it waits for other ranks.
    rank.computing = std::clamp(rank.computing, 0.0,
                                std::max(0.0, 1 - rank.waiting - rank.meeting - rank.pushing));
  }
  return rank;
}

}  // namespace

void DrawRanks(const TrainerEvidence& trainer, std::vector<RankPicture>* ranks) {
  const std::set<std::string> found = trainer.metrics.ValuesOf(kSteps, "rank");
  if (found.size() < 2) return ranks->push_back(DrawRank(trainer, trainer.rank, {}));
  for (const std::string& rank : found) {
    int number = 0;
    const char* const end = rank.data() + rank.size();
    if (std::from_chars(rank.data(), end, number).ptr != end) continue;
    ranks->push_back(DrawRank(trainer, number, {{"rank", rank}}));
  }
}

const StageShares* RankPicture::Busiest() const {
  const StageShares* busiest = nullptr;
  for (const StageShares& stage : stages) {
    if (busiest == nullptr || stage.busy > busiest->busy) busiest = &stage;
  }
  return busiest;
}

bool IsSampling(const std::string& stage) {
  return stage == "schedule" || stage == "sample" || stage == "compact";
}

bool IsFetching(const std::string& stage) {
  return stage == "plan" || stage == "gather" || stage == "learn";
}

}  // namespace halograph::ctl
