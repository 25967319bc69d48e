#include "trainer/averaging/averaged_training.h"

#include <chrono>
#include <cmath>
#include <csignal>
#include <numeric>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/trainer_averaging/averaged_fixture.h"

namespace halograph {
namespace {

TEST(PartsOfRankTest, EachPartIsOneRanksAndNoRankIsWithout) {
  for (const int parts : {1, 2, 3, 7, 8, 16}) {
    for (int world_size = 1; world_size <= parts; ++world_size) {
      std::vector<int> all;
      for (int rank = 0; rank < world_size; ++rank) {
        const auto own = PartsOfRank(rank, parts, world_size);
        ASSERT_TRUE(own.ok()) << own.status();
        ASSERT_FALSE(own->empty());
        EXPECT_EQ(own->front(), PartOfRank(rank, parts, world_size));
        all.insert(all.end(), own->begin(), own->end());
      }
      std::vector<int> expected(static_cast<size_t>(parts));
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(all, expected);
    }
  }
  EXPECT_TRUE(absl::IsInvalidArgument(PartsOfRank(0, 3, 4).status()));
}

TEST(TakeIfBestTest, KeepsTheFirstOfTheBestAndItsWeights) {
  torch::Tensor weight = torch::zeros({2});
  TrainResult result;
  KeptTensors best({weight});
  const std::vector<double> metrics = {0.5, NAN, 0.7, 0.7, 0.6, 0.6, 0.9, NAN};
  for (size_t epoch = 0; epoch < metrics.size(); ++epoch) {
    weight.fill_(static_cast<float>(epoch));
    EpochStats stats;
    stats.epoch = static_cast<int64_t>(epoch);
    stats.valid = SetFigures{.metric = metrics[epoch]};
    if (TakeIfBest(stats, /*higher_is_better=*/true, 8, &result)) best.Keep();
  }
  EXPECT_EQ(result.best->epoch, 6);
  EXPECT_EQ(result.earlier, 0.7);
  best.PutBack();
  EXPECT_EQ(weight[1].item<float>(), 6);
}

TEST_F(AveragedTrainingTest, LearnsASmallGraphAndEvaluatesAverages) {
  Write(LearnableGraph(240, 4));
  options_.epochs = 12;
  options_.average_every = 5;
  options_.eval_every = 3;
  const Ran ran = Train(options_);
  ASSERT_EQ(ran.epochs.size(), 12U);
  EXPECT_LT(ran.epochs.back().figures[Figure::kLoss],
            0.6 * ran.epochs.front().figures[Figure::kLoss]);
  EXPECT_GT(ran.result.best->test->metric, 0.8);
  for (const EpochStats& stats : ran.epochs) {
    const bool average = stats.epoch == 4 || stats.epoch == 9 || stats.epoch == 11;
    EXPECT_EQ(stats.valid.has_value(), average) << stats.epoch;
    EXPECT_EQ(stats.figures[Figure::kTrainSeeds], 120);
    EXPECT_EQ(stats.figures[Figure::kSteps], 12) << "three of each part";
    EXPECT_EQ(stats.figures[Figure::kLearningRate], options_.learning_rate);
    EXPECT_EQ(stats.figures[Figure::kCutNodes], 0);
    EXPECT_GT(stats.train_metric, 0.2);
  }
  EXPECT_EQ(ran.result.epochs, 12);
}

// Ranks have one, two and three parts, which differ in size: the same models come out.
TEST_F(AveragedTrainingTest, TheNumberOfRanksChangesNothingButTheOrderOfSums) {
  Write(UnevenParts());
  const Ran alone = Train(options_);
  for (const int world_size : {2, 4}) {
    RunWithOptions(world_size, [&](TrainOptions options, std::unique_ptr<Communicator> ranks) {
      const Ran ran = Train(options, std::move(ranks));
      ASSERT_EQ(ran.epochs.size(), alone.epochs.size());
      for (size_t i = 0; i < ran.epochs.size(); ++i) {
        EXPECT_NEAR(ran.epochs[i].figures[Figure::kLoss], alone.epochs[i].figures[Figure::kLoss],
                    1e-4);
        EXPECT_EQ(ran.epochs[i].figures[Figure::kSampledEdges],
                  alone.epochs[i].figures[Figure::kSampledEdges]);
      }
      for (size_t i = 0; i < ran.weights.size(); ++i) {
        EXPECT_TRUE(torch::allclose(ran.weights[i], alone.weights[i], 1e-3, 1e-4));
      }
      EXPECT_NEAR(ran.result.best->test->metric, alone.result.best->test->metric, 0.02);
    });
  }
}

TEST_F(AveragedTrainingTest, APartWithoutTrainingRowsIsEvaluatedOnly) {
  Write(SetFrom("train", 60));
  const Ran ran = Train(options_);
  ASSERT_EQ(ran.epochs.size(), 6U);
  EXPECT_EQ(ran.epochs[0].figures[Figure::kTrainSeeds], 90);
  EXPECT_TRUE(ran.epochs[1].valid.has_value());
}

TEST_F(AveragedTrainingTest, ASignalEndsAllRanksAtTheNextAverage) {
  Write(LearnableGraph(240, 4));
  options_.epochs = 1000;
  int rounds = 0;
  RunWithOptions(2, [&](TrainOptions options, std::unique_ptr<Communicator> ranks) {
    const auto session = MakeSession(options, std::move(ranks));
    const auto parts = MakePartSource(*session);
    ASSERT_TRUE(parts.ok()) << parts.status();
    AveragedTraining training(
        *session, parts->get(), [](int64_t) {},
        [&](const EpochStats& stats) {
          if (options.rank == 0 && stats.epoch == 3) {
            ++rounds;
            EXPECT_EQ(kill(getpid(), SIGTERM), 0);
            EXPECT_EQ(stop_->Wait(), SIGTERM);
          }
          return OkStatus();
        });
    const auto result = training.Run();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->stopped);
    EXPECT_EQ(result->ended_by, EndedBy::kSignal);
    EXPECT_LT(result->epochs, 20);
    EXPECT_TRUE(result->best.has_value());
    ASSERT_TRUE(session->ranks->Barrier("end").ok());
  });
  EXPECT_EQ(rounds, 1);
}

TEST_F(AveragedTrainingTest, TheClockOfAnyRankEndsAllAtTheEndOfARound) {
  Write(LearnableGraph(240, 4));
  options_.eval_every = 0;
  RunWithOptions(2, [&](TrainOptions options, std::unique_ptr<Communicator> ranks) {
    if (options.rank == 1) options.control.time_limit = std::chrono::nanoseconds(1);
    const Ran ran = Train(options, std::move(ranks));
    EXPECT_EQ(ran.result.ended_by, EndedBy::kTimeLimit);
    EXPECT_EQ(ran.result.epochs, 2);
    ASSERT_EQ(ran.epochs.size(), 2U);
    EXPECT_EQ(ran.epochs[0].figures[Figure::kSteps], 12) << "no part was cut short";
    EXPECT_TRUE(ran.epochs[1].valid.has_value());
  });
  options_.control.time_limit = std::chrono::hours(1);
  EXPECT_EQ(Train(options_).result.ended_by, EndedBy::kEpochs);
}

TEST_F(AveragedTrainingTest, ItEndsOnceEvaluationsAreOutOfPatience) {
  Write(LearnableGraph(240, 4));
  options_.learning_rate = 1e-9;
  options_.epochs = 50;
  options_.control.patience = 2;
  RunWithOptions(2, [&](TrainOptions options, std::unique_ptr<Communicator> ranks) {
    const Ran ran = Train(options, std::move(ranks));
    EXPECT_EQ(ran.result.ended_by, EndedBy::kPatience);
    EXPECT_EQ(ran.result.epochs, 6) << "the second and the third of the averages were no better";
    EXPECT_EQ(ran.result.best->epoch, 1);
  });
}

// The first part of rank 0 has no row to validate, nor has its second.
TEST_F(AveragedTrainingTest, PatienceCountsValidationRowsWhoeverHasThem) {
  Write(SetFrom("valid", 120));
  options_.learning_rate = 1e-9;
  options_.epochs = 50;
  options_.control.patience = 2;
  RunWithOptions(2, [&](TrainOptions options, std::unique_ptr<Communicator> ranks) {
    EXPECT_EQ(Train(options, std::move(ranks)).result.ended_by, EndedBy::kPatience);
  });
}

TEST_F(AveragedTrainingTest, TheMostFrequentClassIsToldToARankWithoutRows) {
  Write(SetFrom("test", 120));
  RunWithOptions(2, [&](TrainOptions options, std::unique_ptr<Communicator> ranks) {
    const auto session = MakeSession(options, std::move(ranks));
    const auto parts = MakePartSource(*session);
    ASSERT_TRUE(parts.ok()) << parts.status();
    const auto share = (*parts)->MostFrequent(BatchPurpose::kTest);
    ASSERT_TRUE(share.ok()) << share.status();
    ASSERT_TRUE(share->has_value());
    EXPECT_DOUBLE_EQ(share->value(), 1.0 / 3) << "20 of 60";
  });
}

}  // namespace
}  // namespace halograph
