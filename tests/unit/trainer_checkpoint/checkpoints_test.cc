#include "trainer/checkpoint/checkpoints.h"

#include <csignal>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/learnable_graph.h"
#include "tests/support/ranks.h"
#include "tests/support/test_folder.h"
#include "trainer/models/sage.h"
#include "trainer/tasks/registry.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr int64_t kEpochs = 3;
constexpr int64_t kNever = 1 << 20;

// What a rank saw of a run: weights by how many steps were done, and what it came to.
struct Seen {
  std::map<int64_t, torch::Tensor> weights;
  std::map<int64_t, std::string> evaluations;  // what was said after so many steps
  torch::Tensor end;                           // the best weights, and buffers
  int64_t best_step = -1;
  int64_t without_gain = -1;  // evaluations
  Status status;
};

class CheckpointsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { at::set_num_threads(1); }

  void SetUp() override {
    auto graph = WriteTestGraph(LearnableGraph(240, 2), folder_.path() / "graph");
    ASSERT_TRUE(graph.ok()) << graph.status();
    options_.graph = graph->string();
    options_.fanouts = {4, 3};
    options_.batch_size = 25;
    options_.epochs = kEpochs;
    options_.learning_rate = 0.01;
    auto sage = std::make_shared<SageOptions>();
    sage->hidden = 16;
    sage->dropout = 0.5;
    sage->norm = Normalization::kBatch;  // buffers that differ from rank to rank
    options_.model_options = std::move(sage);
    options_.checkpoint.every = {.steps = 1, .time = {}};
    options_.checkpoint.folder = (folder_.path() / "checkpoints").string();
    options_.checkpoint.resume = true;
    options_.Resolve();
    InstallStop();
  }
  void InstallStop() {
    stop_.reset();
    auto stop = StopSignal::Install();
    ASSERT_TRUE(stop.ok()) << stop.status();
    stop_ = std::move(*stop);
  }
  void ForgetCheckpoints() const { fs::remove_all(options_.checkpoint.folder); }

  std::unique_ptr<Session> MakeSession(TrainOptions options, std::unique_ptr<Communicator> ranks) {
    auto session = std::make_unique<Session>();
    session->options = options;
    session->stop = stop_.get();
    session->ranks = std::move(ranks);
    session->sampler.minibatches = options.sample_threads;
    session->stores = std::move(*OpenStores(StoreOptionsOf(options)));
    session->task = std::move(
        *OpenTask(*session->stores.kv, options.tasks, "", {options.rank, options.world_size}));
    const Schema& schema = session->stores.graph->info().schema;
    BatchRecipe recipe;
    recipe.sampling = SamplingSpec::Uniform(schema, options.fanouts);
    recipe.inputs = *ChooseInputs(**FindModelKind("sage"), schema, {}, options.normalization);
    for (auto* const maker : {&session->train_maker, &session->eval_maker}) {
      *maker = std::make_unique<BatchMaker>(session->stores.graph.get(), session->stores.kv.get(),
                                            recipe);
    }
    const ModelShape shape{.schema = &schema,
                           .input_dims = {recipe.inputs[0].spec.dim},
                           .layers = options.layers,
                           .output_dim = session->task->output_dim()};
    static std::mutex generator;  // one for the process, and ranks are threads here
    const std::lock_guard lock(generator);
    torch::manual_seed(options.seed);
    session->model = (*FindModelKind("sage"))->make(*options.model_options, shape);
    return session;
  }
  static torch::Tensor Flat(const std::vector<torch::Tensor>& tensors) {
    std::vector<torch::Tensor> flat;
    for (const torch::Tensor& tensor : tensors) flat.push_back(tensor.detach().clone().view(-1));
    return torch::cat(flat);
  }
  static torch::Tensor All(const Session& session) {
    std::vector<torch::Tensor> tensors = session.Parameters();
    for (const torch::Tensor& buffer : session.model->buffers()) tensors.push_back(buffer);
    return Flat(tensors);
  }

  // One run on all ranks, going on from what is there; it dies after `steps` steps of its own.
  void Run(
      const TrainOptions& like, int64_t steps, std::vector<Seen>* seen,
      const std::function<void(int64_t step)>& each_step = [](int64_t) {}) {
    RunRanks(static_cast<int>(seen->size()), [&](std::unique_ptr<Communicator> ranks) {
      TrainOptions options = like;
      options.rank = ranks->rank();
      options.world_size = ranks->world_size();
      Seen& own = (*seen)[options.rank];
      auto session = MakeSession(options, std::move(ranks));
      auto checkpoints = Checkpoints::Open(*session, [](const Json&) { return OkStatus(); });
      ASSERT_TRUE(checkpoints.ok()) << checkpoints.status();
      int64_t done = (*checkpoints)->start().steps_done;
      const int64_t last = done + steps;
      // What the checkpoint does not know of is to be said again.
      const int64_t known = (*checkpoints)->start().so_far.evaluated;
      own.evaluations.erase(own.evaluations.upper_bound(known), own.evaluations.end());
      TrainingLoop loop(
          *session,
          [&](int64_t, double) {
            own.weights[++done] = Flat(session->Parameters());
            (*checkpoints)->Wait();  // that of the step before
            if (options.rank == 0) each_step(done);
            if (done == last) throw std::runtime_error("killed");
          },
          [&](const EpochStats& stats) {
            own.evaluations[stats.step] =
                fmt::format("{} {} {} {}", stats.valid->metric, stats.valid->loss,
                            stats.test->metric, stats.test->loss);
            return OkStatus();
          },
          (*checkpoints)->start(), checkpoints->get());
      ASSERT_TRUE((*checkpoints)->RestoreOptimizer(loop.optimizer()).ok());
      const auto result = loop.Run();
      own.status = result.status();
      if (!result.ok() || result->stopped) return;
      EXPECT_EQ(result->epochs, kEpochs);
      own.end = All(*session);
      own.best_step = result->best->step;
      own.without_gain = result->gains.without_gain;
    });
  }
  static void ExpectSame(const std::vector<Seen>& whole, const std::vector<Seen>& seen,
                         const std::string& what) {
    for (size_t rank = 0; rank < whole.size(); ++rank) {
      ASSERT_TRUE(seen[rank].status.ok()) << what << ": " << seen[rank].status;
      ASSERT_EQ(seen[rank].weights.size(), whole[rank].weights.size()) << what;
      for (const auto& [step, weights] : whole[rank].weights) {
        EXPECT_TRUE(torch::equal(seen[rank].weights.at(step), weights))
            << what << ", rank " << rank << ", step " << step;
      }
      EXPECT_EQ(seen[rank].evaluations, whole[rank].evaluations) << what;
      EXPECT_EQ(seen[rank].best_step, whole[rank].best_step) << what;
      EXPECT_EQ(seen[rank].without_gain, whole[rank].without_gain) << what;
      EXPECT_TRUE(torch::equal(seen[rank].end, whole[rank].end)) << what;
    }
  }

  TestFolder folder_;
  TrainOptions options_;
  std::unique_ptr<StopSignal> stop_;
};

