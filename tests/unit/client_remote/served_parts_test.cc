#include "client/remote/served_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/remote/message_io.h"

namespace halograph {
namespace {

using testing::HasSubstr;

class ServedPartsTest : public testing::Test {
 protected:
  // Of a graph of four parts; nullptr for a server that is not described.
  static std::shared_ptr<ServerDescription> Server(std::vector<int> parts) {
    auto description = std::make_shared<ServerDescription>();
    Schema schema;
    schema.node_types = {{.name = "node", .count = 40, .features = {}}};
    auto book = PartitionBook::Create(schema, {{0, 10, 20, 30, 40}}, {});
    EXPECT_TRUE(book.ok()) << ToString(book.status());
    description->graph.schema = std::move(schema);
    if (book.ok()) description->graph.book = std::move(*book);
    description->parts = std::move(parts);
    description->max_message_bytes = 1 << 20;
    return description;
  }
  static ServedParts Make(Descriptions descriptions) {
    std::vector<std::string> addresses;
    for (size_t i = 0; i < descriptions.size(); ++i) addresses.push_back(fmt::format("s{}:1", i));
    return {std::move(addresses), std::move(descriptions), 4 << 20};
  }
  static std::vector<std::vector<int>> Servers(const ReplicaSets& sets) {
    std::vector<std::vector<int>> servers;
    for (int part = 0; part < 4; ++part) {
      const ReplicaSet* set = sets.Find(part);
      servers.push_back(set == nullptr ? std::vector<int>() : set->servers);
    }
    return servers;
  }
};

TEST_F(ServedPartsTest, PartsThatTheSameServersServeAreOneSet) {
  const ServedParts served = Make({Server({0, 2}), Server({0, 2, 3}), Server({1}), nullptr});
  const ReplicaSets& sets = served.features();
  EXPECT_EQ(Servers(sets), (std::vector<std::vector<int>>{{0, 1}, {2}, {0, 1}, {1}}));
  EXPECT_EQ(sets.sets.size(), 3U);
  EXPECT_EQ(sets.Find(0), sets.Find(2));
  EXPECT_EQ(sets.Find(0)->name, "parts 0,2");
  EXPECT_EQ(sets.Find(1)->name, "part 1");
  EXPECT_EQ(served.Addresses(*sets.Find(0)), "s0:1 or s1:1");
}

TEST_F(ServedPartsTest, TopologyAndFeaturesHaveTheirOwnSets) {
  const auto features_only = Server({0, 1, 2, 3});
  features_only->serving.topology = false;
  const ServedParts served = Make({features_only, Server({0, 1})});
  EXPECT_EQ(Servers(served.topology()), (std::vector<std::vector<int>>{{1}, {1}, {}, {}}));
  EXPECT_EQ(Servers(served.features()), (std::vector<std::vector<int>>{{0, 1}, {0, 1}, {0}, {0}}));
}

TEST_F(ServedPartsTest, ASetIsAskedForNoMoreThanEachOfItsServersKnowsAndTakes) {
  const auto newer = Server({0});
  newer->capabilities = {"a", "b"};
  const auto older = Server({0});
  older->capabilities = {"a"};
  older->max_message_bytes = 300000;
  const ServedParts served = Make({newer, older});
  const ReplicaSet& set = *served.features().Find(0);
  EXPECT_EQ(served.FirstWithout(set, "a"), -1);
  EXPECT_EQ(served.FirstWithout(set, "b"), 1);
  EXPECT_EQ(set.planned_bytes, PlannedBytes(300000));
}

TEST_F(ServedPartsTest, MutableTensorsHaveOneOwner) {
  const auto with_state = Server({0, 1});
  with_state->keeps_state = true;
  const ServedParts one = Make({Server({0, 1}), with_state});
  EXPECT_EQ(one.Owner(1).value_or(-1), 1);
  const StatusOr<int> nobody = Make({Server({0, 1}), Server({0})}).Owner(0);
  EXPECT_EQ(nobody.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(nobody.status()), HasSubstr("part 0 of 4"));
  EXPECT_THAT(Message(nobody.status()), HasSubstr("--state DIR (now served by s0:1, s1:1)"));
  const StatusOr<int> two = Make({with_state, with_state}).Owner(0);
  EXPECT_EQ(two.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(two.status()), HasSubstr("s0:1 and s1:1 both"));
}

}  // namespace
}  // namespace halograph
