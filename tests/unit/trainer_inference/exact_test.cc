#include "trainer/inference/exact.h"

#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/fake_device/fake_device.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_folder.h"
#include "trainer/device/host_memory.h"
#include "trainer/inference/kept_rows.h"
#include "trainer/launch/resolve.h"
#include "trainer/pipeline/feature_memory.h"
#include "trainer/run/prepare.h"
#include "trainer/training/batch_feed.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// A model as a user asks for it, over a graph that it is for.
struct ExactCase {
  std::string name;
  std::string model;
  std::vector<std::pair<std::string, std::string>> options = {};
  bool typed = false;
  int64_t layers = 2;
  // Whether each value is one sum in a fixed order, whatever rows stand beside it.
  bool same_bits = true;
  bool bf16 = false;
  // Whether rows of a node depend on which other nodes a minibatch is about.
  bool by_degree = false;
  int64_t features = 4;  // columns
};

void PrintTo(const ExactCase& tested, std::ostream* out) { *out << tested.name; }

std::vector<ExactCase> Cases() {
  const std::vector<std::pair<std::string, std::string>> rich = {
      {"hidden", "24"}, {"residual", "true"}, {"norm", "layer"}, {"ngnn", "1"}};
  const std::vector<std::pair<std::string, std::string>> slim = {{"hidden", "16"}};
  const std::vector<std::pair<std::string, std::string>> batch_norm = {{"hidden", "16"},
                                                                       {"norm", "batch"}};
  const std::vector<std::pair<std::string, std::string>> around = {
      {"hidden", "16"}, {"norm", "layer"}, {"ngnn", "2"}};
  const std::vector<std::pair<std::string, std::string>> residual = {{"hidden", "16"},
                                                                     {"residual", "true"}};
  return {
      {.name = "sage", .model = "sage", .options = slim},
      {.name = "sage_one_layer", .model = "sage", .options = slim, .layers = 1},
      {.name = "sage_three_layers", .model = "sage", .options = slim, .layers = 3},
      {.name = "sage_rich", .model = "sage", .options = rich, .same_bits = false},
      {.name = "sage_batch_norm", .model = "sage", .options = batch_norm, .same_bits = false},
      {.name = "sage_pool", .model = "sage", .options = {{"hidden", "16"}, {"aggregator", "pool"}}},
      {.name = "sage_bf16", .model = "sage", .options = rich, .same_bits = false, .bf16 = true},
      // Inputs that are wider than the first layer gives are projected before they are read.
      {.name = "sage_wide", .model = "sage", .options = slim, .features = 40},
      {.name = "sage_wide_around",
       .model = "sage",
       .options = around,
       .same_bits = false,
       .features = 40},
      {.name = "sage_wide_residual",
       .model = "sage",
       .options = residual,
       .same_bits = false,
       .features = 40},
      {.name = "sage_wide_bf16", .model = "sage", .options = slim, .bf16 = true, .features = 40},
      {.name = "gcn_wide", .model = "gcn", .options = slim, .by_degree = true, .features = 40},
      {.name = "gcn_wide_bf16",
       .model = "gcn",
       .options = slim,
       .bf16 = true,
       .by_degree = true,
       .features = 40},
      {.name = "sgc_wide", .model = "sgc", .layers = 3, .by_degree = true, .features = 40},
      {.name = "gcn", .model = "gcn", .options = slim, .by_degree = true},
      {.name = "gcn_rich", .model = "gcn", .options = rich, .same_bits = false, .by_degree = true},
      {.name = "sgc", .model = "sgc", .layers = 3, .by_degree = true},
      {.name = "gat", .model = "gat", .options = {{"hidden", "16"}, {"heads", "4"}}},
      {.name = "gat_v2",
       .model = "gat",
       .options = {{"hidden", "16"}, {"gatv2", "true"}, {"output-heads", "2"}}},
      {.name = "rgcn", .model = "rgcn", .options = slim, .typed = true},
      {.name = "rgcn_blocks",
       .model = "rgcn",
       .options = {{"hidden", "16"}, {"blocks", "2"}},
       .typed = true},
      {.name = "rgcn_only_bases",
       .model = "rgcn",
       .options = {{"hidden", "16"}, {"bases", "2"}},
       .typed = true},
      {.name = "rgcn_bases",
       .model = "rgcn",
       .options = {{"hidden", "16"}, {"bases", "2"}, {"norm", "layer"}},
       .typed = true,
       .layers = 3,
       .same_bits = false},
      {.name = "rgcn_one_layer", .model = "rgcn", .options = slim, .typed = true, .layers = 1},
      {.name = "embedding", .model = "embedding", .typed = true, .layers = 1, .same_bits = false},
  };
}

