#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/rng.h"
#include "partitioner/methods/degrees.h"
#include "partitioner/methods/metis/coarse_partition.h"
#include "partitioner/methods/metis/folded_graph.h"
#include "partitioner/methods/metis/metis_call.h"
#include "partitioner/methods/metis/metis_method.h"
#include "partitioner/methods/metis/rebalance.h"
#include "partitioner/methods/metis/vertex_weights.h"
#include "partitioner/methods/random_method.h"
#include "partitioner/methods/registry/registry.h"
#include "partitioner/methods/task_columns.h"
#include "tests/support/captured_log.h"
#include "tests/support/memory_dataset.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Le;
using testing::Not;

// ---- folded graph -------------------------------------------------------------------------

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
    EXPECT_THAT(Message(graph.status()), HasSubstr("changed while it was read"));
  }
}

// ---- rebalance ----------------------------------------------------------------------------

struct Case {
  FoldedGraph graph;
  VertexWeights weights;
};

Case BuildCase(const Dataset& dataset) {
  auto graph = BuildFoldedGraph(dataset, false);
  EXPECT_TRUE(graph.ok()) << graph.status();
  auto weights = BuildVertexWeights(dataset, *graph, {});
  EXPECT_TRUE(weights.ok()) << weights.status();
  return {std::move(graph).value(), std::move(weights).value()};
}

TEST(PartLoadsTest, ExcessIsWhatIsAboveTheBoundInEvenShares) {
  DatasetBuilder builder;
  builder.Nodes("node", 40);
  const Case c = BuildCase(builder.dataset());
  std::vector<int32_t> owners(40, 0);
  for (size_t i = 30; i < 40; ++i) owners[i] = 1;  // 30 and 10; a share is 20, the bound 21
  PartLoads loads(c.weights, owners, 2);
  EXPECT_DOUBLE_EQ(loads.Excess(), 9.0 / 20);
  EXPECT_THAT(loads.Balance(), ElementsAre(1.5));
  EXPECT_EQ(loads.Emptiest(0), 1);
  const double change = loads.ExcessChange(c.weights.Row(0), 0, 1);
  EXPECT_DOUBLE_EQ(change, -1.0 / 20);
  loads.Move(c.weights.Row(0), 0, 1);
  EXPECT_DOUBLE_EQ(loads.Excess(), 8.0 / 20);
}

TEST(RebalanceTest, EverythingInOnePartIsSpreadUntilTheBoundsHold) {
  DatasetBuilder builder;
  builder.Nodes("node", 400)
      .Edges("node", "edge", "node", RandomEdges(400, 400, 4000, 9))
      .TaskSet("train", "node", false,
               {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31});
  const Case c = BuildCase(builder.dataset());
  std::vector<int32_t> owners(400, 2);
  PartLoads loads(c.weights, owners, 4);
  EXPECT_GT(loads.Excess(), 1);
  const int64_t moves = Rebalance(c.graph, c.weights, 4, 100, &owners, &loads);
  EXPECT_GE(moves, 280);
  EXPECT_EQ(loads.Excess(), 0);
  EXPECT_EQ(PartLoads(c.weights, owners, 4).Excess(), 0);
  EXPECT_THAT(loads.Balance(), Each(Le(1.12)));
}

TEST(RebalanceTest, MovesTheNodesThatCostLeast) {
  // Rings 0, 1 and a tail of ring 2 are in part 0, the rest of ring 2 in part 1: the tail moves.
  DatasetBuilder builder;
  builder.Nodes("node", 90).Edges("node", "edge", "node", RingsOfNodes(3, 30));
  const Case c = BuildCase(builder.dataset());
  std::vector<int32_t> owners(90, 0);
  for (size_t i = 45; i < 90; ++i) owners[i] = 1;
  std::vector<int32_t> tilted = owners;
  for (size_t i = 45; i < 52; ++i) tilted[i] = 0;
  PartLoads loads(c.weights, tilted, 2);
  Rebalance(c.graph, c.weights, 2, 100, &tilted, &loads);
  EXPECT_EQ(loads.Excess(), 0);
  for (size_t i = 0; i < 15; ++i) EXPECT_EQ(tilted[i], 0) << "node " << i << " is far from the cut";
}

