// A run as run.cc makes it, on each of some ranks, that is killed after some steps and goes on from
// its checkpoints; and what it said and came to.
#pragma once

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/learnable_run.h"
#include "tests/support/ranks.h"
#include "tests/support/run_stores.h"
#include "tests/support/test_folder.h"
#include "trainer/checkpoint/checkpoints.h"
#include "trainer/launch/resolve.h"
#include "trainer/models/sage.h"
#include "trainer/tasks/registry.h"

namespace halograph {

inline constexpr int64_t kEpochs = 3;
inline constexpr int64_t kNever = 1 << 20;

// What a rank saw of a run: weights by how many steps were done, and what it came to.
struct Seen {
  std::map<int64_t, torch::Tensor> weights;
  std::map<int64_t, std::string> evaluations;  // what was said after so many steps
  torch::Tensor end;                           // the best weights, and buffers
  torch::Tensor left;                          // as Weights gives them
  TrainResult result;
  Status status;
};

// All that does not depend on how fast the run was.
inline std::string Said(const EpochStats& stats) {
  const auto whole = [&](Figure figure) { return std::llround(stats.figures[figure]); };
  const SetFigures valid = stats.valid.value_or(SetFigures());
  const SetFigures test = stats.test.value_or(SetFigures());
  return fmt::format("{} {} {} {}; trained: {} {}, {} steps, {} seeds, {} edges", valid.metric,
                     valid.loss, test.metric, test.loss, stats.figures[Figure::kLoss],
                     stats.train_metric, whole(Figure::kSteps), whole(Figure::kTrainSeeds),
                     whole(Figure::kSampledEdges));
}

// What a run came to, but for times.
inline std::string Shown(const TrainResult& result) {
  const EpochStats& best = *result.best;
  return fmt::format(
      "best epoch {}, step {}, loss {}, {}, {} {}; by {}: {} epochs, {} steps, {} edges, evaluated "
      "at {}, {} without gain",
      best.epoch, best.step, best.figures[Figure::kLoss], best.train_metric, best.valid->metric,
      best.test->metric, NameOf(result.ended_by), result.epochs, result.steps, result.sampled_edges,
      result.evaluated, result.gains.without_gain);
}

// What a test does to the calls of a store.
struct Hooks {
  std::function<Status(std::optional<int64_t> step, const CallContext& context)> before_snapshot;
  std::function<void(std::optional<int64_t> step)> after_snapshot;
  std::function<void()> before_push, before_training_pull;
};

class HookedRowStore final : public RowStore {
 public:
  HookedRowStore(std::shared_ptr<RowStore> store, const Hooks* hooks)
      : store_(std::move(store)), hooks_(*hooks) {}

  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    // The test's own pulls cannot be cancelled.
    if (hooks_.before_training_pull && context.cancel != nullptr) hooks_.before_training_pull();
    return store_->Pull(requests, context);
  }
  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                       CallContext& context) override {
    if (hooks_.before_push) hooks_.before_push();
    return store_->Push(pushes, context);
  }

 private:
  const std::shared_ptr<RowStore> store_;
  const Hooks& hooks_;
};

class HookedAdmin final : public TensorAdmin {
 public:
  HookedAdmin(std::shared_ptr<TensorAdmin> admin, const Hooks* hooks)
      : admin_(std::move(admin)), hooks_(*hooks) {}

  Status Create(const MutableTensorSpec& spec, CallContext& context) override {
    return admin_->Create(spec, context);
  }
  Status Drop(const TensorRef& ref, CallContext& context) override {
    return admin_->Drop(ref, context);
  }
  StatusOr<std::vector<MutableTensorState>> List(CallContext& context) override {
    return admin_->List(context);
  }
  Status Snapshot(const std::string& name, std::optional<int64_t> step,
                  CallContext& context) override {
    if (hooks_.before_snapshot) HG_RETURN_IF_ERROR(hooks_.before_snapshot(step, context));
    const Status kept = admin_->Snapshot(name, step, context);
    if (hooks_.after_snapshot) hooks_.after_snapshot(step);
    return kept;
  }
  StatusOr<std::map<int, std::vector<SnapshotInfo>>> ListSnapshots(CallContext& context) override {
    return admin_->ListSnapshots(context);
  }
  StatusOr<std::map<int, SnapshotInfo>> DescribeSnapshot(const std::string& name,
                                                         CallContext& context) override {
    return admin_->DescribeSnapshot(name, context);
  }
  StatusOr<int64_t> ReadSnapshot(const std::string& name, const MutableTensorSpec& spec,
                                 const TakeImages& take, CallContext& context) override {
    return admin_->ReadSnapshot(name, spec, take, context);
  }
  Status DeleteSnapshot(const std::string& name, CallContext& context) override {
    return admin_->DeleteSnapshot(name, context);
  }
  Status RestoreSnapshot(const std::string& name, CallContext& context) override {
    return admin_->RestoreSnapshot(name, context);
  }

