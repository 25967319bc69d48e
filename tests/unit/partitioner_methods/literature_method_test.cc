#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <ostream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "partitioner/methods/literature/edge_method.h"
#include "partitioner/methods/literature/owner_choice.h"
#include "partitioner/methods/literature/part_state.h"
#include "partitioner/methods/literature/spring.h"
#include "partitioner/methods/literature/stream_rules.h"
#include "partitioner/methods/literature/two_phase.h"
#include "tests/support/memory_dataset.h"
#include "tests/unit/partitioner_methods/placed_edges.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// ---- edge method --------------------------------------------------------------------------
// The edge partitioners as partition methods: bounds, rounds of counting, options.

struct MethodCase {
  const char* name;
  std::unique_ptr<PartitionMethod> (*make)();
};

void PrintTo(const MethodCase& method, std::ostream* out) { *out << method.name; }

template <typename PartitionerT>
std::unique_ptr<PartitionMethod> Make() {
  return std::make_unique<EdgeMethod<PartitionerT>>();
}

MethodOptions Options(int parts, OwnerRule owner = OwnerRule::kMajority) {
  MethodOptions options;
  options.parts = parts;
  options.seed = 1;
  options.edge.owner = owner;
  return options;
}

class EdgeMethods : public testing::TestWithParam<MethodCase> {
 protected:
  StatusOr<Assignment> Assign(const DatasetBuilder& builder, const MethodOptions& options) {
    return GetParam().make()->Assign(builder.dataset(), options);
  }
  // Largest over mean of nodes, and of in-edges.
  std::pair<double, double> Balance(const EdgePairs& edges, const std::vector<uint16_t>& owners,
                                    int parts) {
    std::vector<double> nodes(static_cast<size_t>(parts), 0), in_edges(nodes);
    for (const uint16_t owner : owners) ++nodes[owner];
    for (const auto& [u, v] : edges) ++in_edges[owners[v]];
    return {*std::max_element(nodes.begin(), nodes.end()) * parts / owners.size(),
            *std::max_element(in_edges.begin(), in_edges.end()) * parts / edges.size()};
  }
};

INSTANTIATE_TEST_SUITE_P(All, EdgeMethods,
                         testing::Values(MethodCase{"dbh", Make<Dbh>},
                                         MethodCase{"greedy", Make<Greedy>},
                                         MethodCase{"hdrf", Make<Hdrf>},
                                         MethodCase{"two_phase", Make<TwoPhase>},
                                         MethodCase{"spring", Make<Spring>}),
                         [](const auto& param) { return std::string(param.param.name); });

TEST_P(EdgeMethods, NodesAndEdgesOfOwnersStayWithinTheirBounds) {
  const EdgePairs edges = SkewedEdges(4000, 30000, 1);
  DatasetBuilder builder;
  builder.Nodes("node", 4000).Edges("node", "edge", "node", edges);
  for (const OwnerRule rule : {OwnerRule::kMajority, OwnerRule::kRandom}) {
    for (const int parts : {2, 8, 70}) {
      const auto assignment = Assign(builder, Options(parts, rule));
      ASSERT_TRUE(assignment.ok()) << assignment.status();
      const auto [nodes, in_edges] = Balance(edges, assignment->owners[0], parts);
      // 57 nodes are the share of 70 partitions, so rounding up takes a percent more.
      EXPECT_LE(nodes, parts == 70 ? 1.04 : 1.03) << parts;
      EXPECT_LE(in_edges, 1.12) << parts;
    }
  }
}