TEST(RebalanceTest, WhatCannotBeBalancedEndsWithoutMoves) {
  EdgePairs star;
  for (int64_t i = 1; i < 100; ++i) star.emplace_back(i, 0);
  DatasetBuilder builder;  // all in-edges at one node: no share of them can be even
  builder.Nodes("node", 100).Edges("node", "edge", "node", star);
  const Case c = BuildCase(builder.dataset());
  const std::vector<uint16_t> dealt = DealOwners(100, 4, 1);
  std::vector<int32_t> owners(dealt.begin(), dealt.end());
  PartLoads loads(c.weights, owners, 4);
  EXPECT_EQ(Rebalance(c.graph, c.weights, 4, 1000, &owners, &loads), 0);
  EXPECT_GT(loads.Excess(), 0);
}

// ---- vertex weights -----------------------------------------------------------------------

class VertexWeightsTest : public testing::Test {
 protected:
  VertexWeightsTest() {
    builder_.Nodes("a", 2)
        .Nodes("b", 3)
        .Edges("a", "to", "b", {{0, 0}, {1, 0}, {1, 2}})
        .TaskSet("train", "b", false, {2, 2, 0})
        .TaskSet("valid", "a:to:b", true, {0, 1, 1, 1}, 2);
    auto graph = BuildFoldedGraph(builder_.dataset(), false);
    EXPECT_TRUE(graph.ok()) << graph.status();
    graph_ = std::move(graph).value();
  }
  std::vector<std::string> Names(const VertexWeights& weights) {
    std::vector<std::string> names;
    for (const Constraint& constraint : weights.constraints) names.push_back(constraint.name);
    return names;
  }
  DatasetBuilder builder_;
  FoldedGraph graph_;
};

TEST_F(VertexWeightsTest, NodesPerTypeInEdgesAndTaskRowsAtTheirOwners) {
  const auto weights = BuildVertexWeights(builder_.dataset(), graph_, {});
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_THAT(Names(*weights), ElementsAre("nodes/a", "nodes/b", "edges", "train", "valid"));
  EXPECT_THAT(weights->values, ElementsAre(1, 0, 0, 0, 0,  //
                                           1, 0, 0, 0, 0,  //
                                           0, 1, 2, 1, 0,  //
                                           0, 1, 0, 0, 2,  //
                                           0, 1, 1, 2, 0));
}

TEST_F(VertexWeightsTest, OnlyWhatIsAskedFor) {
  const auto weights =
      BuildVertexWeights(builder_.dataset(), graph_, *BalanceOptions::Parse("edges,test"));
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_THAT(Names(*weights), ElementsAre("edges"));  // there are no test nodes
}

TEST_F(VertexWeightsTest, NothingLeftMeansNodesOfAnyType) {
  const auto weights =
      BuildVertexWeights(builder_.dataset(), graph_, *BalanceOptions::Parse("test"));
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_THAT(Names(*weights), ElementsAre("nodes"));
  EXPECT_THAT(weights->values, ElementsAre(1, 1, 1, 1, 1));
}

TEST_F(VertexWeightsTest, PlansCountTheConstraintsThatAreChosen) {
  const GraphCounts counts = GraphCounts::Of(builder_.dataset());
  for (const char* balance :
       {"nodes,edges,train,valid,test", "edges,test", "train,valid", "test"}) {
    const BalanceOptions options = *BalanceOptions::Parse(balance);
    const auto chosen = ChooseConstraints(builder_.dataset(), 3, options);
    EXPECT_EQ(MostConstraints(counts, options), static_cast<int64_t>(chosen.size())) << balance;
  }
  EXPECT_EQ(BalancedSets(counts, *BalanceOptions::Parse("nodes,train,test")), 1);
}

