#include "trainer/training/training_loop.h"

#include <mutex>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/trainer/learnable_graph.h"
#include "tests/support/test_folder.h"
#include "tests/unit/trainer_distributed/ranks.h"
#include "trainer/training/evaluation.h"

namespace halograph {
namespace {

// A rank as run.cc sets it up, over a written graph.
class TrainingLoopTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { at::set_num_threads(1); }

  void SetUp() override {
    auto graph = WriteTestGraph(LearnableGraph(240, 2), folder_.path() / "graph");
    ASSERT_TRUE(graph.ok()) << graph.status();
    options_.graph = graph->string();
    options_.hidden = 16;
    options_.fanouts = {4, 3};
    options_.batch_size = 25;
    options_.epochs = 3;
    options_.sample_threads = 2;
    options_.Resolve();
    auto stop = StopSignal::Install();
    ASSERT_TRUE(stop.ok()) << stop.status();
    stop_ = std::move(*stop);
  }

  // Other weights on every rank, so that only the broadcast can make them equal. Ranks are threads
  // here, and torch's generator is one for the process: nobody else may draw in between.
  static Sage SeededSage(const SageOptions& options, uint64_t seed) {
    static std::mutex generator;
    const std::lock_guard lock(generator);
    torch::manual_seed(seed);
    return Sage(options);
  }

  std::unique_ptr<Session> MakeSession(TrainOptions options, std::unique_ptr<Communicator> ranks) {
    auto session = std::make_unique<Session>();
    session->options = options;
    session->stop = stop_.get();
    session->ranks = std::move(ranks);
    session->stores = std::move(*OpenStores(options, nullptr));
    session->task = std::move(*ReadClassificationTask(*session->stores.kv, ""));
    const Schema& schema = session->stores.graph->info().schema;
    BatchRecipe recipe;
    recipe.sampling = SamplingSpec::Uniform(schema, options.fanouts);
    recipe.feature = TensorRef{false, "node", "feat"};
    recipe.feature_spec = *ChooseFeatures(schema, "");
    session->train_maker =
        std::make_unique<BatchMaker>(session->stores.graph.get(), session->stores.kv.get(), recipe);
    session->eval_maker =
        std::make_unique<BatchMaker>(session->stores.graph.get(), session->stores.kv.get(), recipe);
    SageOptions sage;
    sage.in_dim = recipe.feature_spec.dim;
    sage.hidden = options.hidden;
    sage.num_classes = session->task.num_classes;
    sage.dropout = options.dropout;
    session->model = SeededSage(sage, static_cast<uint64_t>(options.rank) + 1);
    EXPECT_TRUE(BroadcastParameters(session->model->parameters(), *session->ranks).ok());
    return session;
  }
  static torch::Tensor Weights(const Session& session) {
    std::vector<torch::Tensor> flat;
    for (const torch::Tensor& parameter : session.model->parameters()) {
      flat.push_back(parameter.detach().clone().view(-1));
    }
    return torch::cat(flat);
  }
  static Status Ignore(const EpochStats&) { return OkStatus(); }

