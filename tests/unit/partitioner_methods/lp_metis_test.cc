#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include "partitioner/methods/lp_metis/contraction.h"
#include "partitioner/methods/lp_metis/disk_csr.h"
#include "partitioner/methods/lp_metis/label_propagation.h"
#include "partitioner/methods/lp_metis/lp_metis_method.h"
#include "partitioner/methods/lp_metis/mapped_array.h"
#include "partitioner/methods/lp_metis/refinement.h"
#include "partitioner/methods/metis/folded_graph.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/test_folder.h"
#include "tests/unit/partitioner_methods/graph_of.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// ---- scratch array ------------------------------------------------------------------------

TEST(MappedArrayTest, HoldsWhatIsWrittenAlsoWhenReleased) {
  const TestFolder folder;
  const auto array = MappedArray<uint32_t>::Create(folder.path(), 100'000, "numbers");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->size(), 100'000);
  EXPECT_EQ(array->data()[99'999], 0U);
  for (uint32_t i = 0; i < 100'000; ++i) array->data()[i] = i * 7;
  array->Release(0, 100'000);
  for (uint32_t i = 0; i < 100'000; ++i) ASSERT_EQ(array->data()[i], i * 7);
}

TEST(MappedArrayTest, HasNoName) {
  const TestFolder folder;
  const auto array = MappedArray<uint64_t>::Create(folder.path(), 1000, "numbers");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(MappedArrayTest, MovesWithItsContents) {
  const TestFolder folder;
  auto array = MappedArray<uint8_t>::Create(folder.path(), 10, "numbers");
  ASSERT_TRUE(array.ok()) << array.status();
  array->data()[3] = 42;
  MappedArray<uint8_t> moved = std::move(array).value();
  EXPECT_EQ(moved.data()[3], 42);
  moved = MappedArray<uint8_t>();
  EXPECT_TRUE(moved.empty());
}

TEST(MappedArrayTest, NoElementsTakeNoFile) {
  const auto array = MappedArray<uint32_t>::Create("/nowhere/at/all", 0, "numbers");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_TRUE(array->empty());
}

TEST(MappedArrayTest, MoreThanTheDiskHoldsIsResourceExhaustedAndNamesWhatFor) {
  const TestFolder folder;
  const auto array = MappedArray<uint64_t>::Create(folder.path(), int64_t{1} << 57, "numbers");
  EXPECT_TRUE(absl::IsResourceExhausted(array.status())) << array.status();
  EXPECT_THAT(Message(array.status()), HasSubstr(folder.path().string()));
  EXPECT_THAT(Message(array.status()), HasSubstr("no room for numbers"));
}

TEST(MappedArrayTest, MissingFolderIsNotFound) {
  const TestFolder folder;
  const auto array = MappedArray<uint32_t>::Create(folder.path() / "no", 10, "numbers");
  EXPECT_TRUE(absl::IsNotFound(array.status())) << array.status();
}

// ---- disk csr -----------------------------------------------------------------------------

std::vector<uint32_t> ListOf(const DiskCsr& graph, size_t node) {
  return {graph.neighbours() + graph.offsets()[node],
          graph.neighbours() + graph.offsets()[node + 1]};
}

Dataset OneRelation(int64_t nodes, EdgePairs edges) {
  DatasetBuilder builder;
  builder.Nodes("node", nodes).Edges("node", "edge", "node", std::move(edges));
  return builder.dataset();
}

class DiskCsrTest : public testing::Test {
 protected:
  StatusOr<DiskCsr> Build(const Dataset& dataset, int64_t window_arcs = kWindowArcs,
                          bool drop_duplicates = false) {
    return DiskCsr::Build(dataset, {.scratch = folder_.path(),
                                    .drop_duplicates = drop_duplicates,
                                    .window_arcs = window_arcs});
  }

  // The graph that METIS is given is built by other code from the same edges.
  void ExpectSameAsFolded(const Dataset& dataset, int64_t window_arcs, bool drop_duplicates) {
    auto graph = Build(dataset, window_arcs, drop_duplicates);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const auto folded = BuildFoldedGraph(dataset, drop_duplicates);
    ASSERT_TRUE(folded.ok()) << folded.status();
    ASSERT_EQ(graph->num_nodes(), folded->num_nodes());
    ASSERT_EQ(graph->num_arcs(), folded->num_arcs());
    for (size_t v = 0; v < folded->xadj.size(); ++v) {
      ASSERT_EQ(graph->offsets()[v], folded->xadj[v]) << v;
    }
    for (int64_t i = 0; i < graph->num_arcs(); ++i) {
      ASSERT_EQ(graph->neighbours()[i], folded->neighbours.data()[i]) << i;
      const int32_t weight = folded->weights.empty() ? 1 : folded->weights[static_cast<size_t>(i)];
      ASSERT_EQ(graph->Weight(i), weight) << i;
    }
    EXPECT_EQ(graph->TakeInDegrees(), folded->in_degrees);
  }

  TestFolder folder_;
};

TEST_F(DiskCsrTest, ListsBothEndsOnceWithoutSelfLoops) {
  //  0 -> 1, 1 -> 0, 2 -> 1 twice, 3 -> 3
  auto graph = Build(OneRelation(5, {{0, 1}, {1, 0}, {2, 1}, {3, 3}, {2, 1}, {2, 0}}));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(graph->offsets(), ElementsAre(0, 2, 4, 6, 6, 6));
  EXPECT_THAT(ListOf(*graph, 0), ElementsAre(1, 2));
  EXPECT_THAT(ListOf(*graph, 1), ElementsAre(0, 2));
  EXPECT_THAT(ListOf(*graph, 2), ElementsAre(0, 1));
  EXPECT_EQ(graph->Weight(0), 2);  // 0 - 1
  EXPECT_EQ(graph->Weight(1), 1);  // 0 - 2
  EXPECT_EQ(graph->degree(3), 0);
  EXPECT_EQ(graph->directed_edges(), 6);
  EXPECT_THAT(graph->TakeInDegrees(), ElementsAre(2, 3, 0, 1, 0));
}

TEST_F(DiskCsrTest, SameAsWhatMetisIsGivenAtAnyWindow) {
  EdgePairs edges = RandomEdges(200, 200, 4000, 3);
  for (int64_t i = 0; i < 40; ++i) edges.emplace_back(i, i / 2);
  const Dataset dataset = OneRelation(220, edges);
  for (const int64_t window : {int64_t{1}, int64_t{100}, int64_t{3000}, kWindowArcs}) {
    for (const bool drop : {false, true}) {
      SCOPED_TRACE(fmt::format("window {} drop {}", window, drop));
      ExpectSameAsFolded(dataset, window, drop);
    }
  }
}

TEST_F(DiskCsrTest, NodesOfAllTypesOneBehindTheOther) {
  DatasetBuilder builder;
  builder.Nodes("actor", 40)
      .Nodes("empty", 0)
      .Nodes("movie", 70)
      .Edges("actor", "in", "movie", RandomEdges(40, 50, 300, 4))
      .Edges("actor", "knows", "actor", RandomEdges(40, 40, 300, 5));
  ExpectSameAsFolded(builder.dataset(), 64, false);
  ExpectSameAsFolded(builder.dataset(), kWindowArcs, true);
}

TEST_F(DiskCsrTest, HubLargerThanAWindow) {
  EdgePairs edges;
  for (int64_t i = 1; i < 3000; ++i) edges.emplace_back(i, 0);
  ExpectSameAsFolded(OneRelation(3000, edges), 16, false);
}

TEST_F(DiskCsrTest, GraphWithoutEdges) {
  auto graph = Build(OneRelation(7, {}));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->num_nodes(), 7);
  EXPECT_EQ(graph->num_arcs(), 0);
}

TEST_F(DiskCsrTest, WeightsEndAt255) {
  EdgePairs edges(1000, {0, 1});
  edges.emplace_back(1, 2);
  auto graph = Build(OneRelation(3, edges));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->Weight(0), 255);
  EXPECT_EQ(graph->Weight(2), 1);
}

TEST_F(DiskCsrTest, LeavesNoFile) {
  auto graph = Build(OneRelation(50, RandomEdges(50, 50, 400, 3)), 64);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(DiskCsrTest, MissingScratchFolderIsNotFound) {
  const auto graph = DiskCsr::Build(OneRelation(3, {{0, 1}}), {.scratch = folder_.path() / "no"});
  EXPECT_TRUE(absl::IsNotFound(graph.status())) << graph.status();
}

TEST_F(DiskCsrTest, OtherEdgesInTheSecondPassAreDataLoss) {
  const EdgePairs first = {{0, 1}, {1, 2}, {2, 2}, {3, 4}};
  const std::vector<EdgePairs> others = {
      {{0, 1}, {1, 2}},                          // fewer
      {{0, 1}, {1, 2}, {2, 2}, {3, 4}, {0, 4}},  // more
      {{4, 1}, {4, 2}, {4, 3}, {4, 0}},          // as many, elsewhere
      {{0, 1}, {0, 1}, {0, 1}, {3, 3}},          // as many ends, a list longer than its place
      {{0, 1}, {1, 2}, {2, 2}, {4, 4}},          // fewer ends
  };
  for (const EdgePairs& other : others) {
    for (const int64_t window : {int64_t{2}, kWindowArcs}) {
      Dataset dataset = OneRelation(5, {});
      dataset.relations[0].edges = std::make_shared<ChangingEdges>(first, other);
      const auto graph = Build(dataset, window);
      EXPECT_TRUE(absl::IsDataLoss(graph.status())) << graph.status();
      EXPECT_THAT(Message(graph.status()), HasSubstr("changed while it was read"));
    }
  }
}

// ---- label propagation --------------------------------------------------------------------

std::vector<int64_t> Sizes(const Clustering& clustering) {
  std::vector<int64_t> sizes(static_cast<size_t>(clustering.clusters));
  for (const uint32_t cluster : clustering.cluster_of) ++sizes.at(cluster);
  return sizes;
}

// Groups of `size` nodes in which all are joined to all; each shares one edge with the next.
EdgePairs Cliques(int64_t cliques, int64_t size) {
  EdgePairs edges;
  for (int64_t clique = 0; clique < cliques; ++clique) {
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = 0; j < i; ++j) edges.emplace_back(clique * size + i, clique * size + j);
    }
    if (clique > 0) edges.emplace_back(clique * size, clique * size - 1);
  }
  return edges;
}

TEST(PropagateLabelsTest, CliquesStayTogether) {
  const EdgePairs edges = Cliques(20, 10);
  const TestGraph graph = GraphOf(200, edges);
  const Clustering clustering = PropagateLabels(graph.csr, {.max_nodes = 15, .rounds = 10});
  EXPECT_LE(clustering.clusters, 26);
  int64_t within = 0;
  for (const auto& [u, v] : edges) {
    const auto& cluster_of = clustering.cluster_of;
    within += cluster_of[static_cast<size_t>(u)] == cluster_of[static_cast<size_t>(v)] ? 1 : 0;
  }
  EXPECT_GT(static_cast<double>(within), 0.9 * static_cast<double>(edges.size()));
}

TEST(PropagateLabelsTest, NoClusterExceedsItsSize) {
  const TestGraph graph = GraphOf(500, RandomEdges(500, 500, 5000, 3));
  for (const int64_t most : {2, 7, 100}) {
    const Clustering clustering = PropagateLabels(graph.csr, {.max_nodes = most, .rounds = 5});
    const std::vector<int64_t> sizes = Sizes(clustering);
    EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()), most);
    EXPECT_GT(*std::min_element(sizes.begin(), sizes.end()), 0);
    EXPECT_LT(clustering.clusters, 500);
  }
}

TEST(PropagateLabelsTest, SizeOneLeavesEveryNodeAlone) {
  const TestGraph graph = GraphOf(50, RandomEdges(50, 50, 300, 3));
  const Clustering clustering = PropagateLabels(graph.csr, {});
  EXPECT_EQ(clustering.clusters, 50);
  for (uint32_t v = 0; v < 50; ++v) EXPECT_EQ(clustering.cluster_of[v], v);
}

TEST(PropagateLabelsTest, LeavesOfAFullHubAreJoined) {
  EdgePairs edges;
  for (int64_t i = 1; i <= 1000; ++i) edges.emplace_back(i, 0);
  const TestGraph graph = GraphOf(1001, edges);
  const Clustering clustering = PropagateLabels(graph.csr, {.max_nodes = 50, .rounds = 5});
  EXPECT_LE(clustering.clusters, 25);
}

TEST(PropagateLabelsTest, NodesWithoutNeighboursAreJoined) {
  const TestGraph graph = GraphOf(100, {{0, 1}});
  const Clustering clustering = PropagateLabels(graph.csr, {.max_nodes = 10, .rounds = 5});
  EXPECT_LE(clustering.clusters, 11);
}

TEST(PropagateLabelsTest, SameSeedSameClusters) {
  const TestGraph graph = GraphOf(9000, RandomEdges(9000, 9000, 40000, 3));
  const PropagationOptions options{.max_nodes = 20, .rounds = 3, .seed = 5};
  const Clustering clustering = PropagateLabels(graph.csr, options);
  EXPECT_EQ(PropagateLabels(graph.csr, options).cluster_of, clustering.cluster_of);
  EXPECT_NE(PropagateLabels(graph.csr, {.max_nodes = 20, .rounds = 3, .seed = 6}).cluster_of,
            clustering.cluster_of);
}

// ---- contraction --------------------------------------------------------------------------

TEST(ContractTest, SumsEdgesAndNodesOfClusters) {
  const TestGraph graph = GraphOf(300, RandomEdges(300, 300, 3000, 3));
  Clustering clustering;
  clustering.clusters = 20;
  for (uint32_t v = 0; v < 300; ++v) clustering.cluster_of.push_back(v % 20);
  const auto coarse = Contract(graph.csr, clustering, graph.weights);
  ASSERT_TRUE(coarse.ok()) << coarse.status();
  std::map<std::pair<uint32_t, uint32_t>, int64_t> expected;
  for (uint32_t v = 0; v < 300; ++v) {
    for (int64_t i = graph.csr.offsets()[v]; i < graph.csr.offsets()[v + 1]; ++i) {
      const uint32_t u = graph.csr.neighbours()[i];
      if (u % 20 != v % 20) expected[{v % 20, u % 20}] += graph.csr.Weight(i);
    }
  }
  std::map<std::pair<uint32_t, uint32_t>, int64_t> found;
  for (uint32_t c = 0; c < 20; ++c) {
    for (auto i = static_cast<size_t>(coarse->graph.xadj[c]);
         i < static_cast<size_t>(coarse->graph.xadj[c + 1]); ++i) {
      const bool first =
          found.emplace(std::pair(c, coarse->graph.neighbours.data()[i]), coarse->graph.weights[i])
              .second;
      EXPECT_TRUE(first);
    }
  }
  EXPECT_EQ(found, expected);
  ASSERT_EQ(coarse->weights.count(), 2U);  // nodes and edges
  int64_t in_edges = 0;
  for (int64_t c = 0; c < 20; ++c) {
    EXPECT_EQ(coarse->weights.Row(c)[0], 15);
    in_edges += coarse->weights.Row(c)[1];
  }
  EXPECT_EQ(in_edges, 3000);
}

TEST(ContractTest, OneClusterHasNoPairs) {
  const TestGraph graph = GraphOf(4, {{0, 1}, {1, 2}, {2, 3}});
  const auto coarse = Contract(graph.csr, {{0, 0, 0, 0}, 1}, graph.weights);
  ASSERT_TRUE(coarse.ok()) << coarse.status();
  EXPECT_THAT(coarse->graph.xadj, ElementsAre(0, 0));
}

TEST(ContractTest, WeightsAreHalvedUntilTheirSumFits) {
  EdgePairs edges(100, {0, 1});
  edges.insert(edges.end(), 3, {1, 2});
  const TestGraph graph = GraphOf(3, edges);
  const auto coarse = Contract(graph.csr, {{0, 1, 2}, 3}, graph.weights, {.max_weight = 60});
  ASSERT_TRUE(coarse.ok()) << coarse.status();
  EXPECT_THAT(coarse->graph.weights, ElementsAre(25, 25, 1, 1));  // 206 / 4
}

TEST(ContractTest, ConstraintsThatSumToTooMuchAreDivided) {
  EdgePairs edges(100, {0, 1});
  edges.insert(edges.end(), 5, {1, 2});
  const TestGraph graph = GraphOf(3, edges);
  const auto coarse = Contract(graph.csr, {{0, 1, 2}, 3}, graph.weights, {.max_weight = 60});
  ASSERT_TRUE(coarse.ok()) << coarse.status();
  for (int64_t c = 0; c < 3; ++c) EXPECT_EQ(coarse->weights.Row(c)[0], 1);  // nodes: as they are
  EXPECT_EQ(coarse->weights.Row(1)[1], 50);                                 // of 105 in-edges half
  EXPECT_EQ(coarse->weights.Row(2)[1], 2);
  EXPECT_EQ(coarse->weights.constraints[1].total, 52);
}

TEST(ContractTest, MorePairsThanAskedForAreSampledInBothDirections) {
  const TestGraph graph = GraphOf(400, RandomEdges(400, 400, 20000, 3));
  Clustering clustering;
  clustering.clusters = 400;
  for (uint32_t v = 0; v < 400; ++v) clustering.cluster_of.push_back(v);
  const auto coarse = Contract(graph.csr, clustering, graph.weights, {.max_arcs = 9000});
  ASSERT_TRUE(coarse.ok()) << coarse.status();
  EXPECT_LE(coarse->graph.num_arcs(), 9000);
  EXPECT_GT(coarse->graph.num_arcs(), 7500);
  EXPECT_NEAR(coarse->share, 9000.0 / static_cast<double>(graph.csr.num_arcs()), 0.05);
  std::set<std::pair<uint32_t, uint32_t>> pairs;
  for (uint32_t c = 0; c < 400; ++c) {
    for (auto i = static_cast<size_t>(coarse->graph.xadj[c]);
         i < static_cast<size_t>(coarse->graph.xadj[c + 1]); ++i) {
      pairs.emplace(c, coarse->graph.neighbours.data()[i]);
    }
  }
  EXPECT_EQ(static_cast<int64_t>(pairs.size()), coarse->graph.num_arcs());
  for (const auto& [a, b] : pairs) EXPECT_TRUE(pairs.contains({b, a}));
}

// ---- refinement ---------------------------------------------------------------------------

TEST(RefineTest, NodesGoBackToTheirRing) {
  const TestGraph graph = GraphOf(400, RingsOfNodes(4, 100));
  std::vector<int32_t> owners;
  for (int32_t v = 0; v < 400; ++v) owners.push_back(v / 100);
  for (size_t v = 10; v < 400; v += 100) owners[v] = (owners[v] + 1) % 4;
  PartLoads loads(graph.weights, owners, 4);
  EXPECT_EQ(Refine(graph.csr, graph.weights, {.parts = 4}, &owners, &loads), 4);
  for (int32_t v = 0; v < 400; ++v) EXPECT_EQ(owners[static_cast<size_t>(v)], v / 100) << v;
  EXPECT_EQ(CutWeight(graph.csr, owners), 3);  // pairs, which all weigh the same
}

TEST(RefineTest, NeverCutsMoreAndKeepsTheBounds) {
  const TestGraph graph = GraphOf(2000, RandomEdges(2000, 2000, 12000, 3));
  std::vector<int32_t> owners;
  for (int32_t v = 0; v < 2000; ++v) owners.push_back(v % 5);
  PartLoads loads(graph.weights, owners, 5);
  ASSERT_EQ(loads.Excess(), 0);
  const int64_t before = CutWeight(graph.csr, owners);
  EXPECT_GT(Refine(graph.csr, graph.weights, {.parts = 5, .seed = 2}, &owners, &loads), 100);
  EXPECT_LT(CutWeight(graph.csr, owners), before * 9 / 10);
  EXPECT_EQ(loads.Excess(), 0);
  EXPECT_EQ(PartLoads(graph.weights, owners, 5).Balance(), loads.Balance());
}

TEST(RepairTest, BringsEveryPartitionIntoItsBounds) {
  const TestGraph graph = GraphOf(2000, RandomEdges(2000, 2000, 12000, 3));
  std::vector<int32_t> owners(2000, 1);
  PartLoads loads(graph.weights, owners, 4);
  EXPECT_GT(loads.Excess(), 1);
  EXPECT_GT(Repair(graph.csr, graph.weights, {.parts = 4, .seed = 2}, &owners, &loads), 1000);
  EXPECT_EQ(loads.Excess(), 0);
  EXPECT_EQ(PartLoads(graph.weights, owners, 4).Balance(), loads.Balance());
}

TEST(RepairTest, MovesNothingWhereBoundsHold) {
  const TestGraph graph = GraphOf(40, RingsOfNodes(4, 10));
  std::vector<int32_t> owners;
  for (int32_t v = 0; v < 40; ++v) owners.push_back(v % 4);
  PartLoads loads(graph.weights, owners, 4);
  EXPECT_EQ(Repair(graph.csr, graph.weights, {.parts = 4}, &owners, &loads), 0);
}

// ---- lp metis method ----------------------------------------------------------------------

StatusOr<Assignment> AssignLp(const Dataset& dataset, const MethodOptions& options) {
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
      AssignLp(Rings(), {.parts = 8, .seed = 1, .balance = {}, .scratch = scratch.path()});
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
  const auto own = AssignLp(Rings(), options);
  const auto tried = AssignLp(Rings(), trial);
  ASSERT_TRUE(own.ok() && tried.ok()) << own.status() << tried.status();
  EXPECT_LT(2 * tried->report["clusters"].get<int64_t>(), own->report["clusters"].get<int64_t>());
  options.lp_metis.cluster_nodes = 7;
  EXPECT_EQ(LpMetisMethod().ForTrial(large, 1000, options).lp_metis.cluster_nodes, 7);
}

// As large as those of a billion nodes they would be fewer than METIS is called for.
TEST(LpMetisMethodTest, TrialForAHugeGraphStillCallsMetis) {
  const GraphCounts huge = {.nodes = {1'000'000'000}, .relations = {}};
  const MethodOptions options{.parts = 8, .seed = 1, .balance = {}};
  const auto tried =
      AssignLp(Rings(), LpMetisMethod().ForTrial(huge, kRings * kRingNodes, options));
  ASSERT_TRUE(tried.ok()) << tried.status();
  EXPECT_GE(tried->report["clusters"].get<int64_t>(), 10 * options.parts);
}

TEST(LpMetisMethodTest, SameSeedSameOwners) {
  const Dataset rings = Rings();
  const auto owners = AssignLp(rings, {.parts = 5, .seed = 3, .balance = {}})->owners;
  EXPECT_EQ(AssignLp(rings, {.parts = 5, .seed = 3, .balance = {}})->owners, owners);
  EXPECT_NE(AssignLp(rings, {.parts = 5, .seed = 4, .balance = {}})->owners, owners);
}

TEST(LpMetisMethodTest, HubOfAllNodesLeavesPartitionsEven) {
  EdgePairs edges;
  for (int64_t i = 1; i < 20000; ++i) edges.emplace_back(0, i);
  DatasetBuilder builder;
  builder.Nodes("node", 20000).Edges("node", "edge", "node", edges);
  const auto assignment = AssignLp(builder.dataset(), {.parts = 4, .seed = 1, .balance = {}});
  ASSERT_TRUE(assignment.ok()) << assignment.status();
  EXPECT_LE(LargestShare(assignment->owners[0], 4), 1.031);
}

TEST(LpMetisMethodTest, NodesWithoutEdgesAreEvenPerType) {
  DatasetBuilder builder;
  builder.Nodes("a", 9000).Nodes("b", 15000).Edges("a", "e", "a", RandomEdges(2000, 2000, 9000, 3));
  const auto assignment = AssignLp(builder.dataset(), {.parts = 3, .seed = 1, .balance = {}});
  ASSERT_TRUE(assignment.ok()) << assignment.status();
  EXPECT_LE(LargestShare(assignment->owners[0], 3), 1.031);
  EXPECT_LE(LargestShare(assignment->owners[1], 3), 1.031);
}

TEST(LpMetisMethodTest, MissingScratchFolderIsNotFound) {
  const TestFolder folder;
  const auto assignment =
      AssignLp(Rings(), {.parts = 8, .seed = 1, .balance = {}, .scratch = folder.path() / "no"});
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
