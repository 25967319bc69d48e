#include "partitioner/methods/stream_metis/stream_metis_method.h"

#include <gmock/gmock.h>

#include "tests/unit/partitioner_methods_stream_metis/stream_graph.h"

namespace halograph {
namespace {

using testing::HasSubstr;

MethodOptions Options(int parts, int64_t clusters = 0) {
  MethodOptions options;
  options.parts = parts;
  options.seed = 1;
  options.stream_metis.clusters = clusters;
  return options;
}

StatusOr<Assignment> Assign(const Dataset& dataset, const MethodOptions& options) {
  return StreamMetisMethod().Assign(dataset, options);
}

double MaxOverMean(const std::vector<int64_t>& loads) {
  int64_t sum = 0;
  for (const int64_t load : loads) sum += load;
  return static_cast<double>(*std::max_element(loads.begin(), loads.end())) *
         static_cast<double>(loads.size()) / static_cast<double>(sum);
}

TEST(StreamMetisMethodTest, FindsPlantedBlocksThroughClusters) {
  constexpr int64_t kBlock = 1000;
  const EdgePairs edges = PlantedEdges(4, kBlock, 40000, 3);
  OneType builder(4 * kBlock, edges);
  const auto assignment = Assign(builder.dataset(), Options(4, 400));
  ASSERT_TRUE(assignment.ok()) << assignment.status();
  EXPECT_LE(assignment->report["clusters"], 600);
  int64_t cut = 0;
  for (const auto& [u, v] : edges) {
    cut += assignment->owners[0][u] != assignment->owners[0][v] ? 1 : 0;
  }
  // 15 % of the edges lie between blocks.
  EXPECT_LE(cut * 100, static_cast<int64_t>(edges.size()) * 18);
}

TEST(StreamMetisMethodTest, KeepsEveryTypeEdgesAndSetsWithinTheirBounds) {
  std::vector<int64_t> train;
  for (int64_t v = 0; v < 3000; v += 7) train.push_back(v);
  DatasetBuilder builder;
  builder.Nodes("a", 2000)
      .Nodes("b", 3000)
      .Edges("a", "to", "b", RandomEdges(2000, 3000, 15000, 2))
      .Edges("b", "with", "b", PlantedEdges(6, 500, 20000, 3))
      .TaskSet("train", "b", false, train);
  for (const int parts : {2, 5}) {
    for (const int64_t clusters : {0, 700}) {
      const auto assignment = Assign(builder.dataset(), Options(parts, clusters));
      ASSERT_TRUE(assignment.ok()) << assignment.status();
      for (size_t type = 0; type < 2; ++type) {
        std::vector<int64_t> nodes(parts, 0);
        for (const uint16_t owner : assignment->owners[type]) ++nodes[owner];
        EXPECT_LE(MaxOverMean(nodes), 1.03) << parts << " parts, type " << type;
      }
      std::vector<int64_t> rows(parts, 0);
      for (const int64_t v : train) ++rows[assignment->owners[1][v]];
      EXPECT_LE(MaxOverMean(rows), 1.05);
      for (const Json& constraint : assignment->report["constraints"]) {
        const double bound = constraint["name"] == "edges" ? 1.10 : 1.05;
        EXPECT_LE(constraint["max_over_mean"].get<double>(), bound) << constraint.dump();
      }
    }
  }
}

TEST(StreamMetisMethodTest, NodesWithoutEdgesAreDealtEvenly) {
  // 3000 nodes with edges, then 1000 without, one of them with a loop.
  EdgePairs edges = PlantedEdges(3, 1000, 12000, 3);
  edges.emplace_back(3500, 3500);
  OneType builder(4000, edges);
  const auto assignment = Assign(builder.dataset(), Options(4));
  ASSERT_TRUE(assignment.ok()) << assignment.status();
  std::vector<int64_t> isolated(4, 0);
  for (int64_t v = 3000; v < 4000; ++v) ++isolated[assignment->owners[0][v]];
  EXPECT_LE(MaxOverMean(isolated), 1.03);
}

TEST(StreamMetisMethodTest, GiantHubAndTooFewClustersEndWithEvenNodes) {
  OneType builder(5000, Star(5000));
  for (const int64_t clusters : {0, 600}) {
    const auto assignment = Assign(builder.dataset(), Options(8, clusters));
    ASSERT_TRUE(assignment.ok()) << assignment.status();
    std::vector<int64_t> nodes(8, 0);
    for (const uint16_t owner : assignment->owners[0]) ++nodes[owner];
    EXPECT_LE(MaxOverMean(nodes), 1.03);
  }
}

TEST(StreamMetisMethodTest, SameOwnersEveryTime) {
  OneType builder(3000, RandomEdges(3000, 3000, 30000, 3));
  const auto one = Assign(builder.dataset(), Options(5, 500));
  const auto two = Assign(builder.dataset(), Options(5, 500));
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->owners, two->owners);
  EXPECT_EQ(one->report, two->report);
}

TEST(StreamMetisMethodTest, LittleMemoryOnlyCostsQuality) {
  OneType builder(20000, PlantedEdges(8, 2500, 200000, 3));
  MethodOptions options = Options(8);
  options.memory =
      kProgramBytes +
      StreamMetisMethod().PlanMemory(GraphCounts::Of(builder.dataset()), options).peak_bytes() / 2;
  const auto assignment = Assign(builder.dataset(), options);
  ASSERT_TRUE(assignment.ok()) << assignment.status();
  EXPECT_LT(assignment->report["clusters"], 20000);
}

TEST(StreamMetisMethodTest, OptionsOutOfRangeAreInvalid) {
  OneType builder(100, RandomEdges(100, 100, 300, 3));
  MethodOptions options = Options(2);
  options.stream_metis.refinement_rounds = 17;
  EXPECT_THAT(Message(Assign(builder.dataset(), options).status()),
              HasSubstr("17 refinement rounds"));
  EXPECT_THAT(Message(Assign(builder.dataset(), Options(2, -5)).status()),
              HasSubstr("-5 clusters"));
}

// A small graph is not clustered unless it stands for one that is.
TEST(StreamMetisMethodTest, TrialHasClustersInTheShareOfTheGraphItStandsFor) {
  const GraphCounts large = {
      .nodes = {100'000'000},
      .relations = {{.source_type = 0, .destination_type = 0, .edges = 1'600'000'000}}};
  const int64_t clusters =
      StreamMetisMethod().ForTrial(large, 30'000, Options(8)).stream_metis.clusters;
  EXPECT_GE(clusters, 30'000 / 40);
  EXPECT_LE(clusters, 30'000 / 18);
  const GraphCounts small = {.nodes = {1000}, .relations = {}};
  EXPECT_EQ(StreamMetisMethod().ForTrial(small, 1000, Options(8)).stream_metis.clusters, 0);
}

TEST(StreamMetisMethodTest, InputThatChangesBetweenPassesIsDataLoss) {
  const EdgePairs edges = RandomEdges(1000, 1000, 5000, 3);
  EdgePairs more = edges;
  more.emplace_back(1, 2);
  for (const int passes : {1, 2, 3, 4}) {
    OneType builder(1000, edges);
    Dataset dataset = builder.dataset();
    dataset.relations[0].edges = std::make_shared<ChangingEdges>(edges, more, passes);
    EXPECT_TRUE(absl::IsDataLoss(Assign(dataset, Options(2, 200)).status())) << passes;
  }
}

}  // namespace
}  // namespace halograph