// Killed at each of these, one after the other, with the moment after the step before kept: at a
// step, right after a resume, twice in one epoch, and with an epoch of 5 (one rank) or 3 (two
// ranks) steps done but not evaluated.
TEST_F(CheckpointsTest, ARunThatIsKilledAndGoesOnEndsWithTheSameBits) {
  for (const int world_size : {1, 2}) {
    std::vector<Seen> whole(world_size);
    TrainOptions options = options_;
    Run(options, kNever, &whole);
    ASSERT_TRUE(whole[0].status.ok()) << whole[0].status;
    // Each run syncs a folder a step, so not all kills are tried with all depths.
    for (const auto& [prefetch, kills] : std::vector<std::pair<int, std::vector<int64_t>>>{
             {8, {1}}, {8, {3, 1, 2, 2}}, {1, {6}}, {0, {6, 1, 3}}}) {
      ForgetCheckpoints();
      options.prefetch = prefetch;
      std::vector<Seen> seen(world_size);
      for (const int64_t steps : kills) Run(options, steps, &seen);
      EXPECT_FALSE(seen[0].status.ok());
      Run(options, kNever, &seen);
      ExpectSame(whole, seen,
                 fmt::format("{} ranks, prefetch {}, killed after {}", world_size, prefetch,
                             fmt::join(kills, ", ")));
    }
    ForgetCheckpoints();
  }
}

// Evaluations after every second step: a moment is kept before the evaluation of its step.
TEST_F(CheckpointsTest, EvaluationsWithinEpochsCountOnceWhereverTheRunIsKilled) {
  TrainOptions options = options_;
  options.control.eval_every_steps = 2;
  options.control.patience = 100;
  std::vector<Seen> whole(1);
  Run(options, kNever, &whole);
  ASSERT_TRUE(whole[0].status.ok()) << whole[0].status;
  EXPECT_THAT(whole[0].evaluations, SizeIs(9));
  for (const auto& kills : std::vector<std::vector<int64_t>>{{3}, {4, 1}, {6, 2}}) {
    ForgetCheckpoints();
    std::vector<Seen> seen(1);
    for (const int64_t steps : kills) Run(options, steps, &seen);
    Run(options, kNever, &seen);
    ExpectSame(whole, seen, fmt::format("killed after {}", fmt::join(kills, ", ")));
  }
}