// What a session makes of all nodes of a type, by global id.
struct Everything {
  std::map<int64_t, torch::Tensor> rows;
  ExactFigures figures;
};

class ExactTest : public testing::TestWithParam<ExactCase> {
 protected:
  static void SetUpTestSuite() { at::set_num_threads(1); }

  void SetUp() override {
    auto stop = StopSignal::Install();
    ASSERT_TRUE(stop.ok()) << stop.status();
    stop_ = std::move(*stop);
  }
  void TearDown() override {
    stop_->OnStop(nullptr);
    session_.reset();
  }

  // With the model's weights drawn by seed. `device`: where it computes.
  void Open(const ExactCase& tested, int64_t nodes = 90, const Device& device = {}) {
    session_.reset();
    const fs::path folder = folder_.path() / device.name();
    const RandomGraphOptions random{
        .seed = 5, .parts = 2, .nodes = nodes, .mean_degree = 4, .feature_dim = tested.features};
    auto graph = WriteTestGraph(tested.typed ? RandomTypedGraph(random) : RandomGraph(random),
                                folder / "graph");
    ASSERT_TRUE(graph.ok()) << graph.status();
    TrainOptions options;
    options.graph = graph->string();
    options.task = "node_classification";
    options.model = tested.model;
    options.layers = tested.layers;
    options.fanouts.assign(static_cast<size_t>(tested.layers), kFullNeighborhood);
    options.precision = tested.bf16 ? Precision::kBf16 : Precision::kFloat32;
    options.threads = 1;
    options.eval_batch_size = 1000;
    if (tested.typed) options.state.folder = folder / "state";
    if (tested.typed) options.features = {};
    options.model_options = (*FindModelKind(tested.model))->options();
    OptionTable rows;
    options.model_options->AddRows(rows);
    for (const auto& [name, text] : tested.options) ASSERT_TRUE(rows.Set(name, text).ok()) << name;
    Resolve(&options);
    session_ = std::make_unique<Session>();
    session_->options = options;
    session_->stop = stop_.get();
    stop_->OnStop([this] { session_->cancel.Cancel(); });
    RunInputs inputs;
    Status status = Prepare(*session_, &inputs);
    ASSERT_TRUE(status.ok()) << status;
    if (!device.is_cpu()) {
      session_->device = device;
      session_->copier = std::make_unique<const BatchCopier>(device);
      status = PrepareMinibatches(*session_, &inputs);
      ASSERT_TRUE(status.ok()) << status;
    }
    status = OpenLearntInputs(*session_, inputs);
    ASSERT_TRUE(status.ok()) << status;
    status = MakeModel(*session_, inputs);
    ASSERT_TRUE(status.ok()) << status;
    RoughenBuffers();
  }
  // Running means and variances are not what they begin with.
  void RoughenBuffers() const {
    const torch::NoGradGuard no_grad;
    for (const torch::Tensor& buffer : session_->model->buffers()) buffer.add_(0.25);
  }

  [[nodiscard]] int type() const { return session_->task->predicted_types().front(); }
  [[nodiscard]] NodeRange AllNodes() const {
    return NodeRange(type(), session_->stores.graph->info().book.NodeBoundaries(type()));
  }
  static void Keep(const torch::Tensor& rows, const Step& batch, const std::vector<int64_t>& nodes,
                   std::map<int64_t, torch::Tensor>* kept) {
    const auto& positions = batch.minibatch.seed_positions.front();
    for (const int32_t position : positions) {
      (*kept)[nodes[static_cast<size_t>(position)]] = rows[position].clone();
    }
  }

  // By full neighbourhoods of minibatches.
  std::map<int64_t, torch::Tensor> Sampled(ExactRows what, int64_t batch_size = 1000) {
    std::map<int64_t, torch::Tensor> kept;
    const torch::NoGradGuard no_grad;
    session_->model->eval();
    session_->options.eval_batch_size = batch_size;
    const NodeRange nodes = AllNodes();
    BatchFeed feed(*session_, BatchPurpose::kPredict, nodes);
    FeedWaits waits;
    for (int64_t step = 0; step < feed.steps_per_epoch(); ++step) {
      auto batch = feed.Next(&waits);
      EXPECT_TRUE(batch.ok()) << batch.status();
      const ModelInput input = EvaluationInputOf(*session_, *batch);
      const auto rows = what == ExactRows::kOutputs ? session_->model->Forward(input)
                                                    : session_->model->Embed(input);
      Keep(rows[type()], *batch, batch->minibatch.nodes[type()], &kept);
    }
    return kept;
  }

