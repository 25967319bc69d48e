#include "trainer/pipeline/batch_maker.h"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/opened_graph.h"
#include "tests/unit/trainer_pipeline/rounded_rows.h"

namespace halograph {
namespace {

class BatchMakerTest : public OpenedGraphTest {
 protected:
  BatchRecipe Recipe(const std::string& feature, std::vector<int32_t> fanouts) {
    const Schema& schema = stores_.graph->info().schema;
    BatchRecipe recipe;
    recipe.sampling = SamplingSpec::Uniform(schema, fanouts);
    recipe.inputs = {InputOf(schema, 0, feature)};
    return recipe;
  }
  static StatusOr<Step> Make(const BatchMaker& maker, int type, std::vector<int64_t> seeds,
                             uint64_t batch_seed, const CallContext& like = {}) {
    const int64_t rows = std::ssize(seeds);
    StepSeeds step;
    step.seeds.push_back({type, std::move(seeds)});
    return Make(maker, step, rows, batch_seed, like);
  }
  static StatusOr<Step> Make(const BatchMaker& maker, const StepSeeds& seeds, int64_t rows,
                             uint64_t batch_seed, const CallContext& like = {}) {
    Step step;
    step.rows = rows;
    HG_RETURN_IF_ERROR(maker.Sample(seeds, batch_seed, like, &step));
    HG_RETURN_IF_ERROR(maker.PullRows(like, &step));
    return step;
  }
  static NodeInput InputOf(const Schema& schema, int type, const std::string& feature) {
    const NodeType& node_type = schema.node_types[type];
    return {type, TensorRef{false, node_type.name, feature},
            **FindTensor(node_type.features, feature, node_type.name)};
  }
};

// Counts calls of Pull.
class CountedPulls : public RowStore {
 public:
  explicit CountedPulls(RowStore* store) : store_(store) {}
  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    ++calls;
    tensors += static_cast<int>(requests.size());
    return store_->Pull(requests, context);
  }
  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                       CallContext& context) override {
    return store_->Push(pushes, context);
  }
  int calls = 0;
  int tensors = 0;

 protected:
  const RowStore* store() const { return store_; }

 private:
  RowStore* store_;
};

TEST_F(BatchMakerTest, FeaturesAreThoseOfTheInputNodes) {
  const TestGraphSpec spec = RandomGraph({.nodes = 50});
  Open(spec);
  const std::vector<int64_t> global = GlobalNodeIds(spec, "node");
  std::vector<int64_t> input(global.size());
  for (size_t i = 0; i < global.size(); ++i) input[global[i]] = static_cast<int64_t>(i);
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), Recipe("feat", {3, 2}));
  const std::vector<int64_t> seeds = {7, 3, 7};
  auto batch = Make(maker, 0, seeds, 11);
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->rows, 3);
  const auto& nodes = batch->minibatch.nodes[0];
  ASSERT_EQ(batch->features.size(), 1U);
  ASSERT_EQ(batch->features[0].rows(), static_cast<int64_t>(nodes.size()));
  ASSERT_EQ(batch->features[0].cols(), 4);
  for (size_t row = 0; row < nodes.size(); ++row) {
    EXPECT_EQ(batch->features[0].values()[row * 4], static_cast<float>(input[nodes[row]]));
  }
  EXPECT_EQ(batch->pulled.local_bytes, static_cast<int64_t>(nodes.size() * 16));
  EXPECT_EQ(batch->pulled.remote_bytes, 0);
  EXPECT_EQ(batch->pulled.rounds + batch->sampled.rounds, 0);
}

TEST(HeldIdsTest, SlotsCountByAscendingId) {
  const std::vector<int64_t> ids = {0, 3, 63, 64, 130};
  const HeldIds held(ids, 131);
  EXPECT_EQ(held.count(), 5);
  std::vector<int64_t> found;
  for (int64_t id = 0; id < 131; ++id) {
    const int32_t slot = held.SlotOf(id);
    if (slot < 0) continue;
    EXPECT_EQ(slot, std::ssize(found));
    found.push_back(id);
  }
  EXPECT_EQ(found, ids);
  EXPECT_EQ(HeldIds().SlotOf(7), -1);
  EXPECT_EQ(HeldIds({}, 10).count(), 0);
}

