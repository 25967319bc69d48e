#include "partitioner/methods/metis/folded_graph.h"

#include <map>

#include <gmock/gmock.h>

#include "tests/unit/partitioner_methods/memory_dataset.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Arcs = std::map<std::pair<int64_t, int64_t>, int64_t>;  // weight of (node, neighbour)

Arcs ArcsOf(const FoldedGraph& graph) {
  Arcs arcs;
  for (int64_t v = 0; v < graph.num_nodes(); ++v) {
    int64_t last = -1;
    for (int32_t i = graph.xadj[v]; i < graph.xadj[v + 1]; ++i) {
      const int64_t neighbour = graph.neighbours.data()[i];
      EXPECT_LT(last, neighbour) << "node " << v;
      last = neighbour;
      arcs[{v, neighbour}] = graph.weights.empty() ? 1 : graph.weights[i];
    }
  }
  return arcs;
}

TEST(FoldedGraphTest, DirectionsAndParallelEdgesBecomeOneWeight) {
  // 0 -> 1 twice, 1 -> 0 once, 1 -> 2 once, 2 -> 2 a self-loop; 3 is isolated
  DatasetBuilder builder;
  builder.Nodes("node", 4).Edges("node", "edge", "node", {{0, 1}, {0, 1}, {1, 0}, {1, 2}, {2, 2}});
  const auto graph = BuildFoldedGraph(builder.dataset(), false);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(ArcsOf(*graph), (Arcs{{{0, 1}, 3}, {{1, 0}, 3}, {{1, 2}, 1}, {{2, 1}, 1}}));
  EXPECT_THAT(graph->in_degrees, ElementsAre(1, 2, 2, 0));
  EXPECT_EQ(graph->directed_edges, 5);
}

TEST(FoldedGraphTest, DroppedDuplicatesWeighAsOneEdgeADirection) {
  DatasetBuilder builder;
  builder.Nodes("node", 3).Edges("node", "edge", "node",
                                 {{0, 1}, {0, 1}, {1, 0}, {1, 2}, {1, 2}, {1, 2}});
  const auto graph = BuildFoldedGraph(builder.dataset(), true);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(ArcsOf(*graph), (Arcs{{{0, 1}, 2}, {{1, 0}, 2}, {{1, 2}, 1}, {{2, 1}, 1}}));
  EXPECT_THAT(graph->in_degrees, ElementsAre(1, 1, 1));
}

TEST(FoldedGraphTest, EqualWeightsAreLeftOut) {
  DatasetBuilder builder;  // every edge in both directions: all weights would be 2
  builder.Nodes("node", 12).Edges("node", "edge", "node", RingsOfNodes(1, 12));
  const auto graph = BuildFoldedGraph(builder.dataset(), false);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(graph->weights.empty());
  EXPECT_EQ(graph->num_arcs(), 72);
}

TEST(FoldedGraphTest, RandomTypedGraphMatchesOracle) {
  for (uint64_t key = 0; key < 5; ++key) {
    const EdgePairs ab = RandomEdges(20, 30, 200, key);
    const EdgePairs bb = RandomEdges(30, 30, 150, key + 100);
    DatasetBuilder builder;
    builder.Nodes("a", 20).Nodes("b", 30).Edges("a", "to", "b", ab).Edges("b", "in", "b", bb);
    Arcs wanted;
    auto add = [&](int64_t u, int64_t v) {
      if (u == v) return;
      ++wanted[{u, v}];
      ++wanted[{v, u}];
    };
    for (const auto& [u, v] : ab) add(u, v + 20);
    for (const auto& [u, v] : bb) add(u + 20, v + 20);
    const auto graph = BuildFoldedGraph(builder.dataset(), false);
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(ArcsOf(*graph), wanted) << "key " << key;
  }
}

TEST(FoldedGraphTest, MoreThanTheIndexHoldsIsRefusedWithNumbersAndAdvice) {
  DatasetBuilder builder;
  builder.Nodes("node", 12).Edges("node", "edge", "node", RingsOfNodes(1, 12));
  struct Case {
    int64_t limit;
    const char* what;
  };
  for (const auto& [limit, what] : {Case{12, "12 nodes"}, Case{71, "72 edges"}}) {
    const auto graph = BuildFoldedGraph(builder.dataset(), false, limit);
    EXPECT_TRUE(absl::IsResourceExhausted(graph.status())) << graph.status();
    EXPECT_THAT(Message(graph.status()), HasSubstr(what));
    EXPECT_THAT(Message(graph.status()), HasSubstr("--method random"));
  }
  EXPECT_TRUE(BuildFoldedGraph(builder.dataset(), false, 72).ok());
  DatasetBuilder one_way;  // 6 edges, 12 neighbours
  one_way.Nodes("node", 7).Edges("node", "edge", "node",
                                 {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}});
  const auto graph = BuildFoldedGraph(one_way.dataset(), false, 11);
  EXPECT_THAT(Message(graph.status()), HasSubstr("12 neighbours"));
}

TEST(FoldedGraphTest, SumOfWeightsBeyondTheIndexIsRefused) {
  DatasetBuilder builder;  // weights 3 and 1 in both directions: 8 in sum, 4 arcs
  builder.Nodes("node", 3).Edges("node", "edge", "node", {{0, 1}, {0, 1}, {1, 0}, {1, 2}});
  EXPECT_TRUE(BuildFoldedGraph(builder.dataset(), false, 8).ok());
  const auto graph = BuildFoldedGraph(builder.dataset(), false, 7);
  EXPECT_TRUE(absl::IsResourceExhausted(graph.status()));
  EXPECT_THAT(Message(graph.status()), HasSubstr("weights"));
}

TEST(FoldedGraphTest, OtherEdgesInTheSecondPassAreDataLoss) {
  const EdgePairs first = {{0, 1}, {1, 2}, {2, 2}, {3, 4}};
  const std::vector<EdgePairs> others = {
      {{0, 1}, {1, 2}},                          // fewer
      {{0, 1}, {1, 2}, {2, 2}, {3, 4}, {0, 4}},  // more
      {{4, 1}, {4, 2}, {4, 3}, {4, 0}},          // as many, more of them than there is room for
      {{0, 1}, {0, 1}, {0, 1}, {3, 3}},          // as many ends, a list longer than its place
      {{0, 1}, {1, 2}, {2, 2}, {4, 4}},          // fewer ends
  };
  for (const EdgePairs& other : others) {
    DatasetBuilder builder;
    builder.Nodes("node", 5).Edges("node", "edge", "node", {});
    Dataset dataset = builder.dataset();
    dataset.relations[0].edges = std::make_shared<ChangingEdges>(first, other);
    const auto graph = BuildFoldedGraph(dataset, false);
    EXPECT_TRUE(absl::IsDataLoss(graph.status())) << graph.status();
    EXPECT_THAT(Message(graph.status()), HasSubstr("changed while being read"));
  }
}

}  // namespace
}  // namespace halograph