TEST_P(EdgeMethods, CountingInRoundsKeepsPlacementsAndBounds) {
  const EdgePairs edges = SkewedEdges(2000, 12000, 2);
  DatasetBuilder builder;
  builder.Nodes("node", 2000).Edges("node", "edge", "node", edges);
  const auto whole = Assign(builder, Options(100));
  MethodOptions little = Options(100);
  little.memory = 1 << 20;
  const auto rounds = Assign(builder, little);
  ASSERT_TRUE(whole.ok() && rounds.ok()) << whole.status() << rounds.status();
  EXPECT_EQ(rounds->report["edge_partition"], whole->report["edge_partition"]);
  EXPECT_EQ(rounds->report["placing_passes"],
            kMaxCountingRounds * whole->report["placing_passes"].get<int64_t>());
  const auto [nodes, in_edges] = Balance(edges, rounds->owners[0], 100);
  EXPECT_LE(nodes, 1.05);     // 21 of 20
  EXPECT_LE(in_edges, 1.25);  // hubs of later ranges find less room
}

TEST_P(EdgeMethods, PlanShrinksWithTheMemoryThatThereIs) {
  GraphCounts counts;
  counts.nodes = {1000000};
  counts.relations = {{0, 0, 8000000}};
  const auto method = GetParam().make();
  const int64_t whole = method->PlanMemory(counts, Options(512)).peak_bytes();
  EXPECT_GE(whole, 512000000);
  MethodOptions bounded = Options(512);
  bounded.memory = 300000000;
  const MemoryPlan plan = method->PlanMemory(counts, bounded);
  EXPECT_TRUE(CheckMemory(plan, bounded.memory).ok()) << plan.ToText();
  bounded.memory = 1 << 20;
  EXPECT_TRUE(
      absl::IsResourceExhausted(CheckMemory(method->PlanMemory(counts, bounded), bounded.memory)));
  // By chance there is nothing to count.
  EXPECT_LT(method->PlanMemory(counts, Options(512, OwnerRule::kRandom)).peak_bytes(), 130000000);
}

TEST_P(EdgeMethods, AGiantHubBreaksNoBoundOnNodes) {
  EdgePairs edges;
  for (int64_t i = 1; i < 1000; ++i) {
    edges.emplace_back(i, 0);
    if (i % 3 == 0) edges.emplace_back(i, i - 1);
  }
  DatasetBuilder builder;
  builder.Nodes("node", 1000).Edges("node", "edge", "node", edges);
  for (const OwnerRule rule : {OwnerRule::kMajority, OwnerRule::kRandom}) {
    const auto assignment = Assign(builder, Options(4, rule));
    ASSERT_TRUE(assignment.ok()) << assignment.status();
    EXPECT_LE(Balance(edges, assignment->owners[0], 4).first, 1.03);
  }
}

TEST_P(EdgeMethods, SelfLoopsAndParallelEdgesOnly) {
  EdgePairs edges;
  for (int64_t i = 0; i < 200; ++i) edges.emplace_back(i % 20, i % 20);
  for (int64_t i = 0; i < 200; ++i) edges.emplace_back(20, 21);
  DatasetBuilder builder;
  builder.Nodes("node", 30).Edges("node", "edge", "node", edges);
  for (const OwnerRule rule : {OwnerRule::kMajority, OwnerRule::kRandom}) {
    const auto assignment = Assign(builder, Options(3, rule));
    ASSERT_TRUE(assignment.ok()) << assignment.status();
    EXPECT_NEAR(Balance(edges, assignment->owners[0], 3).first, 1.0, 0.05);
  }
}

TEST_P(EdgeMethods, RingsInOrderAreCutLessThanByChance) {
  const EdgePairs edges = RingsOfNodes(40, 50);
  DatasetBuilder builder;
  builder.Nodes("node", 2000).Edges("node", "edge", "node", edges);
  const auto assignment = Assign(builder, Options(4));
  ASSERT_TRUE(assignment.ok()) << assignment.status();
  const std::vector<uint16_t>& owners = assignment->owners[0];
  const auto cut = std::count_if(edges.begin(), edges.end(), [&](const auto& edge) {
    return owners[edge.first] != owners[edge.second];
  });
  // Degrees are all alike, so that dbh is chance; the others see the rings.
  const double share = static_cast<double>(cut) / static_cast<double>(edges.size());
  EXPECT_LT(share, std::string(GetParam().name) == "dbh" ? 0.76 : 0.40);
}

