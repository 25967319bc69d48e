// Training, evaluation and predictions on a device whose queues run in any order: the same bits in
// every order, and but for rounding those of the CPU.
#include <mutex>

#include <gmock/gmock.h>

#include "tests/support/fake_device/bits.h"
#include "tests/support/learnable_run.h"
#include "tests/support/ranks.h"
#include "tests/support/run_stores.h"
#include "tests/support/test_folder.h"
#include "tests/support/whole_rest.h"
#include "tests/unit/trainer_device/fake_one.h"
#include "trainer/device/host_memory.h"
#include "trainer/launch/resolve.h"
#include "trainer/models/registry.h"
#include "trainer/pipeline/feature_memory.h"
#include "trainer/tasks/registry.h"
#include "trainer/training/batch_feed.h"
#include "trainer/training/device_cache.h"
#include "trainer/training/evaluation.h"
#include "trainer/training/read_forecast.h"
#include "trainer/training/training_loop.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// What is trained: the name of a model, and its options.
struct Trained {
  const char* model;
  std::vector<std::pair<std::string, std::string>> options;
};
const Trained kSageOfAll = {"sage",
                            {{"hidden", "8"},
                             {"norm", "layer"},
                             {"ngnn", "1"},
                             {"residual", "true"},
                             {"input-dropout", "0.2"}}};
const Trained kAll[] = {
    kSageOfAll,
    {"sage", {{"hidden", "8"}, {"aggregator", "pool"}, {"norm", "batch"}}},
    {"gcn", {{"hidden", "8"}}},
    {"gat", {{"hidden", "8"}, {"heads", "2"}, {"attention-dropout", "0.3"}}},
    {"gat", {{"hidden", "8"}, {"heads", "2"}, {"gatv2", "true"}}},
    {"sgc", {}},
    {"rgcn", {{"hidden", "8"}, {"bases", "2"}}},
    {"rgcn", {{"hidden", "8"}, {"blocks", "2"}}},
};

// The same nodes, and beside them 30 of another type, whose rows are wider.
TestGraphSpec TypedGraph() {
  TestGraphSpec spec = LearnableGraph(120, 2);
  TestNodeType tag{.name = "tag"};
  TestRelation on{.source = "tag", .name = "on", .destination = "node"};
  TestRelation has{.source = "node", .name = "has", .destination = "tag"};
  std::vector<float> features;
  for (int64_t i = 0; i < 30; ++i) {
    tag.owners.push_back(static_cast<int>(i % 2));
    for (int64_t col = 0; col < 6; ++col) {
      features.push_back(static_cast<float>(i * col % 7) / 7);
    }
    for (int64_t edge = 0; edge < 8; ++edge) on.edges.emplace_back(i, (i * 5 + edge * 11) % 120);
    has.edges.emplace_back((i * 7) % 120, i);
  }
  tag.features = {MakeTensor("feat", features, 6)};
  spec.node_types.push_back(tag);
  spec.relations.push_back(on);
  spec.relations.push_back(has);
  return spec;
}

void ExpectSameBits(const Tensors& found, const Tensors& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_TRUE(HaveSameBits(found[i], wanted[i])) << "value " << i;
  }
}

class DeviceTrainingTest : public FakeOrdersTest {
 protected:
  static void SetUpTestSuite() {
    static HostBlocks blocks(FakeOne());
    SetFeatureMemory({.take = [](size_t bytes) { return blocks.Take(bytes); },
                      .give = [](void* data) { blocks.Give(data); }});
  }

  void SetUp() override {
    FakeOrdersTest::SetUp();
    options_ = LearnableRun(folder_.path(), 120, /*batch_size=*/20, /*epochs=*/2);
    options_.control.clip_norm = 1;
    stop_ = std::move(*StopSignal::Install());
  }

  void UseGraph(const TestGraphSpec& spec, const char* name) {
    auto graph = WriteTestGraph(spec, folder_.path() / name);
    ASSERT_TRUE(graph.ok()) << graph.status();
    options_.graph = graph->string();
  }

