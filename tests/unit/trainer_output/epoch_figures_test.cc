#include "trainer/output/epoch_figures.h"

#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

TEST(EpochFiguresTest, KeysAreUnique) {
  std::set<std::string_view> keys;
  for (const FigureRow& row : FigureRows()) {
    EXPECT_FALSE(row.key.empty());
    EXPECT_TRUE(keys.insert(row.key).second) << row.key;
  }
}

TEST(EpochFiguresTest, RanksAddUpAndTimesAreMeans) {
  EpochFigures first, second;
  first[Figure::kTrainSeeds] = 30;
  second[Figure::kTrainSeeds] = 10;
  first[Figure::kLoss] = 50;
  second[Figure::kLoss] = 30;
  first[Figure::kLossWeight] = 24;
  second[Figure::kLossWeight] = 16;
  first[Figure::kCompute] = 2;
  second[Figure::kCompute] = 4;
  first[Figure::kSeconds] = 7;
  second[Figure::kSeconds] = 9;
  first[Figure::kRounds] = 12;
  second[Figure::kRounds] = 4;
  first[Figure::kMinibatches] = 3;
  second[Figure::kMinibatches] = 1;
  std::vector<double> sums = first.ToSum();
  const std::vector<double> others = second.ToSum();
  ASSERT_EQ(sums.size(), others.size());
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += others[i];
  first.Finish(sums, 2);
  EXPECT_EQ(first[Figure::kTrainSeeds], 40);
  EXPECT_EQ(first[Figure::kLoss], 2) << "the mean by weight";
  EXPECT_EQ(first[Figure::kCompute], 3) << "the mean over ranks";
  EXPECT_EQ(first[Figure::kSeconds], 7) << "this rank's own";
  EXPECT_EQ(first[Figure::kRounds], 4) << "the mean over minibatches";
}

TEST(EpochFiguresTest, FinishedEpochsOfSeveralPartsAddUpAsOneEpoch) {
  EpochFigures sum;
  for (const double part : {1.0, 3.0}) {
    EpochFigures own;
    own[Figure::kLoss] = 10 * part;
    own[Figure::kLossWeight] = 4 * part;
    own[Figure::kRounds] = 6;
    own[Figure::kMinibatches] = part;
    own[Figure::kSeconds] = part;
    own[Figure::kCutNodes] = 5;
    own.Finish(own.ToSum(), 1);
    sum.Add(own);
  }
  EpochFigures nothing;
  nothing.Finish(nothing.ToSum(), 1);  // divides by 0
  sum.Add(nothing);
  sum.Finish(sum.ToSum(), 1);
  EXPECT_EQ(sum[Figure::kLoss], 2.5);
  EXPECT_EQ(sum[Figure::kRounds], 3);
  EXPECT_EQ(sum[Figure::kSeconds], 4);
  EXPECT_EQ(sum[Figure::kCutNodes], 10);
}

TEST(EpochFiguresTest, TheLogHasWholeNumbersWhereTheyAre) {
  EpochFigures figures;
  figures[Figure::kSteps] = 5;
  figures[Figure::kLocalBytes] = 4096;
  figures[Figure::kSeconds] = 0.5;
  const Json json = figures.ToJson();
  EXPECT_TRUE(json["steps"].is_number_integer());
  EXPECT_EQ(json["local_bytes"], 4096);
  EXPECT_EQ(json["seconds"], 0.5);
  EXPECT_FALSE(json.contains(""));
  EXPECT_EQ(json.size(), FigureRows().size() - 2)
      << "all but the weight of the loss and minibatches";
}

TEST(EpochFiguresTest, SecondsOfStagesAreMeansOverRanksAndStandInTheLog) {
  EpochFigures first, second;
  first.AddStage("gather", {.busy = 1, .starved = 2, .blocked = 3});
  first.AddStage("gather", {.busy = 1, .starved = 0, .blocked = 1});
  first.AddStage("unknown", {.busy = 1, .starved = 2, .blocked = 3});
  second.AddStage("gather", {.busy = 4, .starved = 0, .blocked = 0});
  std::vector<double> sums = first.ToSum();
  const std::vector<double> others = second.ToSum();
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += others[i];
  first.Finish(sums, 2);
  EXPECT_EQ(first.ToJson()["stages"],
            Json({{"gather", {{"busy", 3.0}, {"starved", 1.0}, {"blocked", 2.0}}}}));
  EXPECT_FALSE(EpochFigures().ToJson().contains("stages"));
}