TEST_P(EdgeMethods, OptionsOutOfRangeAreInvalidAndNamed) {
  DatasetBuilder builder;
  builder.Nodes("node", 30).Edges("node", "edge", "node", RingsOfNodes(3, 10));
  const auto expect_invalid = [&](const std::function<void(EdgePartitionOptions*)>& damage,
                                  const char* name) {
    MethodOptions options = Options(2);
    damage(&options.edge);
    const Status status = Assign(builder, options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(Message(status), HasSubstr(name));
  };
  expect_invalid([](EdgePartitionOptions* o) { o->hdrf_lambda = 0; }, "lambda 0");
  expect_invalid([](EdgePartitionOptions* o) { o->volume_factor = -1; }, "volume factor -1");
  expect_invalid([](EdgePartitionOptions* o) { o->edge_imbalance = 0.9; }, "imbalance 0.9");
}

TEST_P(EdgeMethods, ReportHoldsNothingThatDiffersFromRunToRun) {
  DatasetBuilder builder;
  builder.Nodes("node", 300).Edges("node", "edge", "node", SkewedEdges(300, 2000, 4));
  const auto first = Assign(builder, Options(4));
  const auto second = Assign(builder, Options(4));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->report, second->report);
  EXPECT_EQ(first->report["owner"], "majority");
  EXPECT_GE(first->report["edge_partition"]["replication"].get<double>(), 1.0);
  EXPECT_LE(first->report["edge_partition"]["replication"].get<double>(), 4.0);
}

// ---- owner --------------------------------------------------------------------------------
// One owner per node: counts, room, and the two rules.

TEST(PartCountsTest, CountsOnlyItsRange) {
  auto counts = PartCounts::Make(3, 2);
  ASSERT_TRUE(counts.ok()) << counts.status();
  counts->Restart(10);
  for (const int64_t node : {9, 10, 12, 12, 13}) counts->Add(node, 1);
  EXPECT_THAT(counts->Row(10), ElementsAre(0, 1));
  EXPECT_THAT(counts->Row(11), ElementsAre(0, 0));
  EXPECT_THAT(counts->Row(12), ElementsAre(0, 2));
  counts->Restart(12);
  EXPECT_THAT(counts->Row(12), ElementsAre(0, 0));
}

TEST(PartCountsTest, AFullCountHalvesTheNodesOthersAndForgetsNoReplica) {
  auto counts = PartCounts::Make(2, 3);
  ASSERT_TRUE(counts.ok()) << counts.status();
  counts->Restart(0);
  counts->Add(0, 2);
  counts->Add(1, 2);
  for (int i = 0; i < 100; ++i) counts->Add(0, 1);
  for (int i = 0; i < 256; ++i) counts->Add(0, 0);
  EXPECT_THAT(counts->Row(0), ElementsAre(129, 50, 1));
  EXPECT_THAT(counts->Row(1), ElementsAre(0, 0, 1));
}

TEST(EdgeLoadsTest, LeastLoadedIsTheFirstOfTheLeastFromTheStartOn) {
  EdgeLoads loads(130, 1000);
  EXPECT_EQ(loads.LeastLoaded(70), 70);
  for (int part = 60; part < 130; ++part) loads.Add(part);
  EXPECT_EQ(loads.LeastLoaded(70), 0);
  EXPECT_EQ(loads.LeastLoaded(59), 59);
  for (int part = 0; part < 60; ++part) {
    if (part != 5) loads.Add(part);
  }
  for (const int start : {0, 5, 6, 64, 129}) EXPECT_EQ(loads.LeastLoaded(start), 5);
  EXPECT_EQ(loads.least(), 0);
  loads.Add(5);
  EXPECT_EQ(loads.least(), 1);
  EXPECT_EQ(loads.most(), 1);
  EXPECT_EQ(loads.LeastLoaded(129), 129);
}

TEST(ShareCapTest, HasRoomForAllEdges) {
  EXPECT_EQ(ShareCap(10, 4, 1.0), 3);
  EXPECT_EQ(ShareCap(1000, 4, 1.1), 275);
  EXPECT_EQ(ShareCap(0, 4, 1.1), 0);
}