TEST_F(VertexWeightsTest, SumBeyondTheLimitIsRefused) {
  const auto weights = BuildVertexWeights(builder_.dataset(), graph_, {}, 2);
  EXPECT_TRUE(absl::IsResourceExhausted(weights.status()));
  EXPECT_THAT(Message(weights.status()), HasSubstr("nodes/b sums up to 3"));
}

// ---- many node types ----------------------------------------------------------------------

// Type t has least + t nodes; a ring within each type and edges to the next.
Dataset ManyTypes(int types, int64_t least) {
  DatasetBuilder builder;
  const auto name = [](int type) { return fmt::format("t{:03}", type); };
  for (int t = 0; t < types; ++t) builder.Nodes(name(t), least + t);
  for (int t = 0; t < types; ++t) {
    builder.Edges(name(t), "near", name(t), RingsOfNodes(1, least + t));
    if (t + 1 == types) break;
    builder.Edges(name(t), "next", name(t + 1),
                  RandomEdges(least + t, least + t + 1, least, static_cast<uint64_t>(t)));
  }
  return builder.dataset();
}

TEST(ManyTypesTest, UpToSixteenTypesHaveAConstraintEach) {
  const Dataset dataset = ManyTypes(16, 1);
  CapturedLog log;
  const auto constraints = ChooseConstraints(dataset, 3, *BalanceOptions::Parse("nodes"));
  LogSharedConstraint(dataset, constraints);
  EXPECT_EQ(log.End(), "");
  ASSERT_EQ(constraints.size(), 16);
  EXPECT_EQ(constraints.front().name, "nodes/t000");
  EXPECT_EQ(constraints.back().total, 16);
}

