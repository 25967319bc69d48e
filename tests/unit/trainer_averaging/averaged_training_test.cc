#include "trainer/averaging/averaged_training.h"

#include <cmath>
#include <csignal>
#include <filesystem>
#include <map>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "partitioner/halo/add_halo.h"
#include "tests/support/learnable_graph.h"
#include "tests/support/ranks.h"
#include "tests/support/test_folder.h"
#include "trainer/checkpoint/checkpoints.h"
#include "trainer/models/sage.h"
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

// A rank as run.cc sets it up, over a graph of four parts with halos of as many hops as layers.
class AveragedTrainingTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    SetUpComputation();
    SetUpThread(Options());
  }

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
    InstallStop();
  }
  void InstallStop() {
    stop_.reset();
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

// Evaluates as another source does, and sends the process a signal before it does so for the last
// of `evaluations` times.
class StopsBeforeEvaluation final : public PartSource {
 public:
  StopsBeforeEvaluation(PartSource* parts, int evaluations, StopSignal* stop)
      : parts_(*parts), left_(evaluations), stop_(*stop) {}

  const std::vector<int>& parts() const override { return parts_.parts(); }
  StatusOr<std::unique_ptr<OpenedPart>> Open(int part) override { return parts_.Open(part); }
  StatusOr<BothSets> Evaluate() override {
    if (--left_ == 0) {
      EXPECT_EQ(kill(getpid(), SIGTERM), 0);
      EXPECT_EQ(stop_.Wait(), SIGTERM);
    }
    return parts_.Evaluate();
  }
  StatusOr<std::optional<double>> MostFrequent(BatchPurpose set) override {
    return parts_.MostFrequent(set);
  }

 private:
  PartSource& parts_;
  int left_;
  StopSignal& stop_;
};

// Three rounds of two epochs; each epoch has three steps of each of four parts.
class KeptRoundsTest : public AveragedTrainingTest {
 protected:
  static constexpr int64_t kNever = 1 << 20;

  void SetUp() override {
    Write(LearnableGraph(240, 4));
    auto sage = std::make_shared<SageOptions>();
    sage->hidden = 16;
    sage->dropout = 0.5;
    sage->norm = Normalization::kBatch;
    options_.model_options = std::move(sage);
    options_.checkpoint.every = {.steps = 1, .time = {}};
    options_.checkpoint.folder = (folder_.path() / "checkpoints").string();
    options_.checkpoint.resume = true;
  }
  void ForgetCheckpoints() const { std::filesystem::remove_all(options_.checkpoint.folder); }

  // What a rank saw of a run, over all resumes.
  struct Seen {
    std::map<int64_t, EpochStats> epochs;
    TrainResult result;
    Status status;
    torch::Tensor end;  // the best weights, and buffers
  };
  // Goes on from what is there; dies after so many steps of its own. `before_evaluation`: a signal
  // comes before that evaluation, and none if it is 0.
  void Run(int64_t steps, std::vector<Seen>* seen, int before_evaluation = 0) {
    RunRanks(static_cast<int>(seen->size()), [&](std::unique_ptr<Communicator> ranks) {
      TrainOptions options = options_;
      options.rank = ranks->rank();
      options.world_size = ranks->world_size();
      Seen& own = (*seen)[options.rank];
      const auto session = MakeSession(options, std::move(ranks));
      const auto parts = MakePartSource(*session);
      ASSERT_TRUE(parts.ok()) << parts.status();
      const int sends = options.rank == 0 ? before_evaluation : 0;
      StopsBeforeEvaluation source(parts->get(), sends, stop_.get());
      const auto checkpoints = Checkpoints::Open(*session, [](const Json&) { return OkStatus(); });
      ASSERT_TRUE(checkpoints.ok()) << checkpoints.status();
      int64_t done = 0;
      AveragedTraining training(
          *session, &source,
          [&](int64_t, double) {
            (*checkpoints)->Wait();  // that of the round before
            if (++done == steps) throw std::runtime_error("killed");
          },
          [&](const EpochStats& stats) {
            own.epochs[stats.epoch] = stats;
            return OkStatus();
          },
          (*checkpoints)->start(), checkpoints->get());
      ASSERT_TRUE((*checkpoints)->RestoreOptimizer(training.optimizer()).ok());
      const auto result = training.Run();
      own.status = result.status();
      if (!result.ok()) return;
      own.result = *result;
      std::vector<torch::Tensor> flat;
      for (const torch::Tensor& tensor : session->Parameters()) {
        flat.push_back(tensor.detach().clone().view(-1));
      }
      for (const torch::Tensor& tensor : session->model->buffers()) {
        flat.push_back(tensor.clone().view(-1));
      }
      own.end = torch::cat(flat);
      EXPECT_EQ(session->ranks->Barrier("end"), OkStatus());
    });
  }
  static void ExpectSame(const std::vector<Seen>& whole, const std::vector<Seen>& seen,
                         const std::string& what) {
    for (size_t rank = 0; rank < whole.size(); ++rank) {
      const Seen &wanted = whole[rank], &found = seen[rank];
      ASSERT_TRUE(found.status.ok()) << what << ": " << found.status;
      ASSERT_EQ(found.epochs.size(), wanted.epochs.size()) << what;
      for (const auto& [epoch, stats] : wanted.epochs) {
        const EpochStats& again = found.epochs.at(epoch);
        EXPECT_EQ(again.step, stats.step) << what << ", epoch " << epoch;
        ASSERT_EQ(again.valid.has_value(), stats.valid.has_value()) << what << ", epoch " << epoch;
        if (!stats.valid.has_value()) continue;
        EXPECT_EQ(again.valid->loss, stats.valid->loss) << what << ", epoch " << epoch;
        EXPECT_EQ(again.test->metric, stats.test->metric) << what << ", epoch " << epoch;
      }
      EXPECT_EQ(found.result.best->epoch, wanted.result.best->epoch) << what;
      EXPECT_EQ(found.result.epochs, wanted.result.epochs) << what;
      EXPECT_EQ(found.result.steps, wanted.result.steps) << what;
      EXPECT_TRUE(torch::equal(found.end, wanted.end)) << what;
    }
  }
};

// Before the first average, in every round, right behind an average, and again in the same round.
TEST_F(KeptRoundsTest, ARunThatIsKilledAndGoesOnEndsWithTheSameBits) {
  for (const int world_size : {1, 2}) {
    const int64_t round = 24 / world_size;
    std::vector<Seen> whole(world_size);
    Run(kNever, &whole);
    ASSERT_TRUE(whole[0].status.ok()) << whole[0].status;
    for (const std::vector<int64_t>& kills : std::vector<std::vector<int64_t>>{
             {1}, {round + 5}, {round + 1, 3, round + 2}, {2 * round + 7}}) {
      ForgetCheckpoints();
      std::vector<Seen> seen(world_size);
      for (const int64_t steps : kills) {
        Run(steps, &seen);
        EXPECT_THAT(Message(seen[0].status), testing::HasSubstr("killed"));
      }
      Run(kNever, &seen);
      ExpectSame(whole, seen,
                 fmt::format("{} ranks, killed after {}", world_size, fmt::join(kills, ", ")));
    }
    ForgetCheckpoints();
  }
}

TEST_F(KeptRoundsTest, ASignalLeavesTheLastAverageAndAnEvaluationItCutsShortIsMadeUpFor) {
  for (const int world_size : {1, 2}) {
    std::vector<Seen> whole(world_size), seen(world_size);
    Run(kNever, &whole);
    ASSERT_TRUE(whole[0].status.ok()) << whole[0].status;
    ForgetCheckpoints();
    options_.checkpoint.every = {.steps = 0, .time = std::chrono::hours(1)};
    Run(kNever, &seen, /*before_evaluation=*/2);
    ASSERT_TRUE(seen[0].status.ok()) << seen[0].status;
    EXPECT_TRUE(seen[0].result.stopped);
    EXPECT_FALSE(seen[0].epochs.at(3).valid.has_value());
    const auto stored = ReadNewestCheckpoint(options_.checkpoint.folder);
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_EQ(stored->manifest.place.epoch, 4);
    EXPECT_EQ(stored->manifest.place.steps_per_epoch, 0);
    InstallStop();
    Run(kNever, &seen);
    ExpectSame(whole, seen, fmt::format("{} ranks", world_size));
    ForgetCheckpoints();
  }
}

TEST_F(KeptRoundsTest, ALongerRunGoesOnAndOneOfAnotherIntervalIsRefused) {
  std::vector<Seen> seen(1), again(1), longer(1);
  Run(kNever, &seen);
  Run(1, &again);
  EXPECT_TRUE(again[0].status.ok()) << "there is nothing to do";
  EXPECT_TRUE(torch::equal(again[0].end, seen[0].end));
  options_.epochs = 7;
  Run(kNever, &longer);
  ASSERT_TRUE(longer[0].status.ok()) << longer[0].status;
  EXPECT_EQ(longer[0].epochs.size(), 1U);
  EXPECT_EQ(longer[0].result.epochs, 7);
  options_.average_every = 3;
  const auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  const Status other = Checkpoints::Open(*session, [](const Json&) { return OkStatus(); }).status();
  EXPECT_THAT(Message(other), testing::HasSubstr("--average-every was 2, is 3"));
}

}  // namespace
}  // namespace halograph
