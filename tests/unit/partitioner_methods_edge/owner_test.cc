// One owner a node: counts, room, and the two rules.
#include <algorithm>
#include <map>
#include <numeric>

#include <gmock/gmock.h>

#include "partitioner/methods/literature/owner_choice.h"
#include "partitioner/methods/literature/part_state.h"
#include "tests/unit/partitioner_methods/memory_dataset.h"

namespace halograph {
namespace {

using testing::ElementsAre;

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
    replicas_ = std::move(ReplicaSets::Make(nodes, parts)).value();
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
  ReplicaSets replicas_;
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
