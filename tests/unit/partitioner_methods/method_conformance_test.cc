// What every partition method owes, run on every method.
#include <gmock/gmock.h>

#include "partitioner/methods/registry/registry.h"
#include "tests/unit/partitioner_methods/memory_dataset.h"

namespace halograph {
namespace {

using testing::HasSubstr;

class MethodConformance : public testing::TestWithParam<std::string> {
 protected:
  StatusOr<Assignment> Assign(const Dataset& dataset, int parts, uint64_t seed = 1) {
    auto method = MakeMethod(GetParam());
    EXPECT_TRUE(method.ok()) << method.status();
    EXPECT_EQ((*method)->name(), GetParam());
    return (*method)->Assign(
        dataset, {.parts = parts, .seed = seed, .balance = {}, .drop_duplicates = false});
  }

  void ExpectEveryNodeOwned(const Dataset& dataset) {
    for (const int parts : {1, 2, 3, 4, 5, 8}) {
      const auto assignment = Assign(dataset, parts);
      ASSERT_TRUE(assignment.ok()) << assignment.status();
      ASSERT_EQ(assignment->owners.size(), dataset.node_types.size());
      for (size_t type = 0; type < assignment->owners.size(); ++type) {
        ASSERT_EQ(static_cast<int64_t>(assignment->owners[type].size()),
                  dataset.node_types[type].count);
        for (const uint16_t owner : assignment->owners[type]) ASSERT_LT(owner, parts);
      }
    }
  }
};

TEST_P(MethodConformance, TypedGraphWithSelfLoopsParallelEdgesAndIsolatedNodes) {
  EdgePairs loops = RandomEdges(40, 40, 100, 3);
  for (int64_t i = 0; i < 40; ++i) loops.emplace_back(i / 2, i / 2);
  DatasetBuilder builder;
  builder.Nodes("actor", 40)
      .Nodes("empty", 0)
      .Nodes("movie", 70)  // 20 of them without an edge
      .Edges("actor", "in", "movie", RandomEdges(40, 50, 200, 4))
      .Edges("actor", "knows", "actor", loops)
      .Edges("movie", "no", "movie", {});
  ExpectEveryNodeOwned(builder.dataset());
}

TEST_P(MethodConformance, GraphWithoutEdges) {
  DatasetBuilder builder;
  builder.Nodes("node", 50).Edges("node", "edge", "node", {});
  ExpectEveryNodeOwned(builder.dataset());
  DatasetBuilder no_relation;
  no_relation.Nodes("node", 50);
  ExpectEveryNodeOwned(no_relation.dataset());
}

TEST_P(MethodConformance, Star) {
  EdgePairs edges;
  for (int64_t i = 1; i < 100; ++i) edges.emplace_back(i, 0);
  DatasetBuilder builder;
  builder.Nodes("node", 100).Edges("node", "edge", "node", edges);
  ExpectEveryNodeOwned(builder.dataset());
}

TEST_P(MethodConformance, AsManyPartsAsNodesGivesEachOne) {
  DatasetBuilder builder;
  builder.Nodes("node", 9).Edges("node", "edge", "node", RingsOfNodes(1, 9));
  const auto assignment = Assign(builder.dataset(), 9);
  ASSERT_TRUE(assignment.ok()) << assignment.status();
  auto owners = assignment->owners[0];
  std::sort(owners.begin(), owners.end());
  for (uint16_t i = 0; i < 9; ++i) EXPECT_EQ(owners[i], i);
}

TEST_P(MethodConformance, MorePartsThanNodesIsInvalid) {
  DatasetBuilder builder;
  builder.Nodes("node", 9).Edges("node", "edge", "node", RingsOfNodes(1, 9));
  const auto assignment = Assign(builder.dataset(), 10);
  EXPECT_TRUE(absl::IsInvalidArgument(assignment.status())) << assignment.status();
  EXPECT_THAT(Message(assignment.status()), HasSubstr("10 partitions"));
  for (const int parts : {0, -1, kMaxParts + 1}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Assign(builder.dataset(), parts).status())) << parts;
  }
}

TEST_P(MethodConformance, GraphWithoutNodesIsInvalid) {
  DatasetBuilder builder;
  builder.Nodes("node", 0).Edges("node", "edge", "node", {});
  const auto assignment = Assign(builder.dataset(), 1);
  EXPECT_TRUE(absl::IsInvalidArgument(assignment.status())) << assignment.status();
  EXPECT_THAT(Message(assignment.status()), HasSubstr("no nodes"));
}

TEST_P(MethodConformance, SameSeedSameOwnersOtherSeedOtherOwners) {
  DatasetBuilder builder;
  builder.Nodes("node", 600).Edges("node", "edge", "node", RandomEdges(600, 600, 3000, 5));
  const auto owners = Assign(builder.dataset(), 4, 0)->owners;
  EXPECT_EQ(Assign(builder.dataset(), 4, 0)->owners, owners);
  for (const uint64_t seed : {uint64_t{1}, uint64_t{2}, ~uint64_t{0}}) {
    EXPECT_NE(Assign(builder.dataset(), 4, seed)->owners, owners) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, MethodConformance, testing::ValuesIn(MethodNames()),
                         [](const auto& param) {
                           std::string name = param.param;  // a test's name takes no hyphen
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(MakeMethodTest, UnknownNameIsInvalidAndNamesTheMethods) {
  const auto method = MakeMethod("magic");
  EXPECT_TRUE(absl::IsInvalidArgument(method.status()));
  EXPECT_THAT(Message(method.status()), HasSubstr("\"magic\""));
  for (const std::string& name : MethodNames()) {
    EXPECT_THAT(Message(method.status()), HasSubstr(name));
  }
}

TEST(BalanceOptionsTest, ListRoundTrips) {
  EXPECT_EQ(BalanceOptions().ToString(), "nodes,edges,train,valid,test");
  const auto options = BalanceOptions::Parse("train,nodes");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->ToString(), "nodes,train");
}

TEST(BalanceOptionsTest, UnknownWordIsInvalid) {
  for (const char* text : {"nodes,halo", "", "nodes,", "Nodes"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(BalanceOptions::Parse(text).status())) << text;
  }
}

}  // namespace
}  // namespace halograph