TEST(RowSplitTest, SaysWhereEachRowIsFound) {
  const std::vector<std::vector<int64_t>> nodes = {{4, 9, 2, 0}, {1, 0}, {5}, {}};
  HeldRows held(4);
  held[0] = HeldIds(std::vector<int64_t>{0, 4}, 10);
  held[2] = HeldIds(std::vector<int64_t>{5}, 6);
  held[3] = HeldIds(std::vector<int64_t>{0}, 1);
  const RowSplit split(held, nodes);
  EXPECT_EQ(split.gathered, (std::vector<std::vector<int64_t>>{{9, 2}, {1, 0}, {}, {}}));
  EXPECT_EQ(split.places[0].slots, (std::vector<int32_t>{1, 0, 0, 0}));
  EXPECT_EQ(split.places[0].gathered, (std::vector<int32_t>{1, 2}));
  EXPECT_TRUE(split.places[1].slots.empty()) << "all are gathered, in order";
  EXPECT_EQ(split.places[2].slots, std::vector<int32_t>{0});
  EXPECT_EQ(split.held(0), 2);
  EXPECT_EQ(split.held(1), 0);
  EXPECT_EQ(split.held_rows(), 3);
  EXPECT_EQ(split.bytes(), 8 * (2 + 2) + 4 * (4 + 2 + 1));
}

TEST_F(BatchMakerTest, RowsThatAreHeldAreNotGathered) {
  Open(RandomGraph({.nodes = 50}));
  BatchRecipe recipe = Recipe("feat", {3, 2});
  auto all = Make(BatchMaker(stores_.graph.get(), stores_.rows.get(), recipe), 0, {7, 3, 7}, 11);
  ASSERT_TRUE(all.ok()) << all.status();
  const std::vector<int64_t>& nodes = all->minibatch.nodes[0];
  std::vector<int64_t> ids;
  for (int64_t id = 0; id < 50; id += 2) ids.push_back(id);
  recipe.held = std::make_shared<const HeldRows>(HeldRows{HeldIds(ids, 50)});
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), recipe);
  auto some = Make(maker, 0, {7, 3, 7}, 11);
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_EQ(some->minibatch, all->minibatch);
  const std::vector<int32_t>& gathered = some->split.places[0].gathered;
  ASSERT_EQ(some->features[0].rows(), std::ssize(gathered));
  ASSERT_LT(gathered.size(), nodes.size());
  ASSERT_FALSE(gathered.empty());
  for (size_t i = 0; i < gathered.size(); ++i) {
    const auto at = static_cast<size_t>(gathered[i]);
    EXPECT_EQ(nodes[at] % 2, 1);
    for (size_t col = 0; col < 4; ++col) {
      EXPECT_EQ(some->features[0].values()[i * 4 + col], all->features[0].values()[at * 4 + col]);
    }
  }
  const int64_t rows = std::ssize(gathered), held = std::ssize(nodes) - rows;
  EXPECT_EQ(some->pulled.local_bytes, rows * 16);
  EXPECT_EQ(some->held_bytes, held * 16);
  EXPECT_EQ(maker.RowBytesOf(*some), rows * 16) << "no memory is kept for what is not gathered";
  EXPECT_EQ(maker.BytesOf(*some), maker.BytesOf(*all) + some->split.bytes());
}

TEST_F(BatchMakerTest, StoredIntegersAreConvertedAndNormalised) {
  TestGraphSpec spec = RandomGraph({.nodes = 4, .feature_dim = 0});
  spec.node_types[0].features = {
      MakeTensor<uint8_t>("words", {1, 0, 1, 0, 0, 0, 4, 2, 2, 255, 0, 0}, 3)};
  Open(spec);
  BatchRecipe recipe = Recipe("words", {2});
  recipe.inputs[0].normalization = FeatureNormalization::kRow;
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), recipe);
  const std::vector<int64_t> global = GlobalNodeIds(spec, "node");
  auto batch = Make(maker, 0, global, 1);
  ASSERT_TRUE(batch.ok()) << batch.status();
  const std::vector<float> wanted = {0.5, 0, 0.5, 0, 0, 0, 0.5, 0.25, 0.25, 1, 0, 0};
  const auto values = batch->features[0].values();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), wanted);
}