  // Whether rows between layers are at any time more than memory has room for.
  [[nodiscard]] bool NeedsFile(int64_t memory) const {
    const ModelNeeds needs =
        session_->options.model_options->NeedsOf((*FindModelKind(session_->options.model))->needs);
    const Schema& schema = session_->stores.graph->info().schema;
    const BatchRecipe& recipe = session_->eval_maker->recipe();
    const auto passes = PlanPasses(*session_->model, needs,
                                   {.schema = &schema,
                                    .evaluation = &recipe.sampling,
                                    .dim = session_->input_dims.front(),
                                    .input_rows = recipe.input_rows,
                                    .precision = session_->options.precision},
                                   ExactRows::kOutputs, std::vector{type()});
    bool needs_file = false;
    int64_t before = 0;
    for (const ExactPass& pass : passes) {
      int64_t now = 0;
      for (size_t t = 0; t < pass.over.types.size(); ++t) {
        const int64_t count = pass.over.types[t] ? schema.node_types[t].count : 0;
        now += KeptTable::BytesOf(count, pass.keeps.shared) +
               KeptTable::BytesOf(count, pass.keeps.own);
      }
      needs_file = needs_file || before + now > ScratchMemory(memory);
      before = now;
    }
    return needs_file;
  }

  StatusOr<Everything> Infer(ExactRows what, const ExactOptions& options, const SeedSource& nodes) {
    Everything all;
    ScratchSpace scratch(ScratchMemory(options.memory), folder_.path());
    auto figures =
        InferExactly(*session_, options, what, nodes, std::vector{type()}, scratch,
                     [&](const std::vector<torch::Tensor>& rows, Step& chunk) {
                       Keep(rows[type()], chunk, chunk.minibatch.nodes[type()], &all.rows);
                       return OkStatus();
                     });
    if (!figures.ok()) return figures.status();
    all.figures = *figures;
    return all;
  }
  Everything Exactly(ExactRows what, const ExactOptions& options = {}) {
    auto all = Infer(what, options, AllNodes());
    EXPECT_TRUE(all.ok()) << all.status();
    return all.ok() ? *std::move(all) : Everything();
  }

  [[nodiscard]] int64_t OriginalIdOf(int64_t node) const {
    int64_t original = -1;
    CallContext context;
    const std::string& name = session_->stores.graph->info().schema.node_types[type()].name;
    EXPECT_TRUE(session_->stores.rows
                    ->Pull({.tensor = {false, name, kOriginalIdTensor},
                            .ids = std::span(&node, 1),
                            .out = std::as_writable_bytes(std::span(&original, 1))},
                           context)
                    .ok());
    return original;
  }

  static void ExpectClose(const std::map<int64_t, torch::Tensor>& found,
                          const std::map<int64_t, torch::Tensor>& wanted, double tolerance) {
    ASSERT_EQ(found.size(), wanted.size());
    for (const auto& [node, row] : wanted) {
      ASSERT_TRUE(found.contains(node)) << node;
      const auto apart = (found.at(node) - row).abs().max().item<double>();
      EXPECT_LE(apart, tolerance * (1 + row.abs().max().item<double>())) << "node " << node;
    }
  }
  static void ExpectEqual(const std::map<int64_t, torch::Tensor>& found,
                          const std::map<int64_t, torch::Tensor>& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (const auto& [node, row] : wanted) EXPECT_TRUE(torch::equal(found.at(node), row)) << node;
  }

  TestFolder folder_;
  std::unique_ptr<StopSignal> stop_;
  std::unique_ptr<Session> session_;
};

class ExactModelTest : public ExactTest {};

