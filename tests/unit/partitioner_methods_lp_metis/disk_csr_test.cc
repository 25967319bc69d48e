#include "partitioner/methods/lp_metis/disk_csr.h"

#include <gmock/gmock.h>

#include "partitioner/methods/metis/folded_graph.h"
#include "tests/support/test_folder.h"
#include "tests/unit/partitioner_methods/memory_dataset.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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
      EXPECT_THAT(Message(graph.status()), HasSubstr("changed while being read"));
    }
  }
}

}  // namespace
}  // namespace halograph