// A signal comes during a step; all ranks stop at the same one, and leave a checkpoint there.
TEST_F(CheckpointsTest, ARunThatASignalStopsGoesOnFromThatStep) {
  for (const int world_size : {1, 2}) {
    TrainOptions options = options_;
    options.checkpoint.every = {.steps = 0, .time = std::chrono::hours(1)};
    std::vector<Seen> whole(world_size);
    Run(options, kNever, &whole);
    ForgetCheckpoints();
    std::vector<Seen> seen(world_size);
    Run(options, kNever, &seen, [&](int64_t step) {
      if (step != 4) return;
      ASSERT_EQ(kill(getpid(), SIGTERM), 0);
      EXPECT_EQ(stop_->Wait(), SIGTERM);
    });
    ASSERT_TRUE(seen[0].status.ok()) << seen[0].status;
    const auto stored = ReadNewestCheckpoint(options.checkpoint.folder);
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_EQ(stored->manifest.place.steps_done, 4);
    EXPECT_EQ(static_cast<size_t>(stored->manifest.place.steps_done), seen[0].weights.size());
    InstallStop();
    Run(options, kNever, &seen);
    ExpectSame(whole, seen, fmt::format("{} ranks", world_size));
    ForgetCheckpoints();
  }
}

TEST_F(CheckpointsTest, AFinishedRunThatGoesOnHasNothingToDo) {
  std::vector<Seen> whole(1), again(1);
  Run(options_, kNever, &whole);
  Run(options_, kNever, &again);
  ASSERT_TRUE(again[0].status.ok());
  EXPECT_THAT(again[0].weights, SizeIs(0));
  EXPECT_EQ(again[0].best_step, whole[0].best_step);
  EXPECT_TRUE(torch::equal(again[0].end, whole[0].end));
}

TEST_F(CheckpointsTest, AModelIsGivenTheBestOrTheLastWeights) {
  std::vector<Seen> seen(1);
  Run(options_, kNever, &seen);
  const auto stored = ReadNewestCheckpoint(options_.checkpoint.folder);
  ASSERT_TRUE(stored.ok()) << stored.status();
  options_.seed = 99;
  auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  EXPECT_EQ(*LoadWeights(*stored, WhichWeights::kLast, *session->model, *session->task),
            WhichWeights::kLast);
  EXPECT_TRUE(torch::equal(Flat(session->Parameters()), seen[0].weights.rbegin()->second));
  EXPECT_EQ(*LoadWeights(*stored, WhichWeights::kBest, *session->model, *session->task),
            WhichWeights::kBest);
  EXPECT_TRUE(torch::equal(All(*session), seen[0].end));

  auto wider = std::make_shared<SageOptions>();
  wider->hidden = 17;
  options_.model_options = wider;
  auto other = MakeSession(options_, std::move(*Communicator::Join({})));
  const Status status =
      LoadWeights(*stored, WhichWeights::kLast, *other->model, *other->task).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("the model's is Float [17"));
}

TEST_F(CheckpointsTest, ARunOfOtherOptionsIsRefusedAndTheyAreNamed) {
  std::vector<Seen> seen(1);
  Run(options_, 2, &seen);
  const auto open = [&](const TrainOptions& options) {
    auto session = MakeSession(options, std::move(*Communicator::Join({})));
    const auto opened = Checkpoints::Open(*session, [](const Json&) { return OkStatus(); });
    return opened.status();
  };
  TrainOptions other = options_;
  other.learning_rate = 0.02;
  other.batch_size = 24;
  const Status status = open(other);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("--batch-size was 25, is 24; --lr was 0.01, is 0.02"));
  other = options_;
  other.checkpoint.resume = false;
  EXPECT_THAT(Message(open(other)), HasSubstr("--resume goes on from the newest"));
  other = options_;
  other.epochs = 9;
  EXPECT_TRUE(open(other).ok()) << "a run may be made longer";
}

TEST_F(CheckpointsTest, AFullDiskEndsNoTraining) {
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit small { 256, before.rlim_max };
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  std::vector<Json> lines;
  auto checkpoints = Checkpoints::Open(*session, [&](const Json& line) {
    lines.push_back(line);
    return OkStatus();
  });
  ASSERT_TRUE(checkpoints.ok()) << checkpoints.status();
  int64_t steps = 0;
  TrainingLoop loop(
      *session, [&](int64_t, double) { ++steps; }, [](const EpochStats&) { return OkStatus(); },
      (*checkpoints)->start(), checkpoints->get());
  const auto result = loop.Run();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(steps, 15);
  ASSERT_FALSE(lines.empty());
  for (const Json& line : lines) {
    EXPECT_THAT(line["checkpoint_error"]["error"].get<std::string>(),
                HasSubstr("RESOURCE_EXHAUSTED"));
  }
  EXPECT_TRUE(fs::is_empty(options_.checkpoint.folder));
  EXPECT_THAT((*checkpoints)->Advice(), HasSubstr("no checkpoint had been taken"));
}

}  // namespace
}  // namespace halograph