TEST_F(BatchMakerTest, StandardisedColumnsGoByTheScalesGiven) {
  TestGraphSpec spec = RandomGraph({.nodes = 2, .feature_dim = 0});
  spec.node_types[0].features = {MakeTensor<float>("deg", {7, 8}, 1),
                                 MakeTensor<float>("place", {100, 2, 300, 4}, 2)};
  Open(spec);
  BatchRecipe recipe = Recipe("deg", {2});
  recipe.inputs.push_back(InputOf(stores_.graph->info().schema, 0, "place"));
  recipe.inputs[1].normalization = FeatureNormalization::kStandard;
  EXPECT_THAT(Message(Make(BatchMaker(stores_.graph.get(), stores_.rows.get(), recipe), 0,
                           GlobalNodeIds(spec, "node"), 1)
                          .status()),
              testing::HasSubstr("feature 'place' of node type 'node' has no means"));
  recipe.inputs[1].standardizer =
      std::make_shared<const Standardizer>(ColumnScales{{200, 2}, {50, 4}});
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), recipe);
  auto batch = Make(maker, 0, GlobalNodeIds(spec, "node"), 1);
  ASSERT_TRUE(batch.ok()) << batch.status();
  const auto values = batch->features[0].values();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()),
            (std::vector<float>{7, -2, 0, 8, 2, 0.5}));
  // What is changed is not read where it is stored.
  recipe.inputs.erase(recipe.inputs.begin());
  recipe.input_rows = InputRows::kSelfAndMean;
  EXPECT_FALSE(BatchMaker(stores_.graph.get(), stores_.rows.get(), recipe).reads_in_place());
}

TEST_F(BatchMakerTest, SeveralFeaturesOfATypeStandSideBySide) {
  TestGraphSpec spec = RandomGraph({.nodes = 3, .feature_dim = 0});
  spec.node_types[0].features = {MakeTensor<uint8_t>("words", {1, 3, 0, 0, 2, 2}, 2),
                                 MakeTensor<float>("deg", {7, 8, 9}, 1)};
  Open(spec);
  BatchRecipe recipe = Recipe("words", {2});
  recipe.inputs.insert(recipe.inputs.begin(), InputOf(stores_.graph->info().schema, 0, "deg"));
  recipe.inputs[1].normalization = FeatureNormalization::kRow;
  CountedPulls counted(stores_.rows.get());
  const BatchMaker maker(stores_.graph.get(), &counted, recipe);
  auto batch = Make(maker, 0, GlobalNodeIds(spec, "node"), 1);
  ASSERT_TRUE(batch.ok()) << batch.status();
  ASSERT_EQ(batch->features[0].cols(), 3);
  const auto values = batch->features[0].values();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()),
            (std::vector<float>{7, 0.25, 0.75, 8, 0, 0, 9, 0.5, 0.5}));
  EXPECT_EQ(counted.calls, 1);
}