TEST(OwnerRoomTest, EachBoundTurnsAwayAndWithoutItDoesNot) {
  // 100 nodes of one type, 20 of them train nodes (class 1); 1000 edges; 4 partitions.
  OwnedTotals totals{std::vector<int64_t>(kNumTaskClasses, 0), 1000, 1.0};
  totals.nodes[0] = 80;
  totals.nodes[1] = 20;
  BalanceOptions all;
  OwnerRoom room(totals, 4, all);
  const OwnedNode plain{0, 0, 1}, train{0, 1, 1};
  for (int i = 0; i < 5; ++i) room.Take(0, train);
  EXPECT_FALSE(room.HasRoom(0, train));  // 20 / 4
  EXPECT_TRUE(room.HasRoom(0, plain));
  for (int i = 0; i < 20; ++i) room.Take(0, plain);
  EXPECT_FALSE(room.HasRoom(0, plain));  // 100 / 4
  EXPECT_TRUE(room.HasRoom(1, {0, 0, 200}));
  EXPECT_FALSE(room.HasRoom(1, {0, 0, 276}));  // 1.1 * 250
  BalanceOptions no_edges;
  no_edges.edges = false;
  EXPECT_TRUE(OwnerRoom(totals, 4, no_edges).HasRoom(1, {0, 0, 276}));
}

TEST(OwnerRoomTest, EdgesAreKeptFreeForTheNodesThatAPartitionIsShortOf) {
  OwnedTotals totals{std::vector<int64_t>(kNumTaskClasses, 0), 2000, 5.0};
  totals.nodes[0] = 200;
  OwnerRoom room(totals, 2, {});
  // 97 nodes at least come to each of the two, with five edges each: 96 * 5 are kept for others.
  EXPECT_TRUE(room.HasRoom(0, {0, 0, 1100 - 96 * 5}));
  EXPECT_FALSE(room.HasRoom(0, {0, 0, 1101 - 96 * 5}));
}

class OwnerChoiceTest : public testing::Test {
 protected:
  void Build(int64_t nodes, EdgePairs edges, int parts, BalanceOptions balance = {}) {
    if (builder_.dataset().node_types.empty()) builder_.Nodes("node", nodes);
    builder_.Edges("node", "edge", "node", std::move(edges));
    auto degrees = CountDegrees(builder_.dataset(), SelfLoops::kTwoEnds);
    ASSERT_TRUE(degrees.ok()) << degrees.status();
    degrees_ = std::move(degrees).value();
    auto classes = TaskClasses::Of(builder_.dataset(), balance);
    ASSERT_TRUE(classes.ok()) << classes.status();
    classes_ = std::move(classes).value();
    choice_ = std::make_unique<OwnerChoice>(builder_.dataset(), degrees_, classes_, parts, balance);
    counts_ = std::move(PartCounts::Make(nodes, parts)).value();
    replicas_ = std::move(NodeReplicas::Make(nodes, parts)).value();
  }
  void Count(int64_t node, int part, int times) {
    for (int i = 0; i < times; ++i) counts_.Add(node, part);
    replicas_.Add(node, part);
  }
  const std::vector<uint16_t>& owners() { return choice_->owners()->front(); }

  DatasetBuilder builder_;
  Degrees degrees_;
  TaskClasses classes_;
  PartCounts counts_;
  NodeReplicas replicas_;
  std::unique_ptr<OwnerChoice> choice_;
};

EdgePairs Ring(int64_t nodes) {
  EdgePairs edges;
  for (int64_t i = 0; i < nodes; ++i) edges.emplace_back(i, (i + 1) % nodes);
  return edges;
}

