#include "partitioner/methods/lp_metis/lp_metis_method.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "tests/support/test_folder.h"
#include "tests/unit/partitioner_methods/memory_dataset.h"

namespace halograph {
namespace {

StatusOr<Assignment> Assign(const Dataset& dataset, const MethodOptions& options) {
  return LpMetisMethod().Assign(dataset, options);
}

double LargestShare(const std::vector<uint16_t>& owners, int parts) {
  std::vector<int64_t> nodes(static_cast<size_t>(parts));
  for (const uint16_t owner : owners) ++nodes.at(owner);
  return static_cast<double>(*std::max_element(nodes.begin(), nodes.end())) * parts /
         static_cast<double>(owners.size());
}

// Large enough for clusters of several nodes.
constexpr int64_t kRings = 16;
constexpr int64_t kRingNodes = 1250;

Dataset Rings() {
  DatasetBuilder builder;
  builder.Nodes("node", kRings * kRingNodes)
      .Edges("node", "edge", "node", RingsOfNodes(kRings, kRingNodes));
  return builder.dataset();
}

TEST(LpMetisMethodTest, CutsRingsInFewPlaces) {
  const TestFolder scratch;
  ASSERT_GT(MaxClusterNodes(kRings * kRingNodes, 8), 1);
  const auto assignment =
      Assign(Rings(), {.parts = 8, .seed = 1, .balance = {}, .scratch = scratch.path()});
  ASSERT_TRUE(assignment.ok()) << assignment.status();
  EXPECT_LT(assignment->report["clusters"].get<int64_t>(), kRings * kRingNodes / 2);
  // 120,000 directed edges; a ring that is cut costs 24 of them.
  EXPECT_LT(assignment->report["objective"].get<int64_t>(), 2000);
  EXPECT_LE(LargestShare(assignment->owners[0], 8), 1.031);
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

// A small graph's own clusters would be too small to tell what a large one takes.
TEST(LpMetisMethodTest, TrialHasClustersAsLargeAsTheGraphItStandsFor) {
  const GraphCounts large = {.nodes = {500'000}, .relations = {}};
  MethodOptions options{.parts = 8, .seed = 1, .balance = {}};
  const MethodOptions trial = LpMetisMethod().ForTrial(large, kRings * kRingNodes, options);
  EXPECT_EQ(trial.lp_metis.cluster_nodes, MaxClusterNodes(500'000, 8));
  const auto own = Assign(Rings(), options);
  const auto tried = Assign(Rings(), trial);
  ASSERT_TRUE(own.ok() && tried.ok()) << own.status() << tried.status();
  EXPECT_LT(2 * tried->report["clusters"].get<int64_t>(), own->report["clusters"].get<int64_t>());
  options.lp_metis.cluster_nodes = 7;
  EXPECT_EQ(LpMetisMethod().ForTrial(large, 1000, options).lp_metis.cluster_nodes, 7);
}

// As large as those of a billion nodes they would be fewer than METIS is called for.
TEST(LpMetisMethodTest, TrialForAHugeGraphStillCallsMetis) {
  const GraphCounts huge = {.nodes = {1'000'000'000}, .relations = {}};
  const MethodOptions options{.parts = 8, .seed = 1, .balance = {}};
  const auto tried = Assign(Rings(), LpMetisMethod().ForTrial(huge, kRings * kRingNodes, options));
  ASSERT_TRUE(tried.ok()) << tried.status();
  EXPECT_GE(tried->report["clusters"].get<int64_t>(), 10 * options.parts);
}

TEST(LpMetisMethodTest, SameSeedSameOwners) {
  const Dataset rings = Rings();
  const auto owners = Assign(rings, {.parts = 5, .seed = 3, .balance = {}})->owners;
  EXPECT_EQ(Assign(rings, {.parts = 5, .seed = 3, .balance = {}})->owners, owners);
  EXPECT_NE(Assign(rings, {.parts = 5, .seed = 4, .balance = {}})->owners, owners);
}

TEST(LpMetisMethodTest, HubOfAllNodesLeavesPartitionsEven) {
  EdgePairs edges;
  for (int64_t i = 1; i < 20000; ++i) edges.emplace_back(0, i);
  DatasetBuilder builder;
  builder.Nodes("node", 20000).Edges("node", "edge", "node", edges);
  const auto assignment = Assign(builder.dataset(), {.parts = 4, .seed = 1, .balance = {}});
  ASSERT_TRUE(assignment.ok()) << assignment.status();
  EXPECT_LE(LargestShare(assignment->owners[0], 4), 1.031);
}

TEST(LpMetisMethodTest, NodesWithoutEdgesAreEvenPerType) {
  DatasetBuilder builder;
  builder.Nodes("a", 9000).Nodes("b", 15000).Edges("a", "e", "a", RandomEdges(2000, 2000, 9000, 3));
  const auto assignment = Assign(builder.dataset(), {.parts = 3, .seed = 1, .balance = {}});
  ASSERT_TRUE(assignment.ok()) << assignment.status();
  EXPECT_LE(LargestShare(assignment->owners[0], 3), 1.031);
  EXPECT_LE(LargestShare(assignment->owners[1], 3), 1.031);
}

TEST(LpMetisMethodTest, MissingScratchFolderIsNotFound) {
  const TestFolder folder;
  const auto assignment =
      Assign(Rings(), {.parts = 8, .seed = 1, .balance = {}, .scratch = folder.path() / "no"});
  EXPECT_TRUE(absl::IsNotFound(assignment.status())) << assignment.status();
}

TEST(LpMetisMethodTest, PlanGrowsWithNodesAndEdges) {
  GraphCounts counts;
  counts.nodes = {1'000'000};
  counts.relations = {{0, 0, 16'000'000}};
  const int64_t small = LpMetisMethod().PlanMemory(counts, {}).peak_bytes();
  counts.nodes = {2'000'000};
  const int64_t more_nodes = LpMetisMethod().PlanMemory(counts, {}).peak_bytes();
  counts.relations = {{0, 0, 32'000'000}};
  const int64_t more_edges = LpMetisMethod().PlanMemory(counts, {}).peak_bytes();
  EXPECT_LT(small, more_nodes);
  EXPECT_LT(more_nodes, more_edges);
}

}  // namespace
}  // namespace halograph
