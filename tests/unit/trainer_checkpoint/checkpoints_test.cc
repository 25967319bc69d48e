#include "trainer/checkpoint/checkpoints.h"

#include <condition_variable>
#include <csignal>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
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
  torch::Tensor left;                          // as Weights gives them
  int64_t best_step = -1;
  int64_t without_gain = -1;  // evaluations
  Status status;
};

// What a test does to the calls of a store.
struct Hooks {
  std::function<Status(std::optional<int64_t> step)> before_snapshot;
  std::function<void(std::optional<int64_t> step)> after_snapshot;
  std::function<void()> before_push, before_training_pull;
};

class HookedKVStore final : public KVStore {
 public:
  HookedKVStore(std::unique_ptr<KVStore> store, const Hooks* hooks)
      : store_(std::move(store)), hooks_(*hooks) {}

  const GraphInfo& info() const override { return store_->info(); }
  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    // The test's own pulls cannot be cancelled.
    if (hooks_.before_training_pull && context.cancel != nullptr) hooks_.before_training_pull();
    return store_->Pull(requests, context);
  }
  StatusOr<TaskSet> ReadTaskSet(const TaskSetRef& set, IdRange rows,
                                CallContext& context) override {
    return store_->ReadTaskSet(set, rows, context);
  }
  Status CreateTensor(const MutableTensorSpec& spec, CallContext& context) override {
    return store_->CreateTensor(spec, context);
  }
  StatusOr<std::vector<MutableTensorState>> ListTensors(CallContext& context) override {
    return store_->ListTensors(context);
  }
  StatusOr<PushMark> Push(const RowPush& push, CallContext& context) override {
    if (hooks_.before_push) hooks_.before_push();
    return store_->Push(push, context);
  }
  Status SnapshotTensors(const std::string& name, std::optional<int64_t> step,
                         CallContext& context) override {
    if (hooks_.before_snapshot) HG_RETURN_IF_ERROR(hooks_.before_snapshot(step));
    const Status kept = store_->SnapshotTensors(name, step, context);
    if (hooks_.after_snapshot) hooks_.after_snapshot(step);
    return kept;
  }
  StatusOr<std::map<int, std::vector<SnapshotInfo>>> ListSnapshots(CallContext& context) override {
    return store_->ListSnapshots(context);
  }
  Status DeleteSnapshot(const std::string& name, CallContext& context) override {
    return store_->DeleteSnapshot(name, context);
  }
  Status RestoreSnapshot(const std::string& name, CallContext& context) override {
    return store_->RestoreSnapshot(name, context);
  }

 private:
  const std::unique_ptr<KVStore> store_;
  const Hooks& hooks_;
};

// A run of one rank, and what it logs of its checkpoints.
struct RunLogged {
  std::unique_ptr<Session> session;
  std::vector<Json> lines;
  std::unique_ptr<Checkpoints> checkpoints;
  bool waits = false;  // after each step for the checkpoint of the step before
  int64_t steps = 0;
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

