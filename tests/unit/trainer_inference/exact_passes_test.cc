#include "trainer/inference/exact_passes.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random_graph.h"
#include "trainer/models/registry.h"

namespace halograph {
namespace {

using testing::ElementsAre;

// What a pass reads and keeps of a node: columns of shared and of own rows.
struct Widths {
  int64_t reads_shared, reads_own, keeps_shared, keeps_own;
  friend bool operator==(const Widths&, const Widths&) = default;
};

class ExactPassesTest : public testing::Test {
 protected:
  struct Asked {
    std::string model;
    std::vector<std::pair<std::string, std::string>> options = {};
    int64_t inputs = 100;
    int64_t layers = 2;
    int64_t outputs = 5;
    ExactRows what = ExactRows::kOutputs;
  };

  std::vector<ExactPass> Plan(const Asked& asked) {
    const ModelKind& kind = **FindModelKind(asked.model);
    const auto options = kind.options();
    OptionTable rows;
    options->AddRows(rows);
    for (const auto& [name, text] : asked.options) EXPECT_TRUE(rows.Set(name, text).ok()) << name;
    model_ = kind.make(*options, {.schema = &schema_,
                                  .input_dims = {asked.inputs},
                                  .layers = asked.layers,
                                  .output_dim = asked.outputs});
    evaluation_ = SamplingSpec::Uniform(
        schema_, std::vector<int32_t>(static_cast<size_t>(asked.layers), kFullNeighborhood));
    const ModelNeeds needs = options->NeedsOf(kind.needs);
    return PlanPasses(*model_, needs,
                      {.schema = &schema_,
                       .evaluation = &evaluation_,
                       .dim = asked.inputs,
                       .input_rows = needs.input_rows},
                      asked.what, std::vector{0});
  }
  std::vector<Widths> WidthsOf(const Asked& asked) {
    std::vector<Widths> widths;
    for (const ExactPass& pass : Plan(asked)) {
      widths.push_back({pass.reads.shared, pass.reads.own, pass.keeps.shared, pass.keeps.own});
    }
    return widths;
  }

  const Schema schema_ = TestSchema(RandomGraph({}));
  SamplingSpec evaluation_;
  std::shared_ptr<Model> model_;
};

TEST_F(ExactPassesTest, ALayerReadsProjectedRowsWhereTheyAreNarrower) {
  EXPECT_THAT(WidthsOf({.model = "sage", .options = {{"hidden", "64"}}}),
              ElementsAre(Widths{100, 0, 5, 5}, Widths{5, 5, 0, 0}));
  EXPECT_THAT(WidthsOf({.model = "gcn", .options = {{"hidden", "100"}}}),
              ElementsAre(Widths{100, 0, 5, 0}, Widths{5, 0, 0, 0}));
  // Rows [W_self h, W_neigh h] would be as wide as h.
  EXPECT_THAT(WidthsOf({.model = "sage", .options = {{"hidden", "64"}}, .outputs = 32}),
              ElementsAre(Widths{100, 0, 64, 0}, Widths{64, 0, 0, 0}));
}

TEST_F(ExactPassesTest, WideInputsTakeAPassOfTheirOwnIfALayerFollows) {
  const auto passes = Plan({.model = "sage", .options = {{"hidden", "16"}}});
  ASSERT_EQ(passes.size(), 3U);
  EXPECT_FALSE(passes[0].layer.has_value());
  EXPECT_FALSE(passes[0].reads_blocks());
  EXPECT_EQ(passes[0].input_rows, InputRows::kNodes);
  EXPECT_EQ(passes[1].layer, 0U);
  EXPECT_EQ(passes[1].input_rows, InputRows::kSelfAndMean);
  EXPECT_THAT(WidthsOf({.model = "sage", .options = {{"hidden", "16"}}}),
              ElementsAre(Widths{100, 0, 16, 16}, Widths{16, 16, 5, 5}, Widths{5, 5, 0, 0}));
  EXPECT_THAT(WidthsOf({.model = "sage", .layers = 1}), ElementsAre(Widths{100, 0, 0, 0}));
}

TEST_F(ExactPassesTest, WhatReadsTheNodesOwnRowIsNotProjected) {
  EXPECT_THAT(WidthsOf({.model = "sage", .options = {{"hidden", "16"}, {"residual", "true"}}}),
              ElementsAre(Widths{100, 0, 5, 5}, Widths{5, 5, 0, 0}));
  EXPECT_THAT(WidthsOf({.model = "sage", .options = {{"hidden", "64"}, {"aggregator", "pool"}}}),
              ElementsAre(Widths{100, 0, 64, 0}, Widths{64, 0, 0, 0}));
  EXPECT_THAT(
      WidthsOf({.model = "sage", .options = {{"hidden", "64"}}, .what = ExactRows::kEmbeddings}),
      ElementsAre(Widths{100, 0, 64, 0}, Widths{64, 0, 0, 0}));
}

TEST_F(ExactPassesTest, StepsOfSgcPropagateRowsThatWereProjectedOnce) {
  EXPECT_THAT(WidthsOf({.model = "sgc", .layers = 3}),
              ElementsAre(Widths{100, 0, 5, 0}, Widths{5, 0, 5, 0}, Widths{5, 0, 5, 0},
                          Widths{5, 0, 0, 0}));
  for (const Asked& whole : {Asked{.model = "sgc", .what = ExactRows::kEmbeddings},
                             Asked{.model = "sgc", .outputs = 100}}) {
    EXPECT_THAT(WidthsOf(whole), ElementsAre(Widths{100, 0, 100, 0}, Widths{100, 0, 0, 0}));
  }
}

}  // namespace
}  // namespace halograph