TEST_F(BatchMakerTest, NarrowFeaturesAreWidened) {
  TestGraphSpec spec = RandomGraph({.nodes = 50, .feature_dim = 20});
  std::vector<TestTensor>& features = spec.node_types[0].features;
  features.push_back(Narrowed(features[0], "half", DType::kFloat16));
  features.push_back(Narrowed(features[0], "brain", DType::kBFloat16));
  features.push_back(Narrowed(features[0], "tiny", DType::kScaledInt8));
  Open(spec);
  const std::vector<std::pair<std::string, int64_t>> bytes = {
      {"feat", 80}, {"half", 40}, {"brain", 40}, {"tiny", 24}};
  BatchRecipe all = Recipe("feat", {2});
  for (const auto& [name, row_bytes] : bytes) {
    if (name != "feat") all.inputs.push_back(InputOf(stores_.graph->info().schema, 0, name));
    const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), Recipe(name, {2}));
    auto batch = Make(maker, 0, {3, 9}, 1);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_EQ(batch->pulled.local_bytes, batch->features[0].rows() * row_bytes) << name;
    EXPECT_EQ(batch->features[0].cols(), 20);
  }
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), all);
  auto batch = Make(maker, 0, {3, 9}, 1);
  ASSERT_TRUE(batch.ok()) << batch.status();
  ASSERT_EQ(batch->features[0].cols(), 80);
  for (int64_t row = 0; row < batch->features[0].rows(); ++row) {
    const auto values = batch->features[0].values().subspan(static_cast<size_t>(row) * 80, 80);
    for (size_t c = 0; c < 20; ++c) {
      EXPECT_NEAR(values[20 + c], values[c], values[c] / 2048);
      EXPECT_NEAR(values[40 + c], values[c], values[c] / 256);
      EXPECT_NEAR(values[60 + c], values[c], values[19] / 253);
    }
  }
}

TEST_F(BatchMakerTest, ATypedGraphGivesEveryNodeTypeItsOwnFeatures) {
  const TestGraphSpec spec = RandomTypedGraph({.nodes = 60, .feature_dim = 3});
  Open(spec);
  const Schema& schema = stores_.graph->info().schema;
  const int author = *schema.NodeTypeIndex("author");
  const int paper = *schema.NodeTypeIndex("paper");
  const int venue = *schema.NodeTypeIndex("venue");
  BatchRecipe recipe;
  recipe.sampling = SamplingSpec::Uniform(schema, std::vector<int32_t>{3, 3});
  recipe.inputs = {InputOf(schema, author, "emb"), InputOf(schema, paper, "year")};
  recipe.inputs[0].normalization = FeatureNormalization::kRow;
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), recipe);
  const std::vector<int64_t> seeds = {4, 11, 30};
  auto batch = Make(maker, paper, seeds, 5);
  ASSERT_TRUE(batch.ok()) << batch.status();
  ASSERT_EQ(batch->features.size(), 3U);
  for (int type : {author, paper, venue}) {
    ASSERT_GT(batch->minibatch.nodes[type].size(), 0U) << type;
    const auto rows = static_cast<int64_t>(batch->minibatch.nodes[type].size());
    EXPECT_EQ(batch->features[type].rows(), type == venue ? 0 : rows);
  }
  EXPECT_EQ(batch->features[author].cols(), 6);
  EXPECT_EQ(batch->features[venue].cols(), 0);
  const std::vector<int64_t> global = GlobalNodeIds(spec, "paper");
  for (size_t row = 0; row < batch->minibatch.nodes[paper].size(); ++row) {
    const auto input = std::find(global.begin(), global.end(), batch->minibatch.nodes[paper][row]);
    EXPECT_EQ(batch->features[paper].values()[row],
              static_cast<float>(1900 + (input - global.begin())));
  }
  for (size_t row = 0; row < batch->minibatch.nodes[author].size(); ++row) {
    float sum = 0;
    for (float value : batch->features[author].values().subspan(row * 6, 6)) sum += value;
    EXPECT_NEAR(sum, 1, 1e-5) << "normalised, unlike the years";
  }
}

TEST_F(BatchMakerTest, ATypeThatNoNodeWasReachedOfHasAMatrixWithoutRows) {
  Open(RandomTypedGraph({.nodes = 60, .feature_dim = 3}));
  const Schema& schema = stores_.graph->info().schema;
  BatchRecipe recipe;
  recipe.sampling.layers = {{Neighbors(*schema.RelationIndex("paper:cites:paper"), 2)}};
  recipe.inputs = {InputOf(schema, *schema.NodeTypeIndex("author"), "emb")};
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), recipe);
  const std::vector<int64_t> seeds = {4};
  auto batch = Make(maker, *schema.NodeTypeIndex("paper"), seeds, 5);
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->features[recipe.inputs[0].node_type].rows(), 0);
  EXPECT_EQ(batch->features[recipe.inputs[0].node_type].cols(), 6);
}