  // To its end, or to an error.
  void RunAlone(RunLogged* run) {
    run->session = MakeSession(options_, std::move(*Communicator::Join({})));
    auto opened = Checkpoints::Open(*run->session, [run](const Json& line) {
      run->lines.push_back(line);
      return OkStatus();
    });
    run->status = opened.status();
    if (!opened.ok()) return;
    run->checkpoints = std::move(*opened);
    TrainingLoop loop(
        *run->session,
        [run](int64_t, double) {
          ++run->steps;
          if (run->waits) run->checkpoints->Wait();
        },
        [](const EpochStats&) { return OkStatus(); }, run->checkpoints->start(),
        run->checkpoints.get());
    run->status = loop.Run().status();
  }
  std::unique_ptr<Session> MakeSession(TrainOptions options, std::unique_ptr<Communicator> ranks) {
    auto session = std::make_unique<Session>();
    session->options = options;
    session->stop = stop_.get();
    session->ranks = std::move(ranks);
    session->sampler.minibatches = options.sample_threads;
    session->stores = std::move(*OpenStores(StoreOptionsOf(options)));
    session->stores.kv = std::make_unique<HookedKVStore>(std::move(session->stores.kv), &hooks_);
    session->task = std::move(
        *OpenTask(*session->stores.kv, options.tasks, "", {options.rank, options.world_size}));
    const Schema& schema = session->stores.graph->info().schema;
    BatchRecipe recipe;
    recipe.sampling = SamplingSpec::Uniform(schema, options.fanouts);
    const auto learnt = *ChooseLearntTypes(options.embeddings, schema);
    std::vector<int> learnt_types;
    for (const LearntType& type : learnt) learnt_types.push_back(type.node_type);
    recipe.inputs =
        *ChooseInputs(**FindModelKind("sage"), schema, {}, options.normalization, learnt_types);
    for (auto* const maker : {&session->train_maker, &session->eval_maker}) {
      *maker = std::make_unique<BatchMaker>(session->stores.graph.get(), session->stores.kv.get(),
                                            recipe);
    }
    const ModelShape shape{
        .schema = &schema,
        .input_dims = {learnt.empty() ? recipe.inputs[0].spec.dim : learnt[0].dim},
        .layers = options.layers,
        .output_dim = session->task->output_dim()};
    static std::mutex generator;  // one for the process, and ranks are threads here
    const std::lock_guard lock(generator);
    torch::manual_seed(options.seed);
    session->model = (*FindModelKind("sage"))->make(*options.model_options, shape);
    if (!options.embeddings.types.empty()) OpenLearnt(session.get());
    return session;
  }
  // As a run does.
  static void OpenLearnt(Session* session) {
    EmbeddingOptions embeddings = session->options.embeddings;
    const auto goes_on = Checkpoints::GoesOn(session->options.checkpoint);
    ASSERT_TRUE(goes_on.ok()) << goes_on.status();
    if (*goes_on) embeddings.begin = EmbedBegin::kContinue;
    const Schema& schema = session->stores.graph->info().schema;
    auto learnt = LearntInputs::Open(session->stores.kv.get(), embeddings,
                                     *ChooseLearntTypes(embeddings, schema), 5,
                                     session->ranks.get(), nullptr);
    ASSERT_TRUE(learnt.ok()) << learnt.status();
    session->learnt = std::move(*learnt);
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

  // What a step changes: weights, and all learnt rows.
  static torch::Tensor Weights(const Session& session) {
    std::vector<torch::Tensor> tensors = session.Parameters();
    if (session.learnt != nullptr) {
      Minibatch all;
      all.nodes.emplace_back(session.stores.graph->info().schema.node_types[0].count);
      std::iota(all.nodes[0].begin(), all.nodes[0].end(), 0);
      const auto rows = session.learnt->Start(all, nullptr).get();
      EXPECT_TRUE(rows.ok()) << rows.status();
      tensors.push_back(rows->by_type[0]);
    }
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
      if (options.rank == 0) running_ = session.get();
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
            own.weights[++done] = Weights(*session);
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
      EXPECT_EQ(result->epochs == kEpochs, options.control.max_steps == 0);
      own.end = All(*session);
      own.left = Weights(*session);
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
  Hooks hooks_;
  Session* running_ = nullptr;  // of rank 0, in Run
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

// Learnt inputs go back with the weights, and the steps of their pushes; what is of no checkpoint
// any more is not in the state folder either.
class LearntCheckpointsTest : public CheckpointsTest {
 protected:
  void SetUp() override {
    CheckpointsTest::SetUp();
    options_.embeddings.types = {"node:8"};
    options_.state.folder = (folder_.path() / "state").string();
  }
  void ForgetAll() const {
    ForgetCheckpoints();
    fs::remove_all(options_.state.folder);
  }
  [[nodiscard]] std::vector<CheckpointManifest> Manifests() const {
    std::vector<CheckpointManifest> manifests;
    const auto there = ListCheckpoints(options_.checkpoint.folder).value();
    for (const auto& [steps, folder] : there) {
      manifests.push_back(ReadCheckpointManifest(folder).value());
    }
    return manifests;
  }
  [[nodiscard]] std::vector<std::string> NamedByCheckpoints() const {
    std::set<std::string> names;
    for (const CheckpointManifest& manifest : Manifests()) {
      names.insert(manifest.snapshot.value().name);
      if (manifest.best_snapshot.has_value()) names.insert(manifest.best_snapshot->name);
    }
    return {names.begin(), names.end()};
  }
  [[nodiscard]] std::vector<std::string> Snapshots() const {
    const auto stores = OpenStores(StoreOptionsOf(options_));
    EXPECT_TRUE(stores.ok()) << stores.status();
    CallContext context;
    const auto kept = stores->kv->ListSnapshots(context);
    EXPECT_TRUE(kept.ok()) << kept.status();
    std::vector<std::string> names;
    for (const SnapshotInfo& info : kept->at(0)) names.push_back(info.name);
    return names;
  }
};

TEST_F(LearntCheckpointsTest, ARunThatIsKilledAndGoesOnLearnsTheSameRows) {
  std::vector<Seen> whole(1);
  Run(options_, kNever, &whole);
  ASSERT_TRUE(whole[0].status.ok()) << whole[0].status;
  for (const auto& [every, kills] : std::vector<std::pair<int64_t, std::vector<int64_t>>>{
           {1, {1, 3, 1, 2, 2}}, {4, {2, 7, 1}}, {kNever, {6}}}) {
    ForgetAll();
    TrainOptions options = options_;
    options.checkpoint.every.steps = every;
    std::vector<Seen> seen(1);
    for (const int64_t steps : kills) Run(options, steps, &seen);
    EXPECT_FALSE(seen[0].status.ok());
    Run(options, kNever, &seen);
    ExpectSame(whole, seen,
               fmt::format("every {} steps, killed after {}", every, fmt::join(kills, ", ")));
    EXPECT_EQ(Snapshots(), NamedByCheckpoints());
  }
}

// The signal comes before the pushes of the fifth step, which then are made all the same, or before
// its rows are pulled, which they then are not.
TEST_F(LearntCheckpointsTest, ASignalLeavesACheckpointAtItsStep) {
  options_.checkpoint.every = {.steps = 0, .time = std::chrono::hours(1)};
  std::vector<Seen> whole(1);
  Run(options_, kNever, &whole);
  for (const auto& [hook, steps_done] :
       {std::pair{&Hooks::before_push, 5}, {&Hooks::before_training_pull, 4}}) {
    ForgetAll();
    int calls = 0;
    hooks_.*hook = [&] {
      if (++calls != 5) return;
      running_->cancel.Cancel();
      ASSERT_EQ(kill(getpid(), SIGTERM), 0);
      EXPECT_EQ(stop_->Wait(), SIGTERM);
    };
    std::vector<Seen> seen(1);
    Run(options_, kNever, &seen);
    hooks_ = {};
    ASSERT_TRUE(seen[0].status.ok()) << seen[0].status;
    EXPECT_EQ(Manifests().back().place.steps_done, steps_done);
    InstallStop();
    Run(options_, kNever, &seen);
    ExpectSame(whole, seen, fmt::format("stopped after {} steps", steps_done));
  }
}

TEST_F(LearntCheckpointsTest, TheEndHasTheRowsOfTheBestEvaluation) {
  options_.embeddings.learning_rate = 0.5;
  options_.control.eval_every_steps = 1;
  std::vector<Seen> whole;
  do {  // with one whose last evaluation is the best nothing would be shown
    ASSERT_LT(++options_.seed, 30U);
    ForgetAll();
    whole.assign(1, {});
    Run(options_, kNever, &whole);
    ASSERT_TRUE(whole[0].status.ok()) << whole[0].status;
  } while (whole[0].best_step > 10);
  EXPECT_TRUE(torch::equal(whole[0].left, whole[0].weights.at(whole[0].best_step)));

  // Also where the best was before the checkpoint that a killed run goes on from.
  ForgetAll();
  std::vector<Seen> seen(1);
  Run(options_, whole[0].best_step + 3, &seen);
  Run(options_, kNever, &seen);
  ExpectSame(whole, seen, "killed after the best");
  EXPECT_TRUE(torch::equal(seen[0].left, whole[0].left));
  Run(options_, kNever, &seen);
  EXPECT_TRUE(torch::equal(seen[0].left, whole[0].left)) << "of a finished run that goes on";
}

TEST_F(LearntCheckpointsTest, ACheckpointWhoseSnapshotIsGoneIsPassedOver) {
  std::vector<Seen> whole(1), seen(1);
  Run(options_, kNever, &whole);
  ForgetAll();
  TrainOptions first = options_;
  first.control.max_steps = 7;
  Run(first, kNever, &seen);  // leaves one of its end, and one of its beginning
  const auto drop = [&](const std::string& name) {
    const auto stores = OpenStores(StoreOptionsOf(options_));
    CallContext context;
    ASSERT_TRUE(stores->kv->DeleteSnapshot(name, context).ok());
  };
  drop(Manifests().back().snapshot->name);
  Run(options_, kNever, &seen);
  ExpectSame(whole, seen, "from the checkpoint before");

  for (const std::string& name : Snapshots()) drop(name);
  auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  const auto none = Checkpoints::Open(*session, [](const Json&) { return OkStatus(); });
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(none.status()), HasSubstr("learnt inputs are in snapshot checkpoints-"));
  EXPECT_THAT(Message(none.status()), HasSubstr("--state folder of the run"));
}

TEST_F(LearntCheckpointsTest, ASnapshotThatIsRefusedEndsNoTraining) {
  hooks_.before_snapshot = [](auto) { return ResourceExhausted("no room"); };
  options_.checkpoint.every.steps = 6;
  RunLogged run;
  RunAlone(&run);
  ASSERT_TRUE(run.status.ok()) << run.status;
  EXPECT_EQ(run.steps, 15);
  std::vector<int64_t> at;
  for (const Json& line : run.lines) {
    const Json& error = line["checkpoint_error"];
    at.push_back(error["steps_done"].get<int64_t>());
    EXPECT_THAT(error["error"].get<std::string>(), HasSubstr("snapshot of learnt inputs"));
    EXPECT_THAT(error["error"].get<std::string>(), HasSubstr("no room"));
  }
  ASSERT_GE(at.size(), 3U);
  EXPECT_EQ(at.front(), 0) << "before the first step";
  EXPECT_GE(at[1], 6);
  EXPECT_EQ(at.back(), 15) << "at the end";
  EXPECT_TRUE(ListCheckpoints(options_.checkpoint.folder)->empty());
}

// The first one that is due: nothing else is being written then.
TEST_F(LearntCheckpointsTest, ASnapshotIsAskedForByTheStepOfItsMoment) {
  options_.checkpoint.every.steps = 4;
  options_.checkpoint.keep = 9;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int64_t> kept;
  int64_t pushes = 0;
  hooks_.after_snapshot = [&](std::optional<int64_t> step) {
    const std::lock_guard lock(mutex);
    if (step.has_value()) kept.push_back(*step);
    changed.notify_all();
  };
  // Steps are so short here that the next one might be over before the store hears of it.
  hooks_.before_push = [&] {
    std::unique_lock lock(mutex);
    if (++pushes != 5) return;
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(20), [&] { return !kept.empty(); }));
  };
  RunLogged run;
  RunAlone(&run);
  ASSERT_TRUE(run.status.ok()) << run.status;
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(kept.front(), 3);
  std::vector<int64_t> next;
  for (const CheckpointManifest& manifest : Manifests()) {
    EXPECT_EQ(manifest.snapshot->next_step, manifest.place.steps_done);
    next.push_back(manifest.snapshot->next_step);
  }
  ASSERT_GE(next.size(), 3U);
  EXPECT_EQ(next.front(), 0);
  EXPECT_EQ(next[1], 4);
  EXPECT_EQ(next.back(), 15);
}