  std::unique_ptr<Session> MakeSession(const Trained& trained, const Device& device,
                                       std::unique_ptr<Communicator> ranks) {
    TrainOptions options = options_;
    options.model = trained.model;
    const ModelKind& kind = **FindModelKind(trained.model);
    std::shared_ptr<ModelOptions> model = kind.options();
    OptionTable rows;
    model->AddRows(rows);
    for (const auto& [name, text] : trained.options) EXPECT_TRUE(rows.Set(name, text).ok()) << name;
    options.model_options = model;
    Resolve(&options);
    options.rank = ranks->rank();
    options.world_size = ranks->world_size();
    auto session = std::make_unique<Session>();
    session->options = options;
    session->stop = stop_.get();
    session->ranks = std::move(ranks);
    session->device = device;
    if (!device.is_cpu()) session->copier = std::make_unique<const BatchCopier>(device);
    session->sampler.minibatches = options.sample_threads;
    session->stores = std::move(*OpenRunStores(options));
    if (options.compact == CompactOn::kDevice) {
      session->stores.graph = std::make_shared<WholeRestGraphStore>(*MapGraph(options.graph, {}),
                                                                    std::make_shared<RestRecord>());
    }
    session->task = std::move(
        *OpenTask(session->stores, options.tasks, "", {options.rank, options.world_size}));
    if (all_is_far_) {
      const auto far = *MapGraph(options.graph, {});
      session->stores.graph =
          std::make_shared<WholeRestGraphStore>(far, std::make_shared<RestRecord>());
      session->stores.rows =
          std::make_shared<WholeRestRowStore>(far, std::make_shared<RestRecord>());
    }
    if (part_is_far_) {
      auto cache = CachedRows::Create(
          session->stores.rows, session->stores.graph->info(),
          {.tensors = {TensorRef{false, "node", "feat"}}, .own_parts = {0}, .memory_bytes = 20000});
      EXPECT_TRUE(cache.ok()) << cache.status();
      session->cache = *std::move(cache);
    }
    MakeRest(kind, *session);
    return session;
  }

  static void MakeMakers(const BatchRecipe& recipe, Session& session) {
    GraphStore* const graph = session.stores.graph.get();
    RowStore* const rows = session.stores.rows.get();
    RowStore* const cached = session.cache.get();
    session.train_maker =
        std::make_unique<BatchMaker>(graph, cached != nullptr ? cached : rows, recipe);
    session.eval_maker = std::make_unique<BatchMaker>(graph, rows, recipe);
  }

  // Makers of minibatches, and the model.
  static void MakeRest(const ModelKind& kind, Session& session) {
    const Schema& schema = session.stores.graph->info().schema;
    const ModelNeeds needs = session.options.model_options->NeedsOf(kind.needs);
    BatchRecipe recipe;
    recipe.sampling = SamplingSpec::Uniform(schema, session.options.fanouts);
    recipe.inputs = *ChooseInputs(kind, schema, {}, session.options.normalization);
    recipe.input_rows = needs.input_rows;
    recipe.form = needs.form;
    recipe.by_source = needs.by_source;
    // Rows of other widths are mapped to one, by weights.
    if (schema.node_types.size() > 1) recipe.by_source = BySource::kAll;
    if (session.options.compact == CompactOn::kDevice) {
      recipe.compact = CompactOnDevice(session.device, session.options.rank);
    }
    if (!session.device.is_cpu()) recipe = ForDevice(std::move(recipe));
    MakeMakers(recipe, session);
    if (session.options.device_cache_memory > 0) {
      const Status opened = OpenDeviceCache(session);
      EXPECT_TRUE(opened.ok()) << opened;
      recipe.held = session.device_rows->held();
      MakeMakers(recipe, session);
    }
    std::vector<int64_t> dims(schema.node_types.size());
    for (const NodeInput& input : recipe.inputs) dims[input.node_type] = input.spec.dim;
    const ModelShape shape{.schema = &schema,
                           .input_dims = dims,
                           .layers = session.options.layers,
                           .output_dim = session.task->output_dim()};
    static std::mutex generator;
    const std::lock_guard lock(generator);
    torch::manual_seed(4);
    session.model = kind.make(*session.options.model_options, shape);
    session.model->to(session.device.torch());
  }