TEST_P(ExactModelTest, GivesWhatFullNeighborhoodsGiveWhateverChunksAreCut) {
  ASSERT_NO_FATAL_FAILURE(Open(GetParam()));
  const double tolerance = GetParam().bf16 ? 0.02 : 1e-4;
  for (const ExactRows what : {ExactRows::kOutputs, ExactRows::kEmbeddings}) {
    SCOPED_TRACE(what == ExactRows::kOutputs ? "outputs" : "embeddings");
    const auto wanted = Sampled(what);
    const Everything whole = Exactly(what);
    ExpectClose(whole.rows, wanted, tolerance);
    if (!GetParam().by_degree) ExpectClose(whole.rows, Sampled(what, 13), tolerance);
    EXPECT_EQ(whole.figures.scratch_file_bytes, 0);
    for (const int64_t nodes : {7, 1, 64}) {
      const Everything cut = Exactly(what, {.chunk_nodes = nodes});
      ASSERT_FALSE(cut.rows.empty());
      ExpectClose(cut.rows, wanted, tolerance);
      if (GetParam().same_bits) ExpectEqual(cut.rows, whole.rows);
      EXPECT_GE(cut.figures.layers.back().chunks, 90 / nodes);
    }
  }
}

TEST_P(ExactModelTest, LittleMemoryMakesManyChunksAndAFileOfTheSameRows) {
  constexpr int64_t kNodes = 5000, kMemory = 608 << 10;
  ASSERT_NO_FATAL_FAILURE(Open(GetParam(), kNodes));
  const Everything whole = Exactly(ExactRows::kOutputs);
  const Everything little = Exactly(ExactRows::kOutputs, {.memory = kMemory});
  ASSERT_FALSE(little.rows.empty());
  ExpectClose(little.rows, whole.rows, GetParam().bf16 ? 0.02 : 1e-4);
  if (GetParam().same_bits) ExpectEqual(little.rows, whole.rows);
  EXPECT_GT(little.figures.layers.back().chunks, 10);
  EXPECT_EQ(little.figures.scratch_file_bytes > 0, NeedsFile(kMemory));
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    EXPECT_EQ(entry.path().filename().string().find("scratch"), std::string::npos);
  }
}

// Rows are gathered into memory that the device reads.
class ExactOnDeviceTest : public ExactTest {
 protected:
  static Device FakeOne() {
    return {FakeDevice::Get(),
            [](int64_t bytes) { return FakeDevice::PinnedMemory({bytes}, torch::kUInt8); }};
  }
  static void SetUpTestSuite() {
    ExactTest::SetUpTestSuite();
    FakeDevice::Install();
    static HostBlocks blocks(FakeOne());
    SetFeatureMemory({.take = [](size_t bytes) { return blocks.Take(bytes); },
                      .give = [](void* data) { blocks.Give(data); }});
  }
  void TearDown() override {
    ExactTest::TearDown();
    FakeDevice::Reset();
  }
};

class ExactOnDeviceModelTest : public ExactOnDeviceTest {};

TEST_P(ExactOnDeviceModelTest, RowsAreTheSameBitsInEveryOrderAndThoseOfTheCpuButForRounding) {
  const ExactOptions chunks = {.chunk_nodes = 20};
  constexpr ExactRows kBoth[] = {ExactRows::kOutputs, ExactRows::kEmbeddings};
  ASSERT_NO_FATAL_FAILURE(Open(GetParam()));
  std::map<ExactRows, Everything> here;
  for (const ExactRows what : kBoth) here[what] = Exactly(what, chunks);
  ASSERT_NO_FATAL_FAILURE(Open(GetParam(), 90, FakeOne()));
  for (const ExactRows what : kBoth) {
    SCOPED_TRACE(what == ExactRows::kOutputs ? "outputs" : "embeddings");
    FakeDevice::SetOrder({FakeOrder::Runs::kAtOnce});
    const Everything wanted = Exactly(what, chunks);
    ExpectClose(wanted.rows, here[what].rows, GetParam().bf16 ? 0.02 : 1e-5);
    for (const FakeOrder& order : FakeOrder::All()) {
      SCOPED_TRACE(order.Name());
      FakeDevice::SetOrder(order);
      ExpectEqual(Exactly(what, chunks).rows, wanted.rows);
    }
  }
}

TEST_F(ExactOnDeviceTest, ADeviceWithoutMemoryEndsItWithWhatLowersIt) {
  ASSERT_NO_FATAL_FAILURE(Open(Cases().front(), 90, FakeOne()));
  FakeDevice::LimitMemory(FakeDevice::MemoryInUse() + 1000);
  const Status status = Infer(ExactRows::kOutputs, {}, AllNodes()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("out of memory"), HasSubstr("with --exact --memory")));
}

