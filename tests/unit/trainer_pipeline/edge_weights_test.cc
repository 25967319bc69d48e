#include "trainer/pipeline/edge_weights.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/one_call.h"
#include "tests/support/opened_graph.h"
#include "trainer/pipeline/batch_maker.h"
#include "trainer/pipeline/weight_sums.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kCites[] = "paper:cites:paper";

class EdgeWeightsTest : public OpenedGraphTest {
 protected:
  // Whose papers cite each other, with a feature "w" of these numbers.
  template <typename T>
  void OpenCited(const std::function<T(size_t edge)>& number) {
    spec_ = RandomTypedGraph({.nodes = 60, .feature_dim = 3});
    TestRelation& cites = Cites();
    std::vector<T> numbers(cites.edges.size());
    for (size_t e = 0; e < numbers.size(); ++e) numbers[e] = number(e);
    cites.features = {MakeTensor("w", numbers)};
  }
  TestRelation& Cites() {
    for (TestRelation& relation : spec_.relations) {
      if (relation.triple() == kCites) return relation;
    }
    ADD_FAILURE() << "no relation " << kCites;
    return spec_.relations.front();
  }
  const Schema& schema() { return stores_.graph->info().schema; }
  int Paper() { return *schema().NodeTypeIndex("paper"); }
  // Draws of cited papers alone, two layers.
  BatchRecipe Recipe(const std::string& weight) {
    BatchRecipe recipe;
    const int cites = *schema().RelationIndex(kCites);
    recipe.sampling.layers = {{Neighbors(cites, 4)}, {Neighbors(cites, 3)}};
    recipe.edge_ids = true;
    const NodeType& paper = schema().node_types[Paper()];
    recipe.inputs = {{Paper(), TensorRef{false, "paper", "feat"},
                      **FindTensor(paper.features, "feat", "paper")}};
    auto weights = ChooseEdgeWeights(schema(), weight, recipe.sampling);
    EXPECT_TRUE(weights.ok()) << ToString(weights.status());
    if (weights.ok()) recipe.edge_weights = *std::move(weights);
    return recipe;
  }
  StatusOr<Step> Make(const BatchMaker& maker, std::vector<StepSeeds::Excluded> exclude = {}) {
    Step step;
    step.rows = 4;
    StepSeeds seeds;
    seeds.seeds.push_back({Paper(), {7, 30, 2, 11}});
    seeds.exclude = std::move(exclude);
    HG_RETURN_IF_ERROR(maker.Sample(seeds, 5, {}, &step));
    HG_RETURN_IF_ERROR(maker.PullRows({}, &step));
    return step;
  }
  StatusOr<Step> Make(const BatchRecipe& recipe) {
    return Make(BatchMaker(stores_.graph.get(), stores_.rows.get(), recipe));
  }
  // Of the edges by their original ids, each pulled by itself.
  template <typename T>
  std::vector<float> NumbersOf(const std::vector<int64_t>& edges,
                               const std::function<T(size_t edge)>& number) {
    std::vector<float> numbers;
    for (const int64_t edge : edges) {
      int64_t original = -1;
      const Status pulled =
          PullOne(*stores_.rows, {true, kCites, kOriginalIdTensor}, std::span(&edge, 1),
                  std::as_writable_bytes(std::span(&original, 1)));
      EXPECT_TRUE(pulled.ok()) << ToString(pulled);
      numbers.push_back(static_cast<float>(number(static_cast<size_t>(original))));
    }
    return numbers;
  }
  // That each block's coefficients are the numbers of its edges.
  template <typename T>
  void ExpectWeighed(const StatusOr<Step>& step, const std::function<T(size_t edge)>& number) {
    ASSERT_TRUE(step.ok()) << ToString(step.status());
    ASSERT_EQ(step->minibatch.layers.size(), 2U);
    for (const SampledLayer& layer : step->minibatch.layers) {
      ASSERT_GT(layer.blocks[0].indices.size(), 3U);
      EXPECT_EQ(layer.blocks[0].coefficients, NumbersOf(layer.blocks[0].edge_ids, number));
    }
  }
  template <typename T>
  void ExpectWeighedBy(const std::function<T(size_t edge)>& number) {
    OpenCited<T>(number);
    Open(spec_);
    ExpectWeighed(Make(Recipe("w")), number);
  }
  void ExpectRefused(double number, const std::string& shown) {
    SCOPED_TRACE(shown);
    OpenCited<double>([&](size_t edge) { return edge % 5 == 3 ? number : 1.0; });
    Open(spec_);
    auto step = Make(Recipe("w"));
    ASSERT_EQ(step.status().code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(
        Message(step.status()),
        AllOf(HasSubstr("--edge-weight w: edge "),
              testing::ContainsRegex("edge [0-9]*[38] \\(original id\\)"), HasSubstr(kCites),
              HasSubstr("has " + shown + ";"), HasSubstr("leave out --edge-weight")));
  }

  TestGraphSpec spec_;
};

// Counts calls of Pull, and what they ask for.
class AskedRows final : public RowStore {
 public:
  explicit AskedRows(RowStore* store) : store_(store) {}
  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    asked.emplace_back();
    for (const RowRequest& request : requests) asked.back().push_back(request.tensor.ToString());
    return store_->Pull(requests, context);
  }
  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                       CallContext& context) override {
    return store_->Push(pushes, context);
  }
  std::vector<std::vector<std::string>> asked;

 private:
  RowStore* store_;
};