  // Losses and metrics of the epochs, predictions, and the weights. `last`: of the last epoch.
  static Tensors Train(Session& session, EpochFigures* last = nullptr) {
    Tensors found;
    TrainingLoop loop(
        session, [](int64_t) {},
        [&](const EpochStats& stats) {
          found.push_back(torch::tensor({stats.figures[Figure::kLoss], stats.valid->metric,
                                         stats.valid->loss, stats.train_metric}));
          if (last != nullptr) *last = stats.figures;
          return OkStatus();
        });
    const auto result = loop.Run();
    EXPECT_TRUE(result.ok()) << result.status();
    session.options.predict_what = PredictWhat::kLogits;
    const auto predictions = Predict(session);
    EXPECT_TRUE(predictions.ok()) << predictions.status();
    found.push_back(torch::tensor(predictions->values));
    for (const torch::Tensor& parameter : session.model->parameters()) {
      found.push_back(parameter.detach().to(torch::kCPU));
    }
    return found;
  }
  Tensors TrainOn(const Device& device, const Trained& trained, EpochFigures* last = nullptr) {
    return Train(*MakeSession(trained, device, std::move(*Communicator::Join({}))), last);
  }
  // The figures of the last epoch, with so much memory for rows that stay: some are found there,
  // and no bit differs from `wanted`.
  EpochFigures TrainWithRowsThere(const Trained& trained, int64_t size, const Tensors& wanted) {
    options_.device_cache_memory = size;
    EpochFigures last;
    ExpectSameBits(TrainOn(FakeOne(), trained, &last), wanted);
    EXPECT_GT(last[Figure::kDeviceHits], 0);
    return last;
  }

  TestFolder folder_;
  TrainOptions options_;
  bool part_is_far_ = false;  // part 1, so that training reads its rows by way of a cache
  bool all_is_far_ = false;   // as with servers: the topology is not here, and no row
  std::unique_ptr<StopSignal> stop_;
};

TEST_P(DeviceTrainingTest, EveryModelHasTheSameBitsInEveryOrder) {
  for (const Trained& trained : kAll) {
    SCOPED_TRACE(trained.model);
    // "Nobody until asked" alone shows each error of the copier.
    const bool first = &trained == &kAll[0];
    if (!first && GetParam().runs != FakeOrder::Runs::kWhenAsked) continue;
    FakeDevice::SetOrder({FakeOrder::Runs::kAtOnce, 0});
    const Tensors wanted = TrainOn(FakeOne(), trained);
    FakeDevice::SetOrder(GetParam());
    ExpectSameBits(TrainOn(FakeOne(), trained), wanted);
    // Behind the first epoch's loss, steps of Adam make much of little rounding.
    const Tensors cpu = TrainOn(Device(), trained);
    EXPECT_NEAR(wanted[0][0].item<double>(), cpu[0][0].item<double>(), 1e-4);
  }
}

TEST_P(DeviceTrainingTest, PrefetchChangesNoBit) {
  const Tensors wanted = TrainOn(FakeOne(), kSageOfAll);
  options_.prefetch = 0;
  options_.sample_threads = 1;
  ExpectSameBits(TrainOn(FakeOne(), kSageOfAll), wanted);
}

// Of one rank, without a limit to the norm of its gradients.
TEST_P(DeviceTrainingTest, AStepWaitsForNothing) {
  if (GetParam().runs != FakeOrder::Runs::kWhenAsked) return;  // who waits hangs on no order
  options_.control.clip_norm = 0;
  options_.eval_every = 0;
  for (const Trained& trained : kAll) {
    SCOPED_TRACE(trained.model);
    const auto waits_of = [&](int64_t epochs) {
      options_.epochs = epochs;
      auto session = MakeSession(trained, FakeOne(), std::move(*Communicator::Join({})));
      const int64_t before = FakeDevice::Waits();
      TrainingLoop loop(
          *session, [](int64_t) {}, [](const EpochStats&) { return OkStatus(); });
      EXPECT_TRUE(loop.Run().ok());
      return FakeDevice::Waits() - before;
    };
    EXPECT_EQ(waits_of(3), waits_of(1)) << "only the last evaluation does";
  }
}

TEST_P(DeviceTrainingTest, EvaluationAndPredictionsWaitForNothing) {
  if (GetParam().runs != FakeOrder::Runs::kWhenAsked) return;
  options_.eval_batch_size = 10;
  options_.predict_what = PredictWhat::kLogits;
  for (const Trained& trained : kAll) {
    SCOPED_TRACE(trained.model);
    auto session = MakeSession(trained, FakeOne(), std::move(*Communicator::Join({})));
    const int64_t before = FakeDevice::Waits();
    EXPECT_TRUE(Evaluate(*session, BatchPurpose::kValid).ok());
    EXPECT_TRUE(Predict(*session).ok());
    EXPECT_EQ(FakeDevice::Waits(), before);
  }
}

