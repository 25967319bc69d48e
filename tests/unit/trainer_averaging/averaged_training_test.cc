#include "trainer/averaging/averaged_training.h"

#include <cmath>
#include <csignal>
#include <mutex>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "partitioner/halo/add_halo.h"
#include "tests/support/learnable_graph.h"
#include "tests/support/ranks.h"
#include "tests/support/test_folder.h"
#include "trainer/run/part_sources.h"
#include "trainer/run/prepare.h"

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

TEST(BestModelTest, KeepsTheFirstOfTheBestAndItsWeights) {
  torch::Tensor weight = torch::zeros({2});
  BestModel best({weight}, Metric{.key = "acc", .label = "accuracy"}, 8);
  const std::vector<double> metrics = {0.5, NAN, 0.7, 0.7, 0.6, 0.6, 0.9, NAN};
  for (size_t epoch = 0; epoch < metrics.size(); ++epoch) {
    weight.fill_(static_cast<float>(epoch));
    EpochStats stats;
    stats.epoch = static_cast<int64_t>(epoch);
    stats.valid = SetFigures{.metric = metrics[epoch]};
    best.Consider(stats);
  }
  EXPECT_EQ(best.best()->epoch, 6);
  EXPECT_EQ(best.earlier(), 0.7);
  best.Restore();
  EXPECT_EQ(weight[1].item<float>(), 6);
}

// A rank as run.cc sets it up, over a graph of four parts with halos of as many hops as layers.
class AveragedTrainingTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { SetUpComputation(Options()); }

  static TrainOptions Options() {
    TrainOptions options;
    options.fanouts = {4, 3};
    options.batch_size = 10;
    options.epochs = 6;
    options.average_every = 2;
    options.learning_rate = 0.02;
    options.threads = 1;
    options.part_only = true;
    options.Resolve();
    return options;
  }

  void Write(const TestGraphSpec& spec) {
    const auto graph = WriteTestGraph(spec, folder_.path() / "graph");
    ASSERT_TRUE(graph.ok()) << graph.status();
    ASSERT_TRUE(AddHalos(*graph, {.hops = 2}).ok());
    options_ = Options();
    options_.graph = graph->string();
    auto stop = StopSignal::Install();
    ASSERT_TRUE(stop.ok()) << stop.status();
    stop_ = std::move(*stop);
  }

  // torch's generator is one for the process, and ranks are threads here: each makes its model,
  // with the same weights, while no other draws.
  std::unique_ptr<Session> MakeSession(TrainOptions options, std::unique_ptr<Communicator> ranks) {
    static std::mutex generator;
    auto session = std::make_unique<Session>();
    session->options = std::move(options);
    session->stop = stop_.get();
    RunInputs inputs;
    auto stores = OpenStoresOf(session->options, &session->cancel);
    EXPECT_TRUE(stores.ok()) << stores.status();
    session->stores = std::move(*stores);
    session->ranks = std::move(*Communicator::Join({}));
    {
      const std::lock_guard lock(generator);
      EXPECT_EQ(PrepareMinibatches(*session, &inputs), OkStatus());
      EXPECT_EQ(MakeModel(*session, inputs), OkStatus());
    }
    session->ranks = std::move(ranks);
    EXPECT_EQ(session->ranks->Barrier("models are made"), OkStatus());
    return session;
  }

  struct Ran {
    std::vector<EpochStats> epochs;
    TrainResult result;
    std::vector<torch::Tensor> weights;
  };
  Ran Train(const TrainOptions& options, std::unique_ptr<Communicator> ranks) {
    Ran ran;
    const auto session = MakeSession(options, std::move(ranks));
    const auto parts = MakePartSource(*session);
    EXPECT_TRUE(parts.ok()) << parts.status();
    AveragedTraining training(
        *session, parts->get(), [](int64_t, double) {},
        [&](const EpochStats& stats) {
          ran.epochs.push_back(stats);
          return OkStatus();
        });
    auto result = training.Run();
    EXPECT_TRUE(result.ok()) << result.status();
    if (result.ok()) ran.result = *result;
    for (const torch::Tensor& parameter : session->model->parameters()) {
      ran.weights.push_back(parameter.detach().clone());
    }
    return ran;
  }
  Ran Train(const TrainOptions& options) {
    return Train(options, std::move(*Communicator::Join({})));
  }

  TestFolder folder_;
  TrainOptions options_;
  std::unique_ptr<StopSignal> stop_;
};

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
  TestGraphSpec spec = LearnableGraph(240, 1);
  spec.parts = 6;
  for (size_t i = 0; i < 240; ++i) {
    spec.node_types[0].owners[i] = static_cast<int>(std::sqrt(static_cast<double>(i) * 36 / 240));
  }
  Write(spec);
  const Ran alone = Train(options_);
  for (const int world_size : {2, 4}) {
    RunRanks(world_size, [&](std::unique_ptr<Communicator> ranks) {
      TrainOptions options = options_;
      options.rank = ranks->rank();
      options.world_size = world_size;
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
  TestGraphSpec spec = LearnableGraph(240, 4);
  for (TestTaskSet& set : spec.tasks[0].sets) {
    if (set.set != "train") continue;
    std::vector<int64_t> seeds, labels;
    for (int64_t i = 60; i < 240; i += 2) {
      seeds.push_back(i);
      labels.push_back(i % kLearnableClasses);
    }
    set.arrays = {MakeTensor("seeds", seeds), MakeTensor("labels", labels)};
  }
  Write(spec);
  const Ran ran = Train(options_);
  ASSERT_EQ(ran.epochs.size(), 6U);
  EXPECT_EQ(ran.epochs[0].figures[Figure::kTrainSeeds], 90);
  EXPECT_TRUE(ran.epochs[1].valid.has_value());
}

TEST_F(AveragedTrainingTest, ASignalEndsAllRanksAtTheNextAverage) {
  Write(LearnableGraph(240, 4));
  options_.epochs = 1000;
  int rounds = 0;
  RunRanks(2, [&](std::unique_ptr<Communicator> ranks) {
    TrainOptions options = options_;
    options.rank = ranks->rank();
    options.world_size = 2;
    const auto session = MakeSession(options, std::move(ranks));
    const auto parts = MakePartSource(*session);
    ASSERT_TRUE(parts.ok()) << parts.status();
    AveragedTraining training(
        *session, parts->get(), [](int64_t, double) {},
        [&](const EpochStats& stats) {
          if (options.rank == 0 && stats.epoch == 3) {
            ++rounds;
            kill(getpid(), SIGTERM);
          }
          return OkStatus();
        });
    const auto result = training.Run();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->stopped);
    EXPECT_LT(result->epochs, 20);
    EXPECT_TRUE(result->best.has_value());
    ASSERT_TRUE(session->ranks->Barrier("end").ok());
  });
  EXPECT_EQ(rounds, 1);
}

}  // namespace
}  // namespace halograph