TEST(ManyTypesTest, OfMoreTheSmallOnesShareOneAndThatIsLogged) {
  const Dataset dataset = ManyTypes(20, 1);
  CapturedLog log;
  const BalanceOptions balance = *BalanceOptions::Parse("nodes,edges");
  const auto constraints = ChooseConstraints(dataset, 3, balance);
  LogSharedConstraint(dataset, constraints);
  EXPECT_THAT(log.End(), HasSubstr("the 15 largest node types are balanced one by one, the other "
                                   "5, of at most 5 nodes each, together"));
  ASSERT_EQ(constraints.size(), 17);
  EXPECT_EQ(constraints[0].name, "nodes/t005");
  EXPECT_EQ(constraints[15].name, "nodes of 5 small types");
  EXPECT_EQ(constraints[15].total, 1 + 2 + 3 + 4 + 5);
  EXPECT_THAT(constraints[15].node_types, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(constraints[16].name, "edges");
  EXPECT_EQ(MostConstraints(GraphCounts::Of(dataset), balance), 17);
}

// Hundreds of constraints take METIS minutes, and it balances none of them.
TEST(ManyTypesTest, LargeTypesAndTheSmallOnesTogetherStayBalanced) {
  const Dataset dataset = ManyTypes(60, 40);
  for (const char* name : {"metis", "lp-metis", "stream-metis"}) {
    const TestFolder folder;
    const auto assignment =
        (*MakeMethod(name))->Assign(dataset, {.parts = 3, .seed = 1, .scratch = folder.path()});
    ASSERT_TRUE(assignment.ok()) << assignment.status();
    const Json& constraints = assignment->report["constraints"];
    ASSERT_EQ(constraints.size(), 17);
    std::vector<double> small(3, 0);
    double all_small = 0;
    for (size_t t = 0; t < 60; ++t) {
      std::vector<double> held(3, 0);
      for (const uint16_t owner : assignment->owners[t]) ++held[owner];
      const auto share = static_cast<double>(assignment->owners[t].size()) / 3;
      for (size_t part = 0; part < 3; ++part) {
        if (t < 45) {
          small[part] += held[part];
        } else {
          EXPECT_LE(held[part], std::ceil(share * kNodeTolerance)) << name << ", type " << t;
        }
      }
      if (t < 45) all_small += 3 * share;
    }
    EXPECT_THAT(small, Each(Le(all_small / 3 * kNodeTolerance))) << name;
  }
}

// ---- too few nodes ------------------------------------------------------------------------

TEST(FewNodesTest, RandomOwnersAreToldWithWhatWouldDo) {
  DatasetBuilder builder;
  builder.Nodes("node", 63).Edges("node", "edge", "node", RingsOfNodes(1, 63));
  for (const char* name : {"metis", "lp-metis", "stream-metis"}) {
    const TestFolder folder;
    MethodOptions options{.parts = 8, .seed = 1, .scratch = folder.path()};
    CapturedLog log;
    EXPECT_TRUE((*MakeMethod(name))->Assign(builder.dataset(), options).ok());
    EXPECT_THAT(log.End(), HasSubstr(fmt::format(
                               "{}: 63 nodes for 8 partitions are fewer than 8 each", name)));
    options.parts = 7;
    CapturedLog enough;
    EXPECT_TRUE((*MakeMethod(name))->Assign(builder.dataset(), options).ok());
    EXPECT_THAT(enough.End(), Not(HasSubstr("random")));
  }
  CapturedLog log;
  WarnOfDealtOwners("metis", 63, "nodes", 8);
  WarnOfDealtOwners("metis", 15, "nodes", 2);
  EXPECT_THAT(log.End(), AllOf(HasSubstr("give at most 7 partitions"), HasSubstr("one partition")));
}

// ---- metis process ------------------------------------------------------------------------

// Eight edges a node. METIS takes some seconds for 50,000 nodes.
Dataset LargeRandomGraph(int64_t nodes) {
  DatasetBuilder builder;
  builder.Nodes("node", nodes)
      .Edges("node", "edge", "node", RandomEdges(nodes, nodes, 8 * nodes, 1));
  return builder.dataset();
}

// The process of METIS, whose parent is `process`; 0 if it does not run.
pid_t MetisProcess(pid_t process) {
  pid_t child = 0;
  std::ifstream(fmt::format("/proc/{0}/task/{0}/children", process)) >> child;
  return child;
}

// 'R', 'S', 'Z', ...; 0 if there is no such process.
char StateOf(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string word;
  char state = 0;
  file >> word >> word >> state;
  return file ? state : '\0';
}

// METIS takes SIGTERM for an error of its own: a run that is to end must end, and not be told to
// use another method. And METIS must end with it. In a child, since signals are a process's.
TEST(MetisProcessTest, TerminationWhileMetisRunsEndsBothProcesses) {
  const Dataset dataset = LargeRandomGraph(50'000);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(MetisMethod().Assign(dataset, {.parts = 8}).ok() ? 0 : 1);
  int status = 0;
  pid_t metis = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    metis = MetisProcess(child);
    if (metis == 0) continue;
    ::kill(child, SIGTERM);
    ::waitpid(child, &status, 0);
    break;
  }
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (StateOf(metis) != '\0' && StateOf(metis) != 'Z') {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "METIS still runs";
  }
}

TEST(MetisProcessTest, SignalsAreAsBeforeAfterwards) {
  DatasetBuilder builder;
  builder.Nodes("node", 200).Edges("node", "edge", "node", RandomEdges(200, 200, 2000, 1));
  ASSERT_TRUE(MetisMethod().Assign(builder.dataset(), {.parts = 2}).ok());
  sigset_t mask{};
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &mask), 0);
  EXPECT_EQ(::sigismember(&mask, SIGTERM), 0);
  struct sigaction action {};
  ASSERT_EQ(::sigaction(SIGTERM, nullptr, &action), 0);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

// Whoever waits for SIGTERM in a thread of its own blocks it in the others; METIS needs it.
TEST(MetisProcessTest, BlockedSignalsDoNotChangeTheResult) {
  const Dataset dataset = LargeRandomGraph(2000);
  const auto expected = MetisMethod().Assign(dataset, {.parts = 4});
  ASSERT_TRUE(expected.ok()) << expected.status();
  sigset_t all{}, before{};
  ::sigfillset(&all);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &all, &before), 0);
  const auto found = MetisMethod().Assign(dataset, {.parts = 4});
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->owners, expected->owners);
}