TEST_F(LearntCheckpointsTest, AfterOneThatCameTooLateTrainingWaits) {
  options_.checkpoint.every.steps = 4;
  options_.checkpoint.keep = 9;
  hooks_.before_snapshot = [&](std::optional<int64_t> step) {
    return step.has_value() ? FailedPrecondition("step {} is over", *step) : OkStatus();
  };
  RunLogged run;
  run.waits = true;  // or all steps might be over before the news of the first
  RunAlone(&run);
  ASSERT_TRUE(run.status.ok()) << run.status;
  std::vector<int64_t> missed, kept;
  for (const Json& line : run.lines) {
    if (!line.contains("checkpoint_error")) continue;
    missed.push_back(line["checkpoint_error"]["steps_done"].get<int64_t>());
    EXPECT_THAT(line["checkpoint_error"]["error"].get<std::string>(), HasSubstr("is over"));
  }
  EXPECT_THAT(missed, ElementsAre(4, 8, 12));
  for (const CheckpointManifest& manifest : Manifests()) kept.push_back(manifest.place.steps_done);
  EXPECT_THAT(kept, ElementsAre(0, 6, 10, 14, 15)) << "the steps after the news, and the end";
}

TEST_F(LearntCheckpointsTest, ARunWithoutResumeLeavesTheRowsAlone) {
  std::vector<Seen> seen(1);
  Run(options_, 2, &seen);
  TrainOptions options = options_;
  options.checkpoint.resume = false;
  EXPECT_THAT(Message(Checkpoints::GoesOn(options.checkpoint).status()),
              HasSubstr("--resume goes on from the newest"));
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
  RunLogged run;
  RunAlone(&run);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(run.status.ok()) << run.status;
  EXPECT_EQ(run.steps, 15);
  ASSERT_FALSE(run.lines.empty());
  for (const Json& line : run.lines) {
    EXPECT_THAT(line["checkpoint_error"]["error"].get<std::string>(),
                HasSubstr("RESOURCE_EXHAUSTED"));
  }
  EXPECT_TRUE(fs::is_empty(options_.checkpoint.folder));
  EXPECT_THAT(run.checkpoints->Advice(), HasSubstr("no checkpoint had been taken"));
}

}  // namespace
}  // namespace halograph