// Keeps every second step, and says how many it has.
class CountedMoments final : public MomentKeeper {
 public:
  Status KeepFirst(const TrainingMoment&) override { return OkStatus(); }
  bool Wants(int64_t steps_done) override { return steps_done % 2 == 0; }
  Status Keep(const TrainingMoment&) override {
    ++kept;
    return OkStatus();
  }
  Status KeepLast(const TrainingMoment&) override { return OkStatus(); }
  StatusOr<bool> KeepBestInputs(int64_t) override { return false; }
  StatusOr<bool> PutBackBestInputs() override { return false; }

  int64_t kept = 0;
};

TEST_P(DeviceTrainingTest, ALossThatIsNoNumberIsToldBeforeAnythingIsKept) {
  options_.control.clip_norm = 0;
  options_.learning_rate = 1e30;
  for (const Device& device : {Device(), FakeOne()}) {
    auto session =
        MakeSession({"gcn", {{"hidden", "8"}}}, device, std::move(*Communicator::Join({})));
    CountedMoments moments;
    TrainingLoop loop(
        *session, [](int64_t) {}, [](const EpochStats&) { return OkStatus(); }, {}, &moments);
    const Status status = loop.Run().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(Message(status), HasSubstr("rank 0, epoch 0, step 1: the loss is"));
    EXPECT_EQ(moments.kept, 0) << "the second step is to be kept";
  }
}

// Blocks with self loops and by source, too, are made of what comes home.
TEST_P(DeviceTrainingTest, CompactionOnTheDeviceChangesNoBit) {
  for (const Trained& trained : {kAll[0], kAll[2]}) {
    options_.prefetch = 4;
    options_.compact = CompactOn::kHost;
    const Tensors wanted = TrainOn(FakeOne(), trained);
    options_.compact = CompactOn::kDevice;
    ExpectSameBits(TrainOn(FakeOne(), trained), wanted);
    options_.prefetch = 0;
    ExpectSameBits(TrainOn(FakeOne(), trained), wanted);
  }
}

TEST_P(DeviceTrainingTest, RanksSumTheirGradientsOnTheHost) {
  const auto train = [&](const Device& device) {
    std::vector<Tensors> of_ranks(2);
    RunRanks(2, [&](std::unique_ptr<Communicator> ranks) {
      const int rank = ranks->rank();
      of_ranks[static_cast<size_t>(rank)] =
          Train(*MakeSession(kSageOfAll, device, std::move(ranks)));
    });
    return of_ranks[0];
  };
  const Tensors found = train(FakeOne());
  options_.device_cache_memory = 16 * 40;  // of each rank, for the rows that it reads itself
  ExpectSameBits(train(FakeOne()), found);
  options_.device_cache_memory = 0;
  const Tensors cpu = train(Device());
  ASSERT_EQ(found.size(), cpu.size());
  for (size_t i = 0; i < cpu.size(); ++i)
    EXPECT_TRUE(torch::allclose(found[i], cpu[i], 1e-3, 1e-3)) << i;
}

TEST_P(DeviceTrainingTest, ADeviceWithoutMemoryEndsTheRunWithOneMessage) {
  auto session = MakeSession(kSageOfAll, FakeOne(), std::move(*Communicator::Join({})));
  FakeDevice::LimitMemory(FakeDevice::MemoryInUse() + 9000);
  Status status;
  {
    TrainingLoop loop(
        *session, [](int64_t) {}, [](const EpochStats&) { return OkStatus(); });
    status = loop.Run().status();
  }
  FakeDevice::Reset();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(Message(status), AllOf(HasSubstr("out of memory"), HasSubstr("--batch-size")));
}

// Rows of 16 bytes: one, a third of them, more than there are.
constexpr int64_t kSizes[] = {16, 16 * 40, 1 << 20};

TEST_P(DeviceTrainingTest, RowsThatStayThereChangeNoBit) {
  EpochFigures all;
  const Tensors wanted = TrainOn(FakeOne(), kSageOfAll, &all);
  EXPECT_EQ(all[Figure::kDeviceHits], 0);
  for (const int64_t size : kSizes) {
    SCOPED_TRACE(size);
    const EpochFigures last = TrainWithRowsThere(kSageOfAll, size, wanted);
    EXPECT_EQ(last[Figure::kDeviceSaved], 16 * last[Figure::kDeviceHits]);
    EXPECT_EQ(last[Figure::kLocalBytes] + last[Figure::kDeviceSaved], all[Figure::kLocalBytes])
        << "what is there is not gathered, and all else is";
    EXPECT_EQ(last[Figure::kLocalBytes] == 0, size == kSizes[2]);
  }
}

