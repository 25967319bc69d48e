#include "partitioner/methods/lp_metis/refinement.h"

#include "tests/unit/partitioner_methods_lp_metis/graph_of.h"

namespace halograph {
namespace {

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

}  // namespace
}  // namespace halograph
