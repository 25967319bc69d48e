#include "trainer/pipeline/batch_maker.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/trainer_pipeline/opened_graph.h"

namespace halograph {
namespace {

class BatchMakerTest : public OpenedGraphTest {
 protected:
  BatchRecipe Recipe(const std::string& feature, std::vector<int32_t> fanouts) {
    const Schema& schema = stores_.graph->info().schema;
    BatchRecipe recipe;
    recipe.sampling = SamplingSpec::Uniform(schema, fanouts);
    recipe.feature = TensorRef{false, "node", feature};
    recipe.feature_spec = **FindTensor(schema.node_types[0].features, feature, "node");
    return recipe;
  }
};

TEST_F(BatchMakerTest, FeaturesAreThoseOfTheInputNodes) {
  const TestGraphSpec spec = RandomGraph({.nodes = 50});
  Open(spec);
  const std::vector<int64_t> global = GlobalNodeIds(spec, "node");
  std::vector<int64_t> input(global.size());
  for (size_t i = 0; i < global.size(); ++i) input[global[i]] = static_cast<int64_t>(i);
  const BatchMaker maker(stores_.graph.get(), stores_.kv.get(), Recipe("feat", {3, 2}));
  const std::vector<int64_t> seeds = {7, 3, 7};
  auto batch = maker.Make(seeds, 11);
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->num_seeds(), 3);
  const auto& nodes = batch->minibatch.nodes[0];
  ASSERT_EQ(batch->features.rows(), static_cast<int64_t>(nodes.size()));
  ASSERT_EQ(batch->features.cols(), 4);
  for (size_t row = 0; row < nodes.size(); ++row) {
    EXPECT_EQ(batch->features.values()[row * 4], static_cast<float>(input[nodes[row]]));
  }
  EXPECT_EQ(batch->pulled.local_bytes, static_cast<int64_t>(nodes.size() * 16));
  EXPECT_EQ(batch->pulled.remote_bytes, 0);
  EXPECT_EQ(batch->pulled.rounds + batch->sampled.rounds, 0);
}

TEST_F(BatchMakerTest, StoredIntegersAreConvertedAndNormalised) {
  TestGraphSpec spec = RandomGraph({.nodes = 4, .feature_dim = 0});
  spec.node_types[0].features = {
      MakeTensor<uint8_t>("words", {1, 0, 1, 0, 0, 0, 4, 2, 2, 255, 0, 0}, 3)};
  Open(spec);
  BatchRecipe recipe = Recipe("words", {2});
  recipe.normalization = FeatureNormalization::kRow;
  const BatchMaker maker(stores_.graph.get(), stores_.kv.get(), recipe);
  const std::vector<int64_t> global = GlobalNodeIds(spec, "node");
  auto batch = maker.Make(global, 1);
  ASSERT_TRUE(batch.ok()) << batch.status();
  const std::vector<float> wanted = {0.5, 0, 0.5, 0, 0, 0, 0.5, 0.25, 0.25, 1, 0, 0};
  const auto values = batch->features.values();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), wanted);
}

TEST_F(BatchMakerTest, NoSeedsIsABatchOfNoRows) {
  Open(RandomGraph({.nodes = 10}));
  const BatchMaker maker(stores_.graph.get(), stores_.kv.get(), Recipe("feat", {2}));
  auto batch = maker.Make({}, 1);
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->num_seeds(), 0);
  EXPECT_EQ(batch->minibatch.sampled_edges, 0);
}

TEST_F(BatchMakerTest, ErrorsSayWhatWasBeingDone) {
  Open(RandomGraph({.nodes = 10}));
  const BatchMaker maker(stores_.graph.get(), stores_.kv.get(), Recipe("feat", {2}));
  const std::vector<int64_t> outside = {10};
  EXPECT_THAT(Message(maker.Make(outside, 1).status()), testing::StartsWith("sampling"));
  stores_.kv->Shutdown();
  const std::vector<int64_t> inside = {1};
  const Status status = maker.Make(inside, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(Message(status), testing::StartsWith("pulling features"));
}

}  // namespace
}  // namespace halograph