TEST(ThinPairsTest, KeepsBothDirectionsOfThreeQuartersOfThePairs) {
  CoarseGraph coarse;
  auto graph = BuildFoldedGraph(LargeRandomGraph(50'000), false);
  ASSERT_TRUE(graph.ok()) << graph.status();
  coarse.graph = *std::move(graph);
  const Arcs before = ArcsOf(coarse.graph);
  ThinPairs(5, &coarse);
  const Arcs after = ArcsOf(coarse.graph);
  EXPECT_EQ(coarse.share, 0.75);
  EXPECT_NEAR(static_cast<double>(after.size()), 0.75 * static_cast<double>(before.size()),
              0.005 * static_cast<double>(before.size()));
  for (const auto& [arc, weight] : after) {
    ASSERT_EQ(before.at(arc), weight);
    ASSERT_TRUE(after.contains({arc.second, arc.first}));
  }
}

// ---- end counter --------------------------------------------------------------------------

constexpr int64_t kCountedNodes = 3 * EndCounter::kRangeNodes;

NodeArray<NodeDegree> NoDegrees(int64_t nodes) {
  auto degrees = NodeArray<NodeDegree>::Make(nodes, "degrees");
  EXPECT_TRUE(degrees.ok()) << degrees.status();
  return std::move(degrees).value();
}

EndCounter CounterInto(NodeArray<NodeDegree>* degrees) {
  auto counter = EndCounter::Make(degrees);
  EXPECT_TRUE(counter.ok()) << counter.status();
  return std::move(counter).value();
}

// More than wait of one range, so that it is counted in between.
TEST(EndCounterTest, EveryEndCountsOnceWhereverItsNodeLies) {
  NodeArray<NodeDegree> degrees = NoDegrees(kCountedNodes), wanted = NoDegrees(kCountedNodes);
  EndCounter counter = CounterInto(&degrees);
  CounterRng rng(7);
  for (int i = 0; i < 700'000; ++i) {
    const bool hub = rng.NextBounded(10) == 0;
    const auto node =
        static_cast<int64_t>(hub ? 300'000 : rng.NextBounded(static_cast<uint64_t>(kCountedNodes)));
    ++wanted[node].total;
    if (rng.NextBounded(2) == 0) {
      counter.AddSource(node);
    } else {
      counter.AddDestination(node);
      ++wanted[node].in;
    }
  }
  counter.Finish();
  for (int64_t v = 0; v < kCountedNodes; ++v) {
    ASSERT_EQ(degrees[v].in, wanted[v].in) << v;
    ASSERT_EQ(degrees[v].total, wanted[v].total) << v;
  }
}

TEST(EndCounterTest, NeighboursOnBothSidesOfABorder) {
  NodeArray<NodeDegree> degrees = NoDegrees(kCountedNodes);
  EndCounter counter = CounterInto(&degrees);
  const int64_t border = EndCounter::kRangeNodes;
  for (const int64_t node : {int64_t{0}, border - 1, border, kCountedNodes - 1}) {
    counter.AddDestination(node);
    counter.AddSource(node);
  }
  counter.Finish();
  for (const int64_t node : {int64_t{0}, border - 1, border, kCountedNodes - 1}) {
    EXPECT_EQ(degrees[node].in, 1) << node;
    EXPECT_EQ(degrees[node].total, 2) << node;
  }
  EXPECT_EQ(degrees[1].total + degrees[border + 1].total + degrees[border - 2].total, 0);
}

TEST(EndCounterTest, CountsStopAtTheLargest) {
  NodeArray<NodeDegree> degrees = NoDegrees(8);
  degrees[5] = {.in = 3, .total = kMaxDegree - 1};
  degrees[6] = {.in = kMaxDegree, .total = 4};
  EndCounter counter = CounterInto(&degrees);
  for (int i = 0; i < 3; ++i) {
    counter.AddDestination(5);
    counter.AddDestination(6);
  }
  counter.Finish();
  EXPECT_EQ(degrees[5].in, 6);
  EXPECT_EQ(degrees[5].total, kMaxDegree);
  EXPECT_EQ(degrees[6].in, kMaxDegree);
  EXPECT_EQ(degrees[6].total, 7);
}

TEST(CountDegreesTest, SelfLoopsAreNoEndsOrTwo) {
  DatasetBuilder builder;
  builder.Nodes("node", 3).Edges("node", "edge", "node", {{0, 1}, {2, 2}});
  for (const auto& [loops, ends] : {std::pair{SelfLoops::kIgnored, 0}, {SelfLoops::kTwoEnds, 2}}) {
    const auto degrees = CountDegrees(builder.dataset(), loops);
    ASSERT_TRUE(degrees.ok()) << degrees.status();
    EXPECT_EQ(degrees->of[2].in, 1);
    EXPECT_EQ(degrees->of[2].total, ends);
    EXPECT_EQ(degrees->volume, 2 + ends);
  }
}

TEST(EndCounterTest, NoNodes) {
  NodeArray<NodeDegree> degrees = NoDegrees(0);
  CounterInto(&degrees).Finish();
}

// ---- task columns -------------------------------------------------------------------------

class TaskColumnsTest : public testing::Test {
 protected:
  TaskColumnsTest() {
    builder_.Nodes("a", 5).Nodes("b", 6).Edges("a", "to", "b", {{1, 2}}).Edges("b", "in", "b", {});
  }
  StatusOr<TaskColumns> Resolve() {
    return ResolveTaskColumns(builder_.dataset(), builder_.dataset().tasks[0].sets[0]);
  }
  DatasetBuilder builder_;
};

TEST_F(TaskColumnsTest, NodeIdsAreOwnedByThemselves) {
  builder_.TaskSet("train", "b", false, {5, 2});
  const auto columns = Resolve();
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_THAT(columns->node_types, ElementsAre(1));
  EXPECT_EQ(columns->rows, 2);
  EXPECT_EQ(columns->OwnerId(1), 2);
}

TEST_F(TaskColumnsTest, PairIsOwnedByItsSecondColumn) {
  builder_.TaskSet("train", "a:to:b", true, {1, 2, 3, 4}, 2);
  const auto columns = Resolve();
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_THAT(columns->node_types, ElementsAre(0, 1));
  EXPECT_EQ(columns->owner_type(), 1);
  EXPECT_EQ(columns->OwnerId(1), 4);
}

TEST_F(TaskColumnsTest, WiderTupleIsOwnedByItsFirstColumn) {
  builder_.TaskSet("train", "b:in:b", true, {1, 2, 3, 4, 5, 0}, 3);
  const auto columns = Resolve();
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_THAT(columns->node_types, ElementsAre(1, 1, 1));
  EXPECT_EQ(columns->OwnerId(1), 4);
}

TEST_F(TaskColumnsTest, WiderTupleBetweenDifferentTypesIsInvalid) {
  builder_.TaskSet("train", "a:to:b", true, {1, 2, 3}, 3);
  EXPECT_TRUE(absl::IsInvalidArgument(Resolve().status()));
  EXPECT_THAT(Message(Resolve().status()), HasSubstr("3 columns"));
}

TEST_F(TaskColumnsTest, OneColumnForARelationIsInvalid) {
  builder_.TaskSet("train", "a:to:b", true, {1, 2, 3});
  EXPECT_TRUE(absl::IsInvalidArgument(Resolve().status()));
}

TEST_F(TaskColumnsTest, UnknownTypeIsInvalid) {
  builder_.TaskSet("train", "c", false, {1});
  EXPECT_THAT(Message(Resolve().status()), HasSubstr("unknown node type c"));
}

}  // namespace
}  // namespace halograph
