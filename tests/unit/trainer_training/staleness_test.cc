// How far behind the learnt rows are that a training loop's steps read (--staleness).
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/learnable_graph.h"
#include "tests/support/run_stores.h"
#include "tests/support/test_folder.h"
#include "trainer/launch/resolve.h"
#include "trainer/models/sage.h"
#include "trainer/tasks/registry.h"
#include "trainer/training/training_loop.h"

namespace halograph {
namespace {

// A store that remembers what a trainer asks for and pushes.
class RememberingRowStore final : public RowStore {
 public:
  struct Asked {
    std::vector<int64_t> ids;
    PushMark after;      // that the rows must show
    size_t begun = 0;    // pushes when the pull began
    size_t by_then = 0;  // and when it ended
  };
  struct Pushed {
    std::vector<int64_t> ids;
    PushMark mark;  // the answer
  };

  explicit RememberingRowStore(std::shared_ptr<RowStore> store) : store_(std::move(store)) {}

  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    const size_t begun = begun_.load();
    const Status pulled = store_->Pull(requests, context);
    for (const RowRequest& request : requests) {
      if (request.tensor.name != EmbeddingOptions().name) continue;
      const std::lock_guard lock(mutex_);
      asked_.push_back({{request.ids.begin(), request.ids.end()},
                        {request.after.begin(), request.after.end()},
                        begun,
                        begun_.load()});
    }
    return pulled;
  }
  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                       CallContext& context) override {
    ++begun_;
    auto marks = store_->Push(pushes, context);
    for (size_t i = 0; marks.ok() && i < pushes.size(); ++i) {
      pushed_.push_back({{pushes[i].ids.begin(), pushes[i].ids.end()}, (*marks)[i]});
    }
    return marks;
  }

  // What the step asked for that pushed `step`-th: the rows of the same nodes.
  std::optional<Asked> AskedOfStep(size_t step) {
    const std::lock_guard lock(mutex_);
    const auto asked = std::find_if(asked_.begin(), asked_.end(),
                                    [&](const Asked& one) { return one.ids == pushed_[step].ids; });
    return asked == asked_.end() ? std::nullopt : std::optional(*asked);
  }
  const std::vector<Pushed>& pushed() const { return pushed_; }

 private:
  const std::shared_ptr<RowStore> store_;
  std::atomic<size_t> begun_ = 0;
  std::mutex mutex_;
  std::vector<Asked> asked_;
  std::vector<Pushed> pushed_;  // by the loop's thread
};

struct Staleness {
  int64_t steps = 0;
  int prefetch = 4;
  int sample_threads = 2;
  int64_t prefetch_memory = 0;
  bool tune = false;
  int64_t bulk = 1;
  int64_t epochs = 2;
};

class StalenessTest : public testing::TestWithParam<Staleness> {
 protected:
  void SetUp() override {
    at::set_num_threads(1);
    auto graph = WriteTestGraph(LearnableGraph(240, 2), folder_.path() / "graph");
    ASSERT_TRUE(graph.ok()) << graph.status();
    TrainOptions options;
    options.graph = graph->string();
    options.fanouts = {4, 3};
    options.batch_size = 25;
    options.epochs = GetParam().epochs;
    options.bulk = GetParam().bulk;
    options.eval_every = 0;
    options.embeddings.types = {"node:8"};
    options.embeddings.staleness = GetParam().steps;
    options.prefetch = GetParam().prefetch;
    options.sample_threads = GetParam().sample_threads;
    options.prefetch_memory = GetParam().prefetch_memory;
    options.state.folder = (folder_.path() / "state").string();
    auto sage = std::make_shared<SageOptions>();
    sage->hidden = 16;
    options.model = "sage";
    options.model_options = std::move(sage);
    Resolve(&options);
    options.tune = GetParam().tune;
    stop_ = std::move(*StopSignal::Install());
    session_.options = options;
    session_.stop = stop_.get();
    OpenSession();
  }

  // As a run does, of one rank.
  void OpenSession() {
    const TrainOptions& options = session_.options;
    session_.ranks = std::move(*Communicator::Join({}));
    session_.sampler.minibatches = options.sample_threads;
    session_.stores = std::move(*OpenRunStores(options));
    rows_ = std::make_shared<RememberingRowStore>(session_.stores.rows);
    session_.stores.rows = rows_;
    session_.task = std::move(*OpenTask(session_.stores, options.tasks, ""));
    const Schema& schema = session_.stores.graph->info().schema;
    const std::vector<LearntType> learnt = *ChooseLearntTypes(options.embeddings, schema);
    BatchRecipe recipe;
    recipe.sampling = SamplingSpec::Uniform(schema, options.fanouts);
    for (auto* const maker : {&session_.train_maker, &session_.eval_maker}) {
      *maker = std::make_unique<BatchMaker>(session_.stores.graph.get(), rows_.get(), recipe);
    }
    torch::manual_seed(1);
    session_.model =
        (*FindModelKind("sage"))
            ->make(*options.model_options, {.schema = &schema,
                                            .input_dims = {learnt[0].dim},
                                            .layers = options.layers,
                                            .output_dim = session_.task->output_dim()});
    session_.learnt = std::move(*LearntInputs::Open(session_.stores, options.embeddings, learnt, 5,
                                                    session_.ranks.get(), nullptr));
  }

  TestFolder folder_;
  std::unique_ptr<StopSignal> stop_;
  Session session_;
  std::shared_ptr<RememberingRowStore> rows_;
};

TEST_P(StalenessTest, AStepReadsAfterThePushThatManyStepsAndOneBeforeItAndBeforeTheNext) {
  TrainingLoop loop(
      session_, [](int64_t) {}, [](const EpochStats&) { return OkStatus(); });
  const auto result = loop.Run();
  ASSERT_TRUE(result.ok()) << result.status();
  const auto behind = static_cast<size_t>(GetParam().steps) + 1;
  ASSERT_EQ(rows_->pushed().size(), static_cast<size_t>(5 * GetParam().epochs)) << "5 steps each";
  for (size_t step = 0; step < rows_->pushed().size(); ++step) {
    const auto asked = rows_->AskedOfStep(step);
    ASSERT_TRUE(asked.has_value()) << "step " << step << " pushed rows that it had not pulled";
    const PushMark wanted = step < behind ? PushMark() : rows_->pushed()[step - behind].mark;
    EXPECT_THAT(asked->after, testing::ElementsAreArray(wanted)) << "step " << step;
    const size_t pushes = step < behind ? 0 : step - behind + 1;
    EXPECT_EQ(asked->begun, pushes) << "step " << step;
    EXPECT_EQ(asked->by_then, pushes) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Steps, StalenessTest,
    testing::Values(Staleness{0}, Staleness{1}, Staleness{3}, Staleness{.steps = 0, .prefetch = 0},
                    Staleness{.steps = 3, .prefetch = 0},
                    Staleness{.steps = 1, .prefetch = 9, .sample_threads = 4},
                    // More than there are steps.
                    Staleness{.steps = 12},
                    // While few steps are sampled ahead.
                    Staleness{.steps = 3, .tune = true}, Staleness{.steps = 12, .tune = true},
                    // And the last of them is in a bulk that has more.
                    Staleness{.steps = 8, .tune = true, .bulk = 4, .epochs = 3},
                    // Not even one step has room.
                    Staleness{.steps = 3, .prefetch_memory = 1}));

}  // namespace
}  // namespace halograph
