#include "trainer/training/train_metrics.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace halograph {
namespace {

constexpr char kStage[] = "halograph_trainer_stage_seconds_total";

class TrainMetricsTest : public testing::Test {
 protected:
  double Of(const std::string& name, const Labels& labels = {}) {
    return registry_->Take().Value(name, labels);
  }
  double Stage(const std::string& stage, const std::string& state) {
    return Of(kStage, {{"stage", stage}, {"state", state}});
  }

  double now_ = 50;
  const std::shared_ptr<MetricRegistry> registry_ = std::make_shared<MetricRegistry>();
  const std::shared_ptr<TrainMetrics> metrics_ =
      std::make_shared<TrainMetrics>(registry_, 3, 4, [this] { return now_; });
};

TEST_F(TrainMetricsTest, EveryDeclarationIsRightAndHasTheRank) {
  EXPECT_EQ(registry_->status(), OkStatus());
  const MetricsSnapshot taken = registry_->Take();
  for (const FamilySnapshot& family : taken.families) {
    for (const SeriesSnapshot& series : family.series) {
      EXPECT_TRUE(std::find(series.labels.begin(), series.labels.end(), MetricLabel{"rank", "3"}) !=
                  series.labels.end())
          << family.name;
    }
  }
  EXPECT_EQ(Of("halograph_trainer_ranks"), 4);
}

// A run that hangs must show what it hangs in: what is under way counts, too.
TEST_F(TrainMetricsTest, TheStepsThreadCountsWhatIsUnderWay) {
  now_ += 7;  // before the first step
  {
    const StepClock::Doing busy(&metrics_->clock(), StageState::kBusy);
    now_ += 2;
    {
      const StepClock::Doing starved(&metrics_->clock(), StageState::kStarved);
      now_ += 5;
      EXPECT_DOUBLE_EQ(Stage("train", "starved"), 5);
    }
    {
      const StepClock::Doing parked(&metrics_->clock(), StageState::kParked);
      now_ += 100;
    }
    now_ += 1;
  }
  now_ += 9;
  EXPECT_DOUBLE_EQ(Stage("train", "busy"), 3);
  EXPECT_DOUBLE_EQ(Stage("train", "starved"), 5);
  EXPECT_DOUBLE_EQ(Stage("train", "blocked"), 0);
}

TEST_F(TrainMetricsTest, SecondsOfPipelinesThatAreGoneStillCount) {
  StageSeconds first{.busy = 2, .starved = 1};
  {
    const TrainMetrics::Stages stages(metrics_, [&] {
      return std::map<std::string, StageSeconds>{{"sample", first}};
    });
    EXPECT_DOUBLE_EQ(Stage("sample", "busy"), 2);
    first.busy = 3;
  }
  first.busy = 1000;  // read no more
  const TrainMetrics::Stages second(metrics_, [] {
    return std::map<std::string, StageSeconds>{{"sample", {.busy = 4}}, {"gather", {.blocked = 6}}};
  });
  EXPECT_DOUBLE_EQ(Stage("sample", "busy"), 7);
  EXPECT_DOUBLE_EQ(Stage("sample", "starved"), 1);
  EXPECT_DOUBLE_EQ(Stage("gather", "blocked"), 6);
}

TEST_F(TrainMetricsTest, StepsCountSeedsAndSeconds) {
  metrics_->TookStep({.seconds = 0.25, .seeds = 100});
  metrics_->TookStep({.seconds = 0.5, .seeds = 20});
  EXPECT_EQ(Of("halograph_trainer_steps_total"), 2);
  EXPECT_EQ(Of("halograph_trainer_seeds_total"), 120);
  const HistogramSnapshot seconds = registry_->Take().Histogram("halograph_trainer_step_seconds");
  EXPECT_EQ(seconds.count, 2);
  EXPECT_DOUBLE_EQ(seconds.sum, 0.75);
}

TEST_F(TrainMetricsTest, RowsCountByTensorAndSource) {
  const TensorRef feat{false, "paper", "feat"};
  metrics_->Add(feat, PulledFrom::kRemote, 10, 40);
  metrics_->Add(feat, PulledFrom::kRemote, 1, 4);
  metrics_->Add(feat, PulledFrom::kCache, 5, 20);
  const auto rows = [&](const char* source) {
    return Of("halograph_trainer_pull_rows_total", {{"tensor", "paper/feat"}, {"source", source}});
  };
  EXPECT_EQ(rows("remote"), 11);
  EXPECT_EQ(rows("cache"), 5);
  EXPECT_EQ(rows("local"), 0);
  EXPECT_EQ(Of("halograph_trainer_pull_bytes_total"), 64);
}

// The rank for which the others wait is the one that waits least.
TEST_F(TrainMetricsTest, TheStragglerWaitsLess) {
  metrics_->SetWaits(8, 0);
  EXPECT_DOUBLE_EQ(Of("halograph_trainer_straggler_seconds"), 2);
  metrics_->SetWaits(8, 3);
  EXPECT_DOUBLE_EQ(Of("halograph_trainer_straggler_seconds"), -1);
}

TEST_F(TrainMetricsTest, APhaseEndsWithWhatItWasIn) {
  EXPECT_EQ(metrics_->phase(), RunPhase::kStarting);
  metrics_->SetPhase(RunPhase::kTraining);
  {
    const TrainMetrics::InPhase evaluating(metrics_.get(), RunPhase::kEvaluating);
    EXPECT_EQ(PhaseName(metrics_->phase()), "evaluating");
  }
  EXPECT_EQ(PhaseName(metrics_->phase()), "training");
}

TEST_F(TrainMetricsTest, TellsWhereARunIs) {
  EXPECT_EQ(registry_->Take().Find("halograph_trainer_loss"), nullptr) << "none before a step";
  metrics_->GoOnFrom(35);
  metrics_->SetEpoch(2);
  metrics_->TookStep({.seconds = 1, .seeds = 1});
  metrics_->SetLoss(0.25);
  EXPECT_EQ(metrics_->step(), 36);
  EXPECT_EQ(Of("halograph_trainer_epoch"), 2);
  EXPECT_EQ(Of("halograph_trainer_loss"), 0.25);
}

TEST(TrainMetricsOfRanksTest, RanksOfAProcessAreSeriesOfOneFamily) {
  const auto registry = std::make_shared<MetricRegistry>();
  TrainMetrics first(registry, 0, 2);
  TrainMetrics second(registry, 1, 2);
  ASSERT_EQ(registry->status(), OkStatus());
  first.TookStep({.seconds = 1, .seeds = 1});
  EXPECT_EQ(registry->Take().Value("halograph_trainer_steps_total", {{"rank", "0"}}), 1);
  EXPECT_EQ(registry->Take().Value("halograph_trainer_steps_total", {{"rank", "1"}}), 0);
  EXPECT_NE(
      registry->Take().FindSeries(kStage, {{"rank", "1"}, {"stage", "train"}, {"state", "busy"}}),
      nullptr);
}

}  // namespace
}  // namespace halograph
