#include "client/remote/served_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/remote/columns.h"
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
  static ServedParts Make(Descriptions descriptions, ReadColumns columns = {}) {
    std::vector<std::string> addresses;
    for (size_t i = 0; i < descriptions.size(); ++i) addresses.push_back(fmt::format("s{}:1", i));
    return {std::move(addresses), std::move(descriptions), 4 << 20, columns};
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

// ---- a grid ----------------------------------------------------------------------------------

// Of parts 0 to 3; -1: nobody serves it.
std::vector<int> Preferred(const ReplicaSets& sets) {
  std::vector<int> preferred;
  for (int part = 0; part < 4; ++part) {
    const ReplicaSet* set = sets.Find(part);
    preferred.push_back(set == nullptr ? -1 : set->preferred);
  }
  return preferred;
}

TEST_F(ServedPartsTest, WithoutColumnsNoServerOfAPartIsPreferred) {
  const ServedParts served = Make({Server({0, 1, 2, 3}), Server({0, 1, 2, 3})});
  EXPECT_EQ(Preferred(served.topology()), (std::vector<int>{-1, -1, -1, -1}));
  EXPECT_EQ(Preferred(served.features()), (std::vector<int>{-1, -1, -1, -1}));
  EXPECT_EQ(served.topology().sets[0].servers, (std::vector<int>{0, 1}));
}

TEST_F(ServedPartsTest, TheServerOfAColumnIsThatOfItsPartByAddressAsText) {
  const std::vector<std::string> addresses = {"b:7000", "a:9", "a:10000", "b:70", "a:8"};
  const std::vector<int> part = {0, 1, 2};  // by address 2, 1, 0
  EXPECT_EQ(ServerOfColumn(addresses, part, 0), 2);
  EXPECT_EQ(ServerOfColumn(addresses, part, 1), 1);
  EXPECT_EQ(ServerOfColumn(addresses, part, 2), 0);
  EXPECT_EQ(ServerOfColumn(addresses, part, 3), 2) << "modulo their number";
  EXPECT_EQ(ServerOfColumn(addresses, part, 1000), 1);
  EXPECT_EQ(ServerOfColumn(addresses, std::vector<int>{3, 4}, 0), 4) << "of the part's alone";
  EXPECT_EQ(ServerOfColumn(addresses, std::vector<int>{3}, 7), 3);
}

// Server 1 is in column 1 of part 0 and in column 0 of part 1.
TEST_F(ServedPartsTest, AServerOfSeveralPartsMayBeInAnotherColumnForEach) {
  const Descriptions servers = {Server({0, 3}), Server({0, 1}), Server({1, 2}), Server({2, 3})};
  const auto preferred = [&](int column) {
    const ServedParts served = Make(servers, {.topology = column});
    EXPECT_TRUE(CheckGrid("--columns", served.topology(), 0).ok());
    EXPECT_EQ(NumColumns(served.topology()), 2);
    EXPECT_EQ(Preferred(served.features()), (std::vector<int>{-1, -1, -1, -1}));
    return Preferred(served.topology());
  };
  EXPECT_EQ(preferred(0), (std::vector<int>{0, 1, 2, 0}));
  EXPECT_EQ(preferred(1), (std::vector<int>{1, 2, 3, 3}));
  EXPECT_EQ(preferred(2), preferred(0));
}

// Each server has all parts: a client asks one server for all of them.
TEST_F(ServedPartsTest, AsManyColumnsAsServersIsTheReplicatedCase) {
  const auto all = [] { return Server({0, 1, 2, 3}); };
  const ServedParts served = Make({all(), all(), all()}, {.topology = 4, .features = 5});
  EXPECT_EQ(served.topology().sets.size(), 1U);
  EXPECT_EQ(Preferred(served.topology()), (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(Preferred(served.features()), (std::vector<int>{2, 2, 2, 2}));
  EXPECT_EQ(NumColumns(served.topology()), 3);
}

TEST_F(ServedPartsTest, StateHasItsOwnerInWhateverColumn) {
  const auto with_state = Server({0, 1, 2, 3});
  with_state->keeps_state = true;
  const auto owner = Make({Server({0}), with_state}, {.topology = 0, .features = 0}).OwnerSet(0);
  ASSERT_TRUE(owner.ok()) << ToString(owner.status());
  EXPECT_EQ(owner->servers, std::vector<int>{1});
}

TEST_F(ServedPartsTest, PartsWithDifferentNumbersOfServersAreNoGridAndNamed) {
  const ServedParts served =
      Make({Server({0, 2, 3}), Server({0, 2}), Server({1, 2}), nullptr}, {.topology = 0});
  const Status status = CheckGrid("--columns", served.topology(), 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("--columns needs the same number of servers"));
  EXPECT_THAT(Message(status),
              HasSubstr("3 servers for part 2, 2 servers for part 0, 1 server for parts 1,3"));
  EXPECT_THAT(Message(status), HasSubstr("of 1 it is not known yet"));
  // Two that have not said what they serve can be what is missing.
  EXPECT_TRUE(CheckGrid("--columns", served.topology(), 2).ok());
}

TEST_F(ServedPartsTest, PartsThatNobodyServesAreNoRowsOfAGrid) {
  const ServedParts served = Make({Server({0, 2}), Server({0, 2})}, {.topology = 1});
  EXPECT_TRUE(CheckGrid("--columns", served.topology(), 0).ok());
  EXPECT_EQ(Preferred(served.topology()), (std::vector<int>{1, -1, 1, -1}));
}

}  // namespace
}  // namespace halograph