TEST(EpochFiguresTest, TrainingIsAStageOfTheLoopsOwnSeconds) {
  EpochFigures figures;
  figures[Figure::kSeconds] = 10;
  figures[Figure::kSampleWait] = 1;
  figures[Figure::kFeatureWait] = 2;
  figures[Figure::kSyncWait] = 0.5;
  figures[Figure::kPush] = 0.25;
  figures.SetTraining();
  EXPECT_DOUBLE_EQ(figures.stage(StepPart::kTrain).starved, 3);
  EXPECT_DOUBLE_EQ(figures.stage(StepPart::kTrain).blocked, 0.75);
  EXPECT_DOUBLE_EQ(figures.stage(StepPart::kTrain).busy, 6.25);
}

TEST(EpochFiguresTest, WhatBoundsAnEpochIsTrainingUnlessItStarves) {
  EpochFigures figures;
  EXPECT_FALSE(figures.BoundBy().has_value()) << "of no time";
  figures[Figure::kSeconds] = 10;
  figures.AddStage("sample", {.busy = 10, .starved = 0, .blocked = 0});  // far ahead
  figures.SetTraining();
  EXPECT_EQ(figures.BoundBy()->stage, "train");
  figures[Figure::kFeatureWait] = 6;
  figures.AddStage("gather", {.busy = 12, .starved = 0, .blocked = 0});
  figures.SetTraining();
  EXPECT_EQ(figures.BoundBy()->stage, "gather");
  EpochFigures idle;  // nobody is busy: as with servers that are slow to start
  idle[Figure::kSeconds] = 10;
  idle[Figure::kSampleWait] = 9;
  idle.AddStage("sample", {.busy = 4, .starved = 6, .blocked = 0});
  idle.SetTraining();
  EXPECT_FALSE(idle.BoundBy().has_value());
}

TEST(EpochFiguresTest, TheStageThatBoundsNamesTheServerThatItWaitedForLongest) {
  EpochFigures figures;
  figures[Figure::kSeconds] = 10;
  figures[Figure::kFeatureWait] = 8;
  figures.AddStage("gather", {.busy = 9, .starved = 1, .blocked = 0});
  figures.AddServerWait("sample", "a:1", 9);
  figures.AddServerWait("gather", "a:1", 0.5);
  figures.SetTraining();
  EXPECT_EQ(figures.BoundBy()->server, "") << "a twentieth of the time is nothing to speak of";
  figures.AddServerWait("gather", "b:1", 4);
  figures.AddServerWait("gather", "b:1", 2);
  figures.AddServerWait("gather", "c:1", 3);
  figures.AddServerWait("unknown", "c:1", 9);
  EXPECT_EQ(figures.BoundBy()->server, "b:1");
  EXPECT_DOUBLE_EQ(figures.BoundBy()->server_share, 0.6);
  figures.AddServerWait("gather", "b:1", 6);
  EXPECT_DOUBLE_EQ(figures.BoundBy()->server_share, 0.9) << "no more than the stage was busy";
}

TEST(EpochFiguresTest, WaitsForServersStandInTheLogByStageAndAreOfOneRank) {
  EpochFigures first, second, parts;
  EXPECT_FALSE(first.ToJson().contains("server_wait_s"));
  first.AddServerWait("gather", "b:1", 2);
  second.AddServerWait("gather", "c:1", 2);
  std::vector<double> sums = first.ToSum();
  const std::vector<double> others = second.ToSum();
  ASSERT_EQ(sums.size(), others.size()) << "whatever the ranks call their servers";
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += others[i];
  first.Finish(sums, 2);
  EXPECT_EQ(first.ToJson()["server_wait_s"], Json({{"gather", {{"b:1", 2.0}}}}));
  parts.Add(first);
  parts.Add(first);
  EXPECT_EQ(parts.ToJson()["server_wait_s"], Json({{"gather", {{"b:1", 4.0}}}}));
}

}  // namespace
}  // namespace halograph