  TestFolder folder_;
  TrainOptions options_;
  std::unique_ptr<StopSignal> stop_;
};

TEST_F(TrainingLoopTest, LearnsASmallGraph) {
  options_.epochs = 20;
  options_.dropout = 0;
  auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  std::vector<EpochStats> epochs;
  TrainingLoop loop(
      *session, [](int64_t, double) {},
      [&](const EpochStats& stats) {
        epochs.push_back(stats);
        return OkStatus();
      });
  auto result = loop.Run();
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(epochs.size(), 20U);
  EXPECT_LT(epochs.back().loss, 0.5 * epochs.front().loss);
  EXPECT_GT(*result->best.test_acc, 0.85);
  EXPECT_EQ(epochs[0].train_seeds, 120);
  EXPECT_EQ(epochs[0].steps, 5);
  EXPECT_GT(epochs[0].local_bytes, 0);
  EXPECT_EQ(epochs[0].remote_bytes, 0);
  EXPECT_EQ(epochs[0].remote_sample_bytes, 0);
  EXPECT_EQ(epochs[0].rounds_per_minibatch, 0);
}

TEST_F(TrainingLoopTest, WeightsAreEqualOnAllRanksAfterEveryStep) {
  for (int world_size : {2, 3}) {
    std::mutex mutex;
    std::vector<std::vector<torch::Tensor>> weights(world_size);
    RunRanks(world_size, [&](std::unique_ptr<Communicator> ranks) {
      TrainOptions options = options_;
      options.rank = ranks->rank();
      options.world_size = world_size;
      auto session = MakeSession(options, std::move(ranks));
      auto& own = weights[options.rank];
      own.push_back(Weights(*session));
      TrainingLoop loop(
          *session, [&](int64_t, double) { own.push_back(Weights(*session)); }, Ignore);
      auto result = loop.Run();
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_TRUE(result->best.test_acc.has_value());
    });
    ASSERT_GT(weights[0].size(), 3U);
    EXPECT_FALSE(torch::equal(weights[0][0], weights[0].back()));
    for (int rank = 1; rank < world_size; ++rank) {
      ASSERT_EQ(weights[rank].size(), weights[0].size());
      for (size_t step = 0; step < weights[0].size(); ++step) {
        EXPECT_TRUE(torch::equal(weights[rank][step], weights[0][step]))
            << "rank " << rank << ", step " << step;
      }
    }
  }
}

// Full neighbourhoods and one batch an epoch: all ranks together see what one rank sees.
TEST_F(TrainingLoopTest, RanksTakeTheStepsThatOneRankWould) {
  options_.fanouts = {-1, -1};
  options_.dropout = 0;
  options_.epochs = 4;
  options_.batch_size = 120;
  torch::Tensor alone;
  {
    auto session = MakeSession(options_, std::move(*Communicator::Join({})));
    TrainingLoop loop(
        *session, [](int64_t, double) {}, Ignore);
    ASSERT_TRUE(loop.Run().ok());
    alone = Weights(*session);
  }
  for (int world_size : {2, 7}) {  // 120 seeds over 7 ranks: uneven
    RunRanks(world_size, [&](std::unique_ptr<Communicator> ranks) {
      TrainOptions options = options_;
      options.rank = ranks->rank();
      options.world_size = world_size;
      auto session = MakeSession(options, std::move(ranks));
      TrainingLoop loop(
          *session, [](int64_t, double) {}, Ignore);
      ASSERT_TRUE(loop.Run().ok());
      EXPECT_TRUE(torch::allclose(Weights(*session), alone, 1e-3, 1e-4));
    });
  }
}

TEST_F(TrainingLoopTest, TheSameSeedGivesTheSameBits) {
  std::vector<double> losses[2];
  for (auto& run : losses) {
    auto session = MakeSession(options_, std::move(*Communicator::Join({})));
    TrainingLoop loop(
        *session, [](int64_t, double) {},
        [&](const EpochStats& stats) {
          run.push_back(stats.loss);
          run.push_back(*stats.valid_acc);
          return OkStatus();
        });
    ASSERT_TRUE(loop.Run().ok());
  }
  EXPECT_EQ(losses[0], losses[1]);
}

TEST_F(TrainingLoopTest, ALossThatIsNotFiniteStopsNamingTheStep) {
  auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  {
    const torch::NoGradGuard no_grad;
    session->model->parameters()[0].fill_(std::numeric_limits<float>::quiet_NaN());
  }
  TrainingLoop loop(
      *session, [](int64_t, double) {}, Ignore);
  const Status status = loop.Run().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), testing::HasSubstr("rank 0, epoch 0, step 0: the loss is nan"));
}

TEST_F(TrainingLoopTest, PredictionsCoverEveryNodeOnceUnderItsOriginalId) {
  options_.epochs = 10;
  options_.eval_batch_size = 50;
  RunRanks(2, [&](std::unique_ptr<Communicator> ranks) {
    TrainOptions options = options_;
    options.rank = ranks->rank();
    options.world_size = 2;
    auto session = MakeSession(options, std::move(ranks));
    TrainingLoop loop(
        *session, [](int64_t, double) {}, Ignore);
    ASSERT_TRUE(loop.Run().ok());
    auto predictions = Predict(*session);
    ASSERT_TRUE(predictions.ok()) << predictions.status();
    ASSERT_EQ(predictions->size(), options.rank == 0 ? 240U : 0U);
    std::vector<int> seen(240);
    int right = 0;
    for (const Prediction& prediction : *predictions) {
      ++seen[prediction.original_id];
      right += prediction.label == prediction.original_id % kLearnableClasses;
    }
    if (options.rank == 0) {
      EXPECT_THAT(seen, testing::Each(1));
      EXPECT_GT(right, 180);
    }
  });
}

TEST_F(TrainingLoopTest, AnErrorOfTheCallbackEndsTraining) {
  auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  TrainingLoop loop(
      *session, [](int64_t, double) {},
      [](const EpochStats&) { return ResourceExhausted("disk full"); });
  EXPECT_EQ(loop.Run().status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace halograph