TEST_F(EdgeWeightsTest, CoefficientsAreTheNumbersOfTheEdgesWhateverTheirDtype) {
  ExpectWeighedBy<float>([](size_t edge) { return 0.1F * static_cast<float>(edge); });
  ExpectWeighedBy<double>([](size_t edge) { return 0.1 * static_cast<double>(edge); });
  ExpectWeighedBy<int64_t>([](size_t edge) { return static_cast<int64_t>(edge) * 1234567; });
  ExpectWeighedBy<uint8_t>([](size_t edge) { return static_cast<uint8_t>(edge % 7); });
  ExpectWeighedBy<uint16_t>([](size_t edge) { return static_cast<uint16_t>(edge * 3); });
}

TEST_F(EdgeWeightsTest, NarrowNumbersAreWidened) {
  const std::function<float(size_t)> number = [](size_t edge) {
    return static_cast<float>(edge % 128) * 0.25F;  // any of the dtypes has it
  };
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kScaledInt8}) {
    OpenCited<float>(number);
    TestTensor column = Cites().features[0];
    column.spec.rank = 2;
    Cites().features = {Narrowed(column, "w", dtype)};
    Open(spec_);
    ExpectWeighed(Make(Recipe("w")), number);
  }
}

TEST_F(EdgeWeightsTest, WeightsAndFeaturesAreAskedForInOneCall) {
  OpenCited<float>([](size_t edge) { return static_cast<float>(edge); });
  Open(spec_);
  AskedRows rows(stores_.rows.get());
  const BatchMaker maker(stores_.graph.get(), &rows, Recipe("w"));
  auto step = Make(maker);
  ASSERT_TRUE(step.ok()) << ToString(step.status());
  EXPECT_THAT(rows.asked,
              ElementsAre(ElementsAre("node paper / feat", "relation paper:cites:paper / w")));
  const int64_t edges = step->minibatch.sampled_edges;
  EXPECT_EQ(step->pulled.local_bytes,
            step->features[Paper()].rows() * 12 + edges * static_cast<int64_t>(sizeof(float)));
  auto without = Make(Recipe(""));
  ASSERT_TRUE(without.ok());
  EXPECT_TRUE(without->minibatch.layers[0].blocks[0].coefficients.empty());
  const BatchMaker plain(stores_.graph.get(), stores_.rows.get(), Recipe(""));
  // A weight, and, while it is pulled, an id and a value.
  const int64_t weighed = plain.BytesOf(*without) + edges * (4 + 8 + 4);
  EXPECT_EQ(maker.BytesOf(*step), weighed);
  for (SampledLayer& layer : step->minibatch.layers) layer.blocks[0].coefficients.clear();
  EXPECT_EQ(maker.BytesOf(*step), weighed) << "what is to come counts";
  EXPECT_EQ(step->minibatch, without->minibatch);
  BatchRecipe recipe = Recipe("w");
  recipe.edge_ids = false;
  auto unasked = Make(recipe);
  ASSERT_TRUE(unasked.ok());
  EXPECT_TRUE(unasked->minibatch.layers[0].blocks[0].edge_ids.empty()) << "they are not kept";
}

TEST_F(EdgeWeightsTest, WhatMinibatchesAreDrawnByIsNotPulled) {
  const std::function<double(size_t)> number = [](size_t edge) {
    return edge % 4 == 3 ? 0 : 0.1 * static_cast<double>(edge);
  };
  OpenCited<double>(number);
  Cites().features[0].spec.sampling = true;
  Open(spec_);
  BatchRecipe recipe = Recipe("");
  ASSERT_TRUE(recipe.sampling.DrawBy(schema(), "w").ok());
  for (const bool kept : {false, true}) {
    recipe.weights = kept;
    recipe.edge_weights = *ChooseEdgeWeights(schema(), "w", recipe.sampling);
    AskedRows rows(stores_.rows.get());
    auto step = Make(BatchMaker(stores_.graph.get(), &rows, recipe));
    ExpectWeighed(step, number);
    EXPECT_THAT(rows.asked, ElementsAre(ElementsAre("node paper / feat")));
    const Block& block = step->minibatch.layers[0].blocks[0];
    EXPECT_EQ(block.weights, kept ? block.coefficients : std::vector<float>());
  }
}

