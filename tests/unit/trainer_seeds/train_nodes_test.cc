#include "trainer/seeds/train_nodes.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/opened_graph.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Four users and three items in two parts, and a task of either kind.
TestGraphSpec SmallShop() {
  TestGraphSpec spec{.name = "shop", .parts = 2};
  spec.node_types = {{.name = "item", .owners = {0, 1, 0}},
                     {.name = "user", .owners = {1, 0, 1, 0}}};
  spec.relations = {{"user", "likes", "item", {{0, 1}, {2, 1}, {3, 2}}}};
  const auto seeds = [](const std::string& set, const std::string& type,
                        std::vector<int64_t> nodes) {
    const std::vector<int64_t> labels(nodes.size());
    return TestTaskSet{.set = set,
                       .type = type,
                       .edges = false,
                       .arrays = {MakeTensor("seeds", nodes), MakeTensor("labels", labels)}};
  };
  const auto edges = [](const std::string& set, const std::vector<int64_t>& pairs) {
    return TestTaskSet{.set = set,
                       .type = "user:likes:item",
                       .edges = true,
                       .arrays = {MakeTensor("seeds", pairs, 2)}};
  };
  spec.tasks = {{.name = "nodes",
                 .sets = {seeds("train", "user", {3, 0, 3, 2}), seeds("valid", "user", {1})}},
                {.name = "links", .sets = {edges("train", {0, 1, 2, 1}), edges("test", {3, 2})}}};
  return spec;
}

class TrainNodesTest : public OpenedGraphTest {
 protected:
  void SetUp() override { Open(SmallShop()); }
  // Global ids of users and items by input ids, ascending.
  static std::vector<int64_t> Global(const std::string& type, const std::vector<int64_t>& inputs) {
    const std::vector<int64_t> global = GlobalNodeIds(SmallShop(), type);
    std::vector<int64_t> ids;
    for (const int64_t input : inputs) ids.push_back(global[input]);
    std::sort(ids.begin(), ids.end());
    return ids;
  }
};

TEST_F(TrainNodesTest, AreTheSeedsOfTheTrainSetOnceEach) {
  const auto nodes = NodesOfTrainSet(stores_, "nodes", {true, true}, nullptr);
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  EXPECT_THAT(*nodes, ElementsAre(IsEmpty(), Global("user", {0, 2, 3})));
  EXPECT_THAT(*NodesOfTrainSet(stores_, "nodes", {true, false}, nullptr),
              ElementsAre(IsEmpty(), IsEmpty()));
}

TEST_F(TrainNodesTest, OfEdgesAreBothEnds) {
  const auto nodes = NodesOfTrainSet(stores_, "links", {true, true}, nullptr);
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  EXPECT_THAT(*nodes, ElementsAre(Global("item", {1}), Global("user", {0, 2})));
  EXPECT_THAT(*NodesOfTrainSet(stores_, "links", {true, false}, nullptr),
              ElementsAre(Global("item", {1}), IsEmpty()));
}

TEST_F(TrainNodesTest, ATaskThatThereIsNotIsNotFound) {
  EXPECT_EQ(NodesOfTrainSet(stores_, "other", {true, true}, nullptr).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(DrawNodesTest, AllOfFewAndDifferentOnesOfMany) {
  EXPECT_THAT(DrawNodes(3, 3, 1), ElementsAre(0, 1, 2));
  EXPECT_THAT(DrawNodes(0, 3, 1), IsEmpty());
  const std::vector<int64_t> drawn = DrawNodes(1000, 900, 1);
  EXPECT_EQ(drawn, DrawNodes(1000, 900, 1));
  EXPECT_NE(drawn, DrawNodes(1000, 900, 2));
  EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end()));
  EXPECT_EQ(std::set<int64_t>(drawn.begin(), drawn.end()).size(), 900U);
  EXPECT_GE(drawn.front(), 0);
  EXPECT_LT(drawn.back(), 1000);
}

TEST(DrawNodesTest, EveryNodeIsAsLikelyAsAnyOther) {
  std::vector<int> counts(10);
  for (uint64_t key = 0; key < 10000; ++key) {
    for (const int64_t node : DrawNodes(10, 4, key)) ++counts[node];
  }
  // A count is 4000, with a deviation of 49.
  for (const int count : counts) EXPECT_NEAR(count, 4000, 250);
}

}  // namespace
}  // namespace halograph