TEST_F(OwnerChoiceTest, MajorityTakesTheLargestCountAndWhoHasMostToLoseChoosesFirst) {
  Build(4, Ring(4), 2);
  // Two nodes a partition. All want 0; 3 and 1 lose most by going elsewhere.
  Count(0, 0, 2), Count(0, 1, 1);
  Count(1, 0, 60), Count(1, 1, 2);
  Count(2, 0, 9), Count(2, 1, 3);
  Count(3, 0, 200), Count(3, 1, 1);
  choice_->ByMajority(0, 4, counts_);
  EXPECT_THAT(owners(), ElementsAre(1, 0, 1, 0));
  EXPECT_EQ(choice_->replicas(), 8);
  EXPECT_EQ(choice_->nodes_with_edges(), 4);
  EXPECT_EQ(choice_->turned_away(), 0);
}

TEST_F(OwnerChoiceTest, NodesWithoutRoomAtAReplicaGoWhereThereIs) {
  Build(4, Ring(4), 2);
  for (int64_t node = 0; node < 4; ++node) Count(node, 1, 1);
  choice_->ByMajority(0, 4, counts_);
  EXPECT_EQ(std::count(owners().begin(), owners().end(), 1), 2);
  EXPECT_EQ(choice_->turned_away(), 2);
}

TEST_F(OwnerChoiceTest, ByChanceTakesReplicasWhileTheyHaveRoom) {
  Build(6000, Ring(6000), 8);
  for (int64_t node = 0; node < 6000; ++node) {
    for (const int part : {1, 4, 6}) Count(node, part, 1 + part);
  }
  choice_->ByChance(replicas_, 5);
  std::map<int, int> owned;
  for (const uint16_t owner : owners()) ++owned[owner];
  // 1.03 of an even share each, the rest where there is room.
  for (const int part : {1, 4, 6}) EXPECT_EQ(owned[part], 772) << part;
  EXPECT_EQ(choice_->turned_away(), 6000 - 3 * 772);
}

TEST_F(OwnerChoiceTest, ByChanceTakesEachReplicaAboutAsOften) {
  BalanceOptions none;
  none.nodes = none.train = none.valid = none.test = false;
  Build(3000, Ring(3000), 4, none);
  for (int64_t node = 0; node < 3000; ++node) {
    for (const int part : {1, 2, 3}) Count(node, part, 1 + part);
    if (node < 2400) Count(node, 0, 1);
  }
  choice_->ByChance(replicas_, 5);
  std::map<int, int> owned;
  for (const uint16_t owner : owners()) ++owned[owner];
  EXPECT_NEAR(owned[0], 600, 70);  // a quarter of 2400; three standard deviations
  for (const int part : {1, 2, 3}) EXPECT_NEAR(owned[part], 800, 80) << part;
  EXPECT_EQ(choice_->turned_away(), 0);
}

TEST_F(OwnerChoiceTest, NodesWithoutEdgesAreDealtEvenly) {
  Build(103, Ring(40), 4);
  for (int64_t node = 0; node < 40; ++node) Count(node, static_cast<int>(node % 4), 1);
  choice_->ByMajority(0, 103, counts_);
  choice_->DealRest();
  std::map<int, int> owned;
  for (const uint16_t owner : owners()) ++owned[owner];
  for (int part = 0; part < 4; ++part) EXPECT_NEAR(owned[part], 103 / 4.0, 1) << part;
}

TEST_F(OwnerChoiceTest, TrainNodesAreSpreadEvenThoughAllWantOnePartition) {
  std::vector<int64_t> train(40);
  std::iota(train.begin(), train.end(), 0);
  builder_.Nodes("node", 400).TaskSet("train", "node", false, train);
  Build(400, Ring(400), 4);
  for (int64_t node = 0; node < 400; ++node) Count(node, static_cast<int>(node / 100), 3);
  choice_->ByMajority(0, 400, counts_);
  std::map<int, int> owned, trained;
  for (size_t i = 0; i < 400; ++i) {
    ++owned[owners()[i]];
    if (i < 40) ++trained[owners()[i]];
  }
  for (int part = 0; part < 4; ++part) {
    EXPECT_LE(owned[part], 103);
    EXPECT_EQ(trained[part], 10);
  }
}

}  // namespace
}  // namespace halograph