TEST_F(BatchMakerTest, FeaturesOfAllTypesArePulledInOneCall) {
  Open(RandomTypedGraph({.nodes = 60, .feature_dim = 3}));
  const Schema& schema = stores_.graph->info().schema;
  const int paper = *schema.NodeTypeIndex("paper");
  BatchRecipe recipe;
  recipe.sampling = SamplingSpec::Uniform(schema, std::vector<int32_t>{2, 2});
  recipe.inputs = {InputOf(schema, *schema.NodeTypeIndex("author"), "emb"),
                   InputOf(schema, paper, "feat")};
  CountedPulls counted(stores_.rows.get());
  const BatchMaker maker(stores_.graph.get(), &counted, recipe);
  ASSERT_TRUE(Make(maker, paper, {4, 11}, 5).ok());
  EXPECT_EQ(counted.calls, 1);
  EXPECT_EQ(counted.tensors, 2);
}

TEST_F(BatchMakerTest, SeedsMayBeOfSeveralTypes) {
  Open(RandomTypedGraph({.nodes = 60, .feature_dim = 3}));
  const Schema& schema = stores_.graph->info().schema;
  const int author = *schema.NodeTypeIndex("author");
  const int paper = *schema.NodeTypeIndex("paper");
  BatchRecipe recipe;
  recipe.sampling = SamplingSpec::Uniform(schema, std::vector<int32_t>{2});
  recipe.inputs = {InputOf(schema, author, "emb")};
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), recipe);
  StepSeeds step;
  step.seeds = {{author, {3}}, {paper, {4, 11, 4}}};
  auto batch = Make(maker, step, 2, 5);
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->rows, 2);
  ASSERT_EQ(batch->minibatch.seed_positions.size(), 2U);
  EXPECT_THAT(batch->seed_types, testing::ElementsAre(author, paper));
  EXPECT_EQ(batch->minibatch.nodes[author][batch->minibatch.seed_positions[0][0]], 3);
  EXPECT_EQ(batch->minibatch.nodes[paper][batch->minibatch.seed_positions[1][2]], 4);
}

TEST_F(BatchMakerTest, SeedsThatAreNotAskedForMakeLayersLargerAndHaveNoPosition) {
  Open(RandomTypedGraph({.nodes = 60, .feature_dim = 3}));
  const Schema& schema = stores_.graph->info().schema;
  const int author = *schema.NodeTypeIndex("author");
  const int paper = *schema.NodeTypeIndex("paper");
  BatchRecipe recipe;
  recipe.sampling = SamplingSpec::Uniform(schema, std::vector<int32_t>{2});
  recipe.inputs = {InputOf(schema, author, "emb")};
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), recipe);
  StepSeeds step;
  step.seeds = {{author, {3, 5}, 0}, {paper, {4, 11, 4, 7}, 2}};
  auto batch = Make(maker, step, 2, 5);
  ASSERT_TRUE(batch.ok()) << batch.status();
  const Minibatch& minibatch = batch->minibatch;
  EXPECT_TRUE(minibatch.seed_positions[0].empty());
  EXPECT_THAT(minibatch.seed_positions[1], testing::ElementsAre(0, 1));
  EXPECT_EQ(minibatch.layers[0].num_destinations[author], 2);
  EXPECT_EQ(minibatch.layers[0].num_destinations[paper], 3);
}

std::vector<int32_t> Counted(int32_t count) {
  std::vector<int32_t> values;
  for (int32_t i = 0; i < count; ++i) values.push_back(1000 * i + 1);
  return values;
}