// Minibatches may be drawn by one feature and weighed by another.
TEST_F(EdgeWeightsTest, AnotherFeatureThanIsDrawnByIsPulled) {
  const std::function<float(size_t)> number = [](size_t edge) { return static_cast<float>(edge); };
  OpenCited<float>(number);
  Cites().features.push_back(MakeTensor("p", std::vector<double>(Cites().edges.size(), 2.5)));
  Cites().features.back().spec.sampling = true;
  Open(spec_);
  BatchRecipe recipe = Recipe("w");
  ASSERT_TRUE(recipe.sampling.DrawBy(schema(), "p").ok());
  ExpectWeighed(Make(recipe), number);
}

TEST_F(EdgeWeightsTest, EdgesThatAreLeftOutShiftNoWeight) {
  const std::function<float(size_t)> number = [](size_t edge) { return static_cast<float>(edge); };
  OpenCited<float>(number);
  Open(spec_);
  const BatchRecipe recipe = Recipe("w");
  auto whole = Make(recipe);
  ASSERT_TRUE(whole.ok());
  const Block& block = whole->minibatch.layers[0].blocks[0];
  const std::vector<int64_t>& nodes = whole->minibatch.nodes[Paper()];
  StepSeeds::Excluded some{.relation = block.relation, .sources = {}, .destinations = {}};
  for (size_t v = 0; v + 1 < block.indptr.size(); ++v) {
    if (block.indptr[v] == block.indptr[v + 1]) continue;
    some.sources.push_back(nodes[block.indices[block.indptr[v]]]);
    some.destinations.push_back(nodes[v]);
  }
  ASSERT_GT(some.sources.size(), 2U);
  auto rest = Make(BatchMaker(stores_.graph.get(), stores_.rows.get(), recipe), {some});
  ASSERT_TRUE(rest.ok());
  EXPECT_LT(rest->minibatch.layers[0].blocks[0].indices.size(), block.indices.size());
  ExpectWeighed(rest, number);
}

TEST_F(EdgeWeightsTest, BlocksAreMadeWhenTheWeightsAreThere) {
  OpenCited<float>([](size_t edge) { return static_cast<float>(edge); });
  Open(spec_);
  BatchRecipe recipe = Recipe("w");
  recipe.form = BlockForm::kSelfLoops;
  recipe.by_source = BySource::kAll;
  const BatchMaker maker(stores_.graph.get(), stores_.rows.get(), recipe);
  Step step;
  step.rows = 1;
  StepSeeds seeds;
  seeds.seeds.push_back({Paper(), {7}});
  ASSERT_TRUE(maker.Sample(seeds, 5, {}, &step).ok());
  EXPECT_TRUE(step.blocks.layers.empty());
  ASSERT_TRUE(maker.PullRows({}, &step).ok());
  ASSERT_EQ(step.blocks.layers.size(), 2U);
  EXPECT_EQ(step.blocks.layers[0].looped.size(), 1U);
  EXPECT_EQ(step.blocks.layers[1].transposed.size(), 1U);
}

TEST_F(EdgeWeightsTest, WeightsOfZeroAreTaken) {
  OpenCited<float>([](size_t) { return 0.0F; });
  Open(spec_);
  auto step = Make(Recipe("w"));
  ASSERT_TRUE(step.ok()) << ToString(step.status());
  for (const SampledLayer& layer : step->minibatch.layers) {
    EXPECT_THAT(layer.blocks[0].coefficients, Each(0));
    EXPECT_EQ(layer.blocks[0].coefficients.size(), layer.blocks[0].indices.size());
  }
}