INSTANTIATE_TEST_SUITE_P(Models, ExactOnDeviceModelTest, testing::ValuesIn(Cases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Models, ExactModelTest, testing::ValuesIn(Cases()),
                         [](const auto& test) { return test.param.name; });

const ExactCase kSage{.name = "sage", .model = "sage", .options = {{"hidden", "16"}}};

TEST_F(ExactTest, RowsOfListedNodesComeInTheirOrderAndRepeat) {
  ASSERT_NO_FATAL_FAILURE(Open(kSage));
  const auto all = Exactly(ExactRows::kOutputs).rows;
  const NodeSeeds listed(type(), {8, 3, 3, 77, 0});
  std::vector<int64_t> seen;
  ScratchSpace scratch(1 << 20, folder_.path());
  const auto figures =
      InferExactly(*session_, {.chunk_nodes = 2}, ExactRows::kOutputs, listed, std::vector{type()},
                   scratch, [&](const std::vector<torch::Tensor>& rows, Step& chunk) {
                     const torch::Tensor of_seeds = RowsOfSeeds(rows[type()], chunk);
                     EXPECT_EQ(of_seeds.size(0), chunk.rows);
                     for (int64_t i = 0; i < chunk.rows; ++i) {
                       const int32_t at = chunk.minibatch.seed_positions[0][static_cast<size_t>(i)];
                       seen.push_back(chunk.minibatch.nodes[type()][static_cast<size_t>(at)]);
                       EXPECT_TRUE(torch::equal(of_seeds[i], all.at(seen.back())));
                     }
                     return OkStatus();
                   });
  ASSERT_TRUE(figures.ok()) << figures.status();
  EXPECT_THAT(seen, testing::ElementsAre(8, 3, 3, 77, 0));
  EXPECT_EQ(figures->layers[0].nodes, 90);
  EXPECT_EQ(figures->layers[1].nodes, 5);
  for (const ExactLayerFigures& layer : figures->layers) {
    EXPECT_GT(layer.sample_seconds, 0);
    EXPECT_GT(layer.pull_seconds, 0);
  }
}

TEST_F(ExactTest, ChunksThatAreTooLargeAreCutAndANodeThatIsTooLargeIsNamed) {
  ASSERT_NO_FATAL_FAILURE(Open({.name = "gat", .model = "gat", .options = {{"hidden", "16"}}}));
  const Everything whole = Exactly(ExactRows::kOutputs);
  const Everything cut = Exactly(ExactRows::kOutputs, {.memory = 128 << 10, .chunk_nodes = 50});
  EXPECT_GT(cut.figures.layers[0].cut, 0);
  ExpectEqual(cut.rows, whole.rows);
  const auto failed = Infer(ExactRows::kOutputs, {.memory = 64}, AllNodes());
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(
      Message(failed.status()),
      AllOf(HasSubstr(fmt::format("node {} (original id) of type 'node' takes ", OriginalIdOf(0))),
            HasSubstr("in-edges"), HasSubstr("--memory")));
}

TEST_F(ExactTest, WhatCannotBeIsRefusedBeforeTheWork) {
  ASSERT_NO_FATAL_FAILURE(Open(kSage));
  ExactOptions options{.memory = 48 << 10, .scratch_after = int64_t{1} << 60};
  EXPECT_THAT(Message(Infer(ExactRows::kOutputs, options, AllNodes()).status()),
              AllOf(HasSubstr("rows between layers"), HasSubstr(folder_.path().string())));
  session_->options.world_size = 2;
  EXPECT_THAT(Message(Infer(ExactRows::kOutputs, {}, AllNodes()).status()),
              HasSubstr("--world-size 2"));
}

TEST_F(ExactTest, AnErrorOfTheUserOfRowsEndsIt) {
  ASSERT_NO_FATAL_FAILURE(Open(kSage));
  ScratchSpace scratch(1 << 20, folder_.path());
  const NodeRange nodes = AllNodes();
  const auto figures =
      InferExactly(*session_, {.chunk_nodes = 5}, ExactRows::kOutputs, nodes, std::vector{type()},
                   scratch, [](const auto&, Step&) { return Cancelled("enough"); });
  EXPECT_EQ(Message(figures.status()), "enough");
}

TEST_F(ExactTest, AStopSignalEndsIt) {
  ASSERT_NO_FATAL_FAILURE(Open(kSage));
  ASSERT_EQ(::kill(::getpid(), SIGTERM), 0);
  while (!session_->cancel.cancelled()) std::this_thread::yield();
  EXPECT_THAT(Message(Infer(ExactRows::kOutputs, {}, AllNodes()).status()),
              HasSubstr("stopped by signal"));
}

}  // namespace
}  // namespace halograph