// What the first layer of a model gets, out of a batch that has the features of all nodes.
void ExpectSameRows(const Schema& schema, const Step& plain, const Step& made) {
  EXPECT_EQ(made.minibatch, plain.minibatch);
  const auto& blocks = plain.minibatch.layers.back().blocks;
  ASSERT_EQ(made.self_and_mean.size(), blocks.size());
  for (size_t b = 0; b < blocks.size(); ++b) {
    const Relation& relation = schema.relations[blocks[b].relation];
    const SelfAndMean wanted = MakeSelfAndMean(
        blocks[b], plain.features[*schema.NodeTypeIndex(relation.destination)],
        plain.features[*schema.NodeTypeIndex(relation.source)], Precision::kFloat32, nullptr);
    EXPECT_EQ(made.self_and_mean[b].cols, wanted.cols);
    const auto found = made.self_and_mean[b].rows.values();
    EXPECT_TRUE(std::equal(found.begin(), found.end(), wanted.rows.values().begin(),
                           wanted.rows.values().end()));
  }
}

TEST_F(BatchMakerTest, RowsOfTheFirstLayerStandInForThoseOfTheNodes) {
  Open(RandomGraph({.nodes = 50}));
  BatchRecipe recipe = Recipe("feat", {3, 2});
  const BatchMaker plain(stores_.graph.get(), stores_.rows.get(), recipe);
  recipe.input_rows = InputRows::kSelfAndMean;
  ThreadPool pool("hg-test", 2, 8);
  recipe.pool = &pool;
  CountedPulls counted(stores_.rows.get());
  const BatchMaker maker(stores_.graph.get(), &counted, recipe);
  auto wanted = Make(plain, 0, {7, 3, 7}, 11);
  auto found = Make(maker, 0, {7, 3, 7}, 11);
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(wanted->self_and_mean.empty());
  ExpectSameRows(stores_.graph->info().schema, *wanted, *found);
  ASSERT_EQ(found->features.size(), 1U);
  EXPECT_EQ(found->features[0].cols(), 0) << "rows of the nodes are not kept";
  EXPECT_EQ(found->pulled.local_bytes, wanted->pulled.local_bytes);
  EXPECT_EQ(counted.calls, 1);
}

TEST_F(BatchMakerTest, RowsOfPrecisionBf16AreRoundedFromWhateverIsStored) {
  TestGraphSpec spec = RandomGraph({.nodes = 50, .feature_dim = 5});
  std::vector<TestTensor>& features = spec.node_types[0].features;
  features.push_back(Narrowed(features[0], "half", DType::kFloat16));
  features.push_back(Narrowed(features[0], "brain", DType::kBFloat16));
  features.push_back(MakeTensor<int32_t>("id", Counted(50), 1));
  Open(spec);
  const Schema& schema = stores_.graph->info().schema;
  for (const InputRows rows : {InputRows::kNodes, InputRows::kSelfAndMean}) {
    for (const std::string name : {"feat", "half", "brain", "id", "all"}) {
      SCOPED_TRACE(name);
      BatchRecipe recipe = Recipe(name == "all" ? "brain" : name, {3, 2});
      if (name == "all") recipe.inputs.push_back(InputOf(schema, 0, "feat"));
      recipe.input_rows = rows;
      const BatchMaker wide(stores_.graph.get(), stores_.rows.get(), recipe);
      recipe.precision = Precision::kBf16;
      const BatchMaker narrow(stores_.graph.get(), stores_.rows.get(), recipe);
      auto wanted = Make(wide, 0, {7, 3, 7}, 11);
      auto found = Make(narrow, 0, {7, 3, 7}, 11);
      ASSERT_TRUE(wanted.ok() && found.ok()) << wanted.status() << found.status();
      const bool nodes = rows == InputRows::kNodes;
      FeatureMatrix& of_wide = nodes ? wanted->features[0] : wanted->self_and_mean[0].rows;
      const FeatureMatrix& made = nodes ? found->features[0] : found->self_and_mean[0].rows;
      const int64_t cols = nodes ? of_wide.cols() : wanted->self_and_mean[0].cols;
      ExpectRoundedRows(std::move(of_wide), cols, made);
    }
  }
}

// Offers what is mapped as it is, and still counts pulls.
class InPlaceAndCounted final : public CountedPulls {
 public:
  using CountedPulls::CountedPulls;
  std::optional<RowsInPlace> InPlace(const TensorRef& tensor) const override {
    return store()->InPlace(tensor);
  }
};