TEST_F(EdgeWeightsTest, DegreesAreSumsOfTheWeightsOfAllEdgesWhateverIsDrawn) {
  OpenCited<float>([](size_t edge) { return .5F + static_cast<float>(edge % 7); });
  Open(spec_);
  BatchRecipe recipe = Recipe("w");
  const int cites = recipe.sampling.layers[0][0].relation;
  recipe.sampling.layers = {{Neighbors(cites, kFullNeighborhood)}};
  const StatusOr<Step> full = Make(recipe);
  ASSERT_TRUE(full.ok()) << full.status();
  std::vector<float> wanted;
  const Block& all = full->minibatch.layers[0].blocks[0];
  for (size_t v = 0; v + 1 < all.indptr.size(); ++v) {
    wanted.push_back(std::accumulate(all.coefficients.begin() + all.indptr[v],
                                     all.coefficients.begin() + all.indptr[v + 1], 0.0F));
  }

  std::vector<float> sums(static_cast<size_t>(schema().node_types[Paper()].count));
  for (int rank = 0; rank < 3; ++rank) {
    const auto share = ReadWeightSums(stores_.graph.get(), stores_.rows.get(), recipe.edge_weights,
                                      {.own = {rank, 3}, .threads = 2});
    ASSERT_TRUE(share.ok()) << share.status();
    EXPECT_THAT(*share, testing::Contains(0.0F));
    for (size_t v = 0; v < sums.size(); ++v) sums[v] += (*share)[v];
  }
  recipe.edge_weights.sums = std::make_shared<const WeightSums>(Paper(), std::move(sums));
  recipe.sampling.layers = {{{cites, {.kind = DrawKind::kLabor, .fanout = 1}}}};
  const StatusOr<Step> drawn = Make(recipe);
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  const Block& block = drawn->minibatch.layers[0].blocks[0];
  EXPECT_LT(block.indices.size(), all.indices.size());
  EXPECT_EQ(block.degrees, wanted);
}

TEST_F(EdgeWeightsTest, WhatIsNoWeightIsRefusedByItsOriginalId) {
  ExpectRefused(-0.5, "-0.5");
  ExpectRefused(-1e-60, "-1e-60");
  ExpectRefused(std::nan(""), "nan");
  ExpectRefused(std::numeric_limits<double>::infinity(), "inf");
  ExpectRefused(1e39, "1e+39");
}

TEST_F(EdgeWeightsTest, AnEdgeWhoseOriginalIdIsNotToldIsNamedByItsGlobalOne) {
  EXPECT_EQ(Message(RefuseWeight({{true, kCites, "w"}, 77, -2}, std::nullopt)),
            "--edge-weight w: the edge with global id 77 of relation 'paper:cites:paper' has -2; a "
            "weight is a number from 0 to 1e30: fix the feature in the input and partition the "
            "graph again, or leave out --edge-weight");
}

TEST_F(EdgeWeightsTest, AWeightThatIsDrawnByAndBeyondFloat32IsRefused) {
  OpenCited<double>([](size_t edge) { return edge % 5 == 3 ? 1e39 : 1e29; });
  Cites().features[0].spec.sampling = true;
  Open(spec_);
  BatchRecipe recipe = Recipe("");
  ASSERT_TRUE(recipe.sampling.DrawBy(schema(), "w").ok());
  recipe.edge_weights = *ChooseEdgeWeights(schema(), "w", recipe.sampling);
  auto step = Make(recipe);
  ASSERT_EQ(step.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(Message(step.status()),
              AllOf(HasSubstr("--edge-weight w"), HasSubstr(kCites),
                    HasSubstr("into the node with global id "), HasSubstr("from 0 to 1e30")));
}

TEST_F(EdgeWeightsTest, ARelationWithoutTheFeatureMustNotBeDrawnFrom) {
  OpenCited<float>([](size_t) { return 1.0F; });
  Cites().features.push_back(MakeTensor("pair", std::vector<float>(2 * Cites().edges.size()), 2));
  Open(spec_);
  const auto choose = [&](const std::string& name, const SamplingSpec& sampling) {
    return ChooseEdgeWeights(schema(), name, sampling).status();
  };
  SamplingSpec all = SamplingSpec::Uniform(schema(), std::vector<int32_t>{2, -1});
  EXPECT_EQ(choose("w", all).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(choose("w", all)),
              AllOf(HasSubstr("--edge-weight w: relation 'author:writes:paper'"),
                    HasSubstr("it has none"), HasSubstr("fanout 0")));
  for (auto& layer : all.layers) {
    for (RelationRule& of : layer) {
      if (schema().relations[of.relation].triple() != kCites) of.rule.fanout = 0;
    }
  }
  EXPECT_TRUE(choose("w", all).ok());
  EXPECT_THAT(Message(choose("x", all)), AllOf(HasSubstr(kCites), HasSubstr("it has 'pair', 'w'")));
  EXPECT_EQ(choose("pair", all).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(choose("pair", all)), HasSubstr("has 2 columns; a weight has one"));
  EXPECT_TRUE(choose("", all).ok());
}

}  // namespace
}  // namespace halograph
