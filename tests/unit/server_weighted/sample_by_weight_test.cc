// Sampling requests that name a weight, as the server's handler answers them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/graph/partition.h"
#include "common/sampling/kernel/one_layer.h"
#include "common/sampling/weighted_picks.h"
#include "server/handlers/sample.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_folder.h"

namespace halograph::server {
namespace {

using testing::HasSubstr;

constexpr char kCites[] = "paper:cites:paper";
constexpr char kWrites[] = "author:writes:paper";

// Part 1 of a typed graph whose feature "weight" of paper:cites:paper has tables.
class SampleByWeightTest : public testing::Test {
 protected:
  void SetUp() override {
    TestGraphSpec spec = RandomTypedGraph({.seed = 7, .parts = 3, .nodes = 120, .mean_degree = 9});
    for (TestRelation& relation : spec.relations) {
      for (TestTensor& tensor : relation.features) {
        tensor.spec.sampling = relation.triple() == kCites && tensor.spec.name == "weight";
      }
    }
    const auto path = WriteTestGraph(spec, folder_.path() / "graph");
    ASSERT_TRUE(path.ok()) << path.status();
    auto set = PartitionSet::Open(*path, {1}, VerifyLevel::kContents);
    ASSERT_TRUE(set.ok()) << set.status();
    graph_ = std::make_unique<ServedGraph>(*std::move(set));
    relation_ = *graph_->schema().RelationIndex(kCites);
    const IdRange owned = graph_->book().NodeRange(graph_->schema().DestinationType(relation_), 1);
    for (int64_t id = owned.begin; id < owned.end; ++id) owned_.push_back(id);
  }

  [[nodiscard]] StatusOr<std::vector<LayerSamplePlan>> Plan(const LayerSampleGroup& group) {
    request_ = {.batch_seed = 5, .layer = 1, .groups = {group}};
    return SampleHandler(graph_.get(), 4 << 20).Plan(request_);
  }

  TestFolder folder_;
  std::unique_ptr<ServedGraph> graph_;
  LayerSampleRequest request_;  // plans point into it
  int relation_ = 0;
  std::vector<int64_t> owned_;
};

TEST_F(SampleByWeightTest, AnswersWithTheKernelsWeightedDraws) {
  const RelationTopology& topology = graph_->topology()[relation_];
  const int feature = *FindSamplingWeight(graph_->schema(), relation_, "weight");
  const auto relations = static_cast<int>(graph_->schema().relations.size());
  for (const bool replace : {false, true}) {
    for (const int32_t fanout : {-1, 2, 30}) {
      const auto plans = Plan({.relation = kCites,
                               .rule = {.fanout = fanout, .replace = replace, .weight = "weight"},
                               .destinations = owned_});
      ASSERT_TRUE(plans.ok()) << plans.status();
      const LayerSamplePlan& plan = plans->front();
      std::vector<uint32_t> sources(plan.edges);
      const Status drawn =
          SampleHandler(graph_.get(), 4 << 20)
              .Draw(plan, {.sources = reinterpret_cast<std::byte*>(sources.data())});
      EXPECT_TRUE(drawn.ok()) << drawn;
      const LayerDraws draws =
          MakeLayerDraws(topology, {.fanout = fanout, .replace = replace, .weight = feature},
                         LayerKey(5, 1, relations, relation_))
              .value();
      NeighborPicks expected;
      static_cast<void>(SampleNeighbors(draws, owned_, nullptr, &expected));
      EXPECT_EQ(std::vector<int64_t>(sources.begin(), sources.end()), expected.sources);
      for (size_t i = 0; i < owned_.size(); ++i) {
        EXPECT_EQ(plan.counts[i], expected.offsets[i + 1] - expected.offsets[i]);
      }
    }
  }
}

TEST_F(SampleByWeightTest, RelationWithoutTablesIsNotFoundNamingItAndTheRemedy) {
  for (const auto& [weight, relation] :
       {std::pair<std::string, const char*>{"weight", kWrites}, {"nowhere", kCites}}) {
    const auto plans =
        Plan({.relation = relation, .rule = {.fanout = 3, .weight = weight}, .destinations = {}});
    EXPECT_EQ(plans.status().code(), absl::StatusCode::kNotFound) << plans.status();
    EXPECT_THAT(Message(plans.status()),
                testing::AllOf(HasSubstr(relation), HasSubstr("--sampling-weights " + weight)));
  }
}

TEST_F(SampleByWeightTest, WeightsAreTheFeaturesOfTheEdgesDrawn) {
  const auto& features = graph_->schema().relations[relation_].features;
  const auto named = std::find_if(features.begin(), features.end(),
                                  [](const TensorSpec& spec) { return spec.name == "weight"; });
  ASSERT_EQ(named->dtype, DType::kFloat32);
  const std::span<const std::byte> values =
      graph_->parts()[0]->EdgeFeature(relation_, static_cast<int>(named - features.begin())).data();
  for (const int32_t fanout : {-1, 2, 30}) {
    const auto plans = Plan({.relation = kCites,
                             .rule = {.fanout = fanout, .weight = "weight"},
                             .destinations = owned_,
                             .edge_ids = true,
                             .weights = true});
    ASSERT_TRUE(plans.ok()) << plans.status();
    const LayerSamplePlan& plan = plans->front();
    std::vector<uint32_t> sources(plan.edges);
    std::vector<int64_t> edge_ids(plan.edges);
    std::vector<float> weights(plan.edges);
    const Status drawn = SampleHandler(graph_.get(), 4 << 20)
                             .Draw(plan, {.sources = reinterpret_cast<std::byte*>(sources.data()),
                                          .edge_ids = reinterpret_cast<std::byte*>(edge_ids.data()),
                                          .weights = reinterpret_cast<std::byte*>(weights.data())});
    ASSERT_TRUE(drawn.ok()) << drawn;
    const int64_t first = graph_->parts()[0]->Edges(relation_).first_edge;
    for (size_t e = 0; e < weights.size(); ++e) {
      float expected = 0;
      std::memcpy(&expected, values.data() + (edge_ids[e] - first) * sizeof(float), sizeof(float));
      EXPECT_EQ(weights[e], expected) << e;
    }
  }
}

TEST_F(SampleByWeightTest, GroupOfFanoutZeroNeedsNoTables) {
  const auto plans = Plan(
      {.relation = kWrites, .rule = {.fanout = 0, .weight = "weight"}, .destinations = owned_});
  ASSERT_TRUE(plans.ok()) << plans.status();
  EXPECT_EQ(plans->front().edges, 0);
}

}  // namespace
}  // namespace halograph::server