TEST_F(BatchMakerTest, RowsReadInPlaceGiveTheBitsOfThoseThatArePulled) {
  TestGraphSpec spec = RandomGraph({.nodes = 300, .feature_dim = 19});
  std::vector<TestTensor>& features = spec.node_types[0].features;
  features.push_back(Narrowed(features[0], "half", DType::kFloat16));
  features.push_back(Narrowed(features[0], "brain", DType::kBFloat16));
  Open(spec);
  ThreadPool pool("hg-test", 2, 8);
  for (const Precision precision : {Precision::kFloat32, Precision::kBf16}) {
    for (const std::string name : {"feat", "brain", "half", "normalised"}) {
      SCOPED_TRACE(name);
      BatchRecipe recipe = Recipe(name == "normalised" ? "feat" : name, {7, 5});
      if (name == "normalised") recipe.inputs[0].normalization = FeatureNormalization::kRow;
      recipe.input_rows = InputRows::kSelfAndMean;
      recipe.precision = precision;
      recipe.pool = &pool;
      CountedPulls pulls(stores_.rows.get());
      InPlaceAndCounted in_place(stores_.rows.get());
      auto wanted = Make(BatchMaker(stores_.graph.get(), &pulls, recipe), 0, {7, 3, 7, 250}, 11);
      auto found = Make(BatchMaker(stores_.graph.get(), &in_place, recipe), 0, {7, 3, 7, 250}, 11);
      ASSERT_TRUE(wanted.ok() && found.ok()) << wanted.status() << found.status();
      EXPECT_EQ(pulls.calls, 1);
      EXPECT_EQ(in_place.calls, name == "feat" || name == "brain" ? 0 : 1);
      EXPECT_EQ(found->pulled.local_bytes, wanted->pulled.local_bytes);
      FeatureMatrix& of_wanted = wanted->self_and_mean[0].rows;
      FeatureMatrix& of_found = found->self_and_mean[0].rows;
      ASSERT_EQ(of_found.bytes().size(), of_wanted.bytes().size());
      EXPECT_TRUE(
          std::equal(of_found.bytes().begin(), of_found.bytes().end(), of_wanted.bytes().begin()));
    }
  }
}

TEST_F(BatchMakerTest, TypesMayBeReadInPlaceAndPulledSideBySide) {
  Open(RandomTypedGraph({.nodes = 60, .feature_dim = 3}));
  const Schema& schema = stores_.graph->info().schema;
  const int paper = *schema.NodeTypeIndex("paper");
  BatchRecipe recipe;
  recipe.sampling = SamplingSpec::Uniform(schema, std::vector<int32_t>{3, 3});
  recipe.inputs = {InputOf(schema, *schema.NodeTypeIndex("author"), "emb"),
                   InputOf(schema, paper, "year")};
  recipe.inputs[1].normalization = FeatureNormalization::kRow;
  const BatchMaker plain(stores_.graph.get(), stores_.rows.get(), recipe);
  recipe.input_rows = InputRows::kSelfAndMean;
  InPlaceAndCounted in_place(stores_.rows.get());
  const BatchMaker maker(stores_.graph.get(), &in_place, recipe);
  auto wanted = Make(plain, paper, {4, 11, 30}, 5);
  auto found = Make(maker, paper, {4, 11, 30}, 5);
  ASSERT_TRUE(wanted.ok() && found.ok()) << wanted.status() << found.status();
  EXPECT_EQ(in_place.tensors, 1) << "the years, which are normalised";
  ExpectSameRows(schema, *wanted, *found);
}

TEST_F(BatchMakerTest, ACancelledTokenEndsABatchWhoseRowsAreReadInPlace) {
  Open(RandomGraph({.nodes = 50}));
  BatchRecipe recipe = Recipe("feat", {3});
  recipe.input_rows = InputRows::kSelfAndMean;
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), recipe);
  CancelToken token;
  token.Cancel();
  EXPECT_EQ(Make(maker, 0, {1}, 1, {.cancel = &token}).status().code(),
            absl::StatusCode::kCancelled);
}