TEST_P(DeviceTrainingTest, RowsOfServersThatStayThereChangeNoBit) {
  const Tensors wanted = TrainOn(FakeOne(), kSageOfAll);
  all_is_far_ = true;
  EpochFigures all;
  ExpectSameBits(TrainOn(FakeOne(), kSageOfAll, &all), wanted);
  for (const int64_t size : {16 * 40, 1 << 20}) {
    SCOPED_TRACE(size);
    const EpochFigures last = TrainWithRowsThere(kSageOfAll, size, wanted);
    EXPECT_EQ(last[Figure::kRemoteBytes] + last[Figure::kDeviceSaved], all[Figure::kRemoteBytes]);
  }
}

TEST_P(DeviceTrainingTest, RowsOfSeveralTypesThatStayThereChangeNoBit) {
  UseGraph(TypedGraph(), "typed");
  const Trained rgcn = {"rgcn", {{"hidden", "8"}}};
  const Tensors wanted = TrainOn(FakeOne(), rgcn);
  for (const int64_t size : {16 * 30, 1 << 20}) {
    SCOPED_TRACE(size);
    static_cast<void>(TrainWithRowsThere(rgcn, size, wanted));
  }
}

TEST_P(DeviceTrainingTest, ACacheOfTheHostKnowsNothingOfRowsThatStayThere) {
  part_is_far_ = true;
  EpochFigures without;
  const Tensors wanted = TrainOn(FakeOne(), kSageOfAll, &without);
  const auto remote = [](const EpochFigures& figures) {
    return figures[Figure::kCacheHits] + figures[Figure::kCacheMisses];
  };
  ASSERT_GT(remote(without), 0);
  for (const int64_t size : kSizes) {
    SCOPED_TRACE(size);
    const EpochFigures last = TrainWithRowsThere(kSageOfAll, size, wanted);
    EXPECT_LE(remote(last), remote(without));
    EXPECT_EQ(remote(last) == 0, size == kSizes[2]);
  }
}

TEST_P(DeviceTrainingTest, ADeviceWithoutMemoryForRowsThatAreToStayIsToldOf) {
  auto session = MakeSession(kSageOfAll, FakeOne(), std::move(*Communicator::Join({})));
  session->options.device_cache_memory = 1 << 20;
  FakeDevice::LimitMemory(FakeDevice::MemoryInUse() + 3000);
  const Status status = OpenDeviceCache(*session);
  FakeDevice::Reset();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(Message(status), AllOf(HasSubstr("--device-cache-memory 1"), HasSubstr("ran out"),
                                     HasSubstr("give less")));
  EXPECT_EQ(session->device_rows, nullptr);
}

TEST_P(DeviceTrainingTest, WhereNoRowCanStayItSaysWhy) {
  auto session = MakeSession(kSageOfAll, FakeOne(), std::move(*Communicator::Join({})));
  session->options.device_cache_memory = 15;
  Status status = OpenDeviceCache(*session);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(Message(status), AllOf(HasSubstr("--device-cache-memory 15"), HasSubstr("takes 16")));
  BatchRecipe recipe = session->train_maker->recipe();
  recipe.inputs.clear();
  MakeMakers(recipe, *session);
  status = OpenDeviceCache(*session);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(Message(status), HasSubstr("no features of nodes are read"));
}

// Where the topology is elsewhere, rows are ranked by what the first epoch will read.
TEST_P(DeviceTrainingTest, CountedReadsAreThoseOfTheFirstEpoch) {
  auto session = MakeSession(kSageOfAll, FakeOne(), std::move(*Communicator::Join({})));
  const auto found = CountReads(*session, session->cancel);
  ASSERT_TRUE(found.ok()) << found.status();
  std::vector<double> counts(120);
  BatchFeed feed(*session, BatchPurpose::kTrain, *session->task->source(BatchPurpose::kTrain));
  for (int64_t i = 0; i < feed.steps_per_epoch(); ++i) {
    FeedWaits waits;
    const auto step = feed.Next(&waits);
    ASSERT_TRUE(step.ok()) << step.status();
    for (const int64_t id : step->minibatch.nodes[0]) ++counts[static_cast<size_t>(id)];
  }
  EXPECT_EQ(found->steps, feed.steps_per_epoch());
  for (size_t id = 0; id < counts.size(); ++id) {
    EXPECT_NEAR(found->of_step[0][id] * found->steps, counts[id], 1e-4) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, DeviceTrainingTest, testing::ValuesIn(FakeOrder::All()),
                         NameOfOrder);

}  // namespace
}  // namespace halograph