 private:
  const std::shared_ptr<TensorAdmin> admin_;
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
    options_ = LearnableRun(folder_.path(), 240, /*batch_size=*/25, kEpochs);
    auto sage = std::make_shared<SageOptions>();
    sage->hidden = 16;
    sage->dropout = 0.5;
    sage->norm = Normalization::kBatch;  // buffers that differ from rank to rank
    options_.model = "sage";
    options_.model_options = std::move(sage);
    options_.checkpoint.every = {.steps = 1, .time = {}};
    options_.checkpoint.folder = (folder_.path() / "checkpoints").string();
    options_.checkpoint.resume = true;
    Resolve(&options_);
    InstallStop();
  }
  void InstallStop() {
    stop_.reset();
    auto stop = StopSignal::Install();
    ASSERT_TRUE(stop.ok()) << stop.status();
    stop_ = std::move(*stop);
  }
  void ForgetCheckpoints() const { std::filesystem::remove_all(options_.checkpoint.folder); }

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
        [run](int64_t) {
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
    session->stores = std::move(*OpenRunStores(options));
    session->stores.rows = std::make_shared<HookedRowStore>(session->stores.rows, &hooks_);
    if (session->stores.admin != nullptr) {
      session->stores.admin = std::make_shared<HookedAdmin>(session->stores.admin, &hooks_);
    }
    session->task = std::move(
        *OpenTask(session->stores, options.tasks, "", {options.rank, options.world_size}));
    const Schema& schema = session->stores.graph->info().schema;
    BatchRecipe recipe;
    recipe.sampling = SamplingSpec::Uniform(schema, options.fanouts);
    const auto learnt = *ChooseLearntTypes(options.embeddings, schema);
    std::vector<int> learnt_types;
    for (const LearntType& type : learnt) learnt_types.push_back(type.node_type);
    recipe.inputs =
        *ChooseInputs(**FindModelKind("sage"), schema, {}, options.normalization, learnt_types);
    for (auto* const maker : {&session->train_maker, &session->eval_maker}) {
      *maker = std::make_unique<BatchMaker>(session->stores.graph.get(), session->stores.rows.get(),
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
    auto learnt =
        LearntInputs::Open(session->stores, embeddings, *ChooseLearntTypes(embeddings, schema), 5,
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
      const auto rows = session.learnt->Pull(all);
      EXPECT_TRUE(rows.ok()) << rows.status();
      tensors.push_back(rows->by_type[0]);
    }
    return Flat(tensors);
  }

  // One run on all ranks, going on from what is there; it dies after `steps` steps of its own.
  void Run(
      const TrainOptions& like, int64_t steps, std::vector<Seen>* seen,
      const std::function<void(int64_t step)>& each_step = [](int64_t) {}) {
    const int ranks_each = ranks_each_;
    const int processes = static_cast<int>(seen->size()) / ranks_each;
    const auto body = [&](std::unique_ptr<Communicator> ranks) {
      at::set_num_threads(compute_threads_);  // of this thread
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
          [&](int64_t) {
            own.weights[++done] = Weights(*session);
            (*checkpoints)->Wait();  // that of the step before
            if (options.rank == 0) each_step(done);
            if (done == last) throw std::runtime_error("killed");
          },
          [&](const EpochStats& stats) {
            own.evaluations[stats.step] = Said(stats);
            return OkStatus();
          },
          (*checkpoints)->start(), checkpoints->get());
      ASSERT_TRUE((*checkpoints)->RestoreOptimizer(loop.optimizer()).ok());
      const auto result = loop.Run();
      own.status = result.status();
      if (!result.ok() || result->stopped) return;
      EXPECT_TRUE(result->ended_by != EndedBy::kEpochs || result->epochs >= options.epochs);
      own.end = All(*session);
      own.left = Weights(*session);
      own.result = *result;
    };
    RunHostedRanks(processes, ranks_each, body, like.remote.timeout);
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
      EXPECT_EQ(Shown(seen[rank].result), Shown(whole[rank].result)) << what;
      EXPECT_TRUE(torch::equal(seen[rank].end, whole[rank].end)) << what;
    }
  }

  TestFolder folder_;
  TrainOptions options_;
  Hooks hooks_;
  int compute_threads_ = 1;     // of a rank, in Run
  int ranks_each_ = 1;          // of a process, in Run
  Session* running_ = nullptr;  // of rank 0, in Run
  std::unique_ptr<StopSignal> stop_;
};

}  // namespace halograph