TEST_F(BatchMakerTest, RowsOfTheFirstLayerAreMadeForEveryRelation) {
  Open(RandomTypedGraph({.nodes = 60, .feature_dim = 3}));
  const Schema& schema = stores_.graph->info().schema;
  BatchRecipe recipe;
  recipe.sampling = SamplingSpec::Uniform(schema, std::vector<int32_t>{3, 3});
  recipe.inputs = {InputOf(schema, *schema.NodeTypeIndex("author"), "emb"),
                   InputOf(schema, *schema.NodeTypeIndex("paper"), "year")};
  const BatchMaker plain(stores_.graph.get(), stores_.rows.get(), recipe);
  recipe.input_rows = InputRows::kSelfAndMean;
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), recipe);
  const int paper = *schema.NodeTypeIndex("paper");
  auto wanted = Make(plain, paper, {4, 11, 30}, 5);
  auto found = Make(maker, paper, {4, 11, 30}, 5);
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->self_and_mean.size(), schema.relations.size());
  ExpectSameRows(schema, *wanted, *found);
}

TEST_F(BatchMakerTest, BlocksOfLayersAreMadeOnlyWhereTheyAreAskedFor) {
  Open(RandomGraph({.nodes = 50}));
  BatchRecipe recipe = Recipe("feat", {3, 2});
  const BatchMaker plain(stores_.graph.get(), stores_.rows.get(), recipe);
  recipe.form = BlockForm::kSelfLoops;
  recipe.by_source = BySource::kAboveFirst;
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), recipe);
  auto without = Make(plain, 0, {7, 3}, 11);
  auto with = Make(maker, 0, {7, 3}, 11);
  ASSERT_TRUE(without.ok() && with.ok());
  EXPECT_TRUE(without->blocks.layers.empty());
  const auto& layers = with->blocks.layers;
  ASSERT_EQ(layers.size(), 2U);
  ASSERT_EQ(layers[0].transposed.size(), 1U);
  EXPECT_EQ(layers[0].transposed[0].destinations.size(),
            with->minibatch.layers[0].blocks[0].indices.size() + 2)
      << "two seeds loop";
  EXPECT_EQ(layers[1].looped.size(), 1U);
  EXPECT_TRUE(layers[1].transposed.empty());
}

TEST_F(BatchMakerTest, NoSeedsIsABatchOfNoRows) {
  Open(RandomGraph({.nodes = 10}));
  BatchRecipe recipe = Recipe("feat", {2});
  recipe.input_rows = InputRows::kSelfAndMean;
  recipe.by_source = BySource::kAll;
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), recipe);
  auto batch = Make(maker, 0, {}, 1);
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->rows, 0);
  EXPECT_EQ(batch->minibatch.sampled_edges, 0);
}

class CancelledPulls final : public RowStore {
 public:
  explicit CancelledPulls(RowStore* store) : store_(store) {}
  Status Pull(std::span<const RowRequest>, CallContext&) override { return Cancelled("by test"); }
  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                       CallContext& context) override {
    return store_->Push(pushes, context);
  }

 private:
  RowStore* store_;
};

TEST_F(BatchMakerTest, CallsGoByTheTokenGiven) {
  Open(RandomGraph({.nodes = 10}));
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), Recipe("feat", {2}));
  CancelToken token;
  token.Cancel();
  EXPECT_EQ(Make(maker, 0, {1}, 1, {.cancel = &token}).status().code(),
            absl::StatusCode::kCancelled);
}

TEST_F(BatchMakerTest, ErrorsSayWhatWasBeingDone) {
  Open(RandomGraph({.nodes = 10}));
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), Recipe("feat", {2}));
  const std::vector<int64_t> outside = {10};
  EXPECT_THAT(Message(Make(maker, 0, outside, 1).status()), testing::StartsWith("sampling"));
  const std::vector<int64_t> inside = {1};
  CancelledPulls cancelled(stores_.rows.get());
  const BatchMaker broken(stores_.graph.get(), &cancelled, Recipe("feat", {2}));
  const Status status = Make(broken, 0, inside, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(Message(status), testing::StartsWith("pulling features"));
}

}  // namespace
}  // namespace halograph
