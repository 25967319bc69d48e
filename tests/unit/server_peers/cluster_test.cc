#include "server/peers/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/call_metadata.h"

namespace halograph::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Json Stats(const std::string& address, int pid, double up = 100) {
  return {{"address", address},     {"identity", "9f"},     {"graph_name", "papers"},
          {"host_name", "graph-0"}, {"pid", pid},           {"unix_seconds", 5000.0},
          {"uptime_seconds", up},   {"build_version", "1"}, {"metrics", Json::array()}};
}

PeerAnswer Answer(const std::string& address, const Json& stats, double here = 5000) {
  return {.address = address,
          .error = OkStatus(),
          .reply = std::make_shared<const std::string>(stats.dump()),
          .round_trip_seconds = 0.5,
          .here_unix_seconds = here};
}

StatusOr<Json> Read(std::string_view reply) { return ParseJson(reply, "a reply"); }

std::vector<ClusterServer> Servers(StatusOr<Json> own, std::vector<PeerAnswer> peers) {
  std::vector<ClusterServer> servers;
  VisitCluster(std::move(own), "here:1", {.peers = std::move(peers)}, Read,
               [&](ClusterServer server) { servers.push_back(std::move(server)); });
  return servers;
}

TEST(ClusterTest, ThisServerComesFirstAndTheOthersInTheirOrder) {
  const auto servers =
      Servers(Stats("a:1", 1), {Answer("c:1", Stats("c:1", 3)), Answer("b:1", Stats("b:1", 2))});
  ASSERT_EQ(servers.size(), 3U);
  EXPECT_EQ(servers[0].address, "a:1");
  EXPECT_TRUE(servers[0].self);
  EXPECT_EQ(servers[1].address, "c:1");
  EXPECT_FALSE(servers[1].self);
  EXPECT_EQ(servers[2].stats.at("pid"), 2);
  EXPECT_EQ(servers[2].error, "");
  const Json json = ToJson(servers[1]);
  EXPECT_EQ(json.at("stats").at("address"), "c:1");
  EXPECT_EQ(json.at("self"), false);
  EXPECT_EQ(json.at("clock_seconds_off"), 0);
}

TEST(ClusterTest, AProcessIsShownOnceWhateverAddressesItHas) {
  const auto servers = Servers(
      Stats("a:1", 1), {Answer("localhost:1", Stats("a:1", 1, 100.5)),
                        Answer("b:1", Stats("b:1", 2)), Answer("b.net:1", Stats("b:1", 2))});
  ASSERT_EQ(servers.size(), 2U);
  EXPECT_EQ(servers[1].address, "b:1");
}

TEST(ClusterTest, OtherProcessesThatLookAlikeAreShown) {
  Json other_host = Stats("a:1", 1);
  other_host["host_name"] = "graph-1";
  Json older = Stats("", 0);
  older["host_name"] = "";
  older["unix_seconds"] = 0;
  const auto servers = Servers(
      Stats("a:1", 1), {Answer("b:1", Stats("b:1", 1)), Answer("c:1", Stats("a:1", 1, 50)),
                        Answer("d:1", other_host), Answer("e:1", older), Answer("f:1", older)});
  EXPECT_EQ(servers.size(), 6U);
  EXPECT_FALSE(servers[5].clock_seconds_off.has_value()) << "an older version does not say it";
  EXPECT_TRUE(ToJson(servers[5]).at("clock_seconds_off").is_null());
}

TEST(ClusterTest, AServerOfAnotherGraphIsTold) {
  Json other = Stats("b:1", 2);
  other["identity"] = "aa";
  other["graph_name"] = "cora\x1b[1m";
  auto servers = Servers(Stats("a:1", 1), {Answer("b:1", other)});
  EXPECT_THAT(servers.at(1).error,
              HasSubstr("another graph, \"cora\\x1b[1m\" (identity aa): start it with the folder"));
  EXPECT_TRUE(servers.at(1).stats.is_object());
  // A server that opens does not know its graph yet.
  servers = Servers(Json{{"phase", "opening"}}, {Answer("b:1", other)});
  EXPECT_EQ(servers.at(0).address, "here:1");
  EXPECT_EQ(servers.at(1).error, "");
}

TEST(ClusterTest, AClockThatIsOffIsTold) {
  const auto servers = Servers(Stats("a:1", 1), {Answer("b:1", Stats("b:1", 2), 4990),
                                                 Answer("c:1", Stats("c:1", 3), 5003.5)});
  EXPECT_DOUBLE_EQ(servers.at(1).clock_seconds_off.value_or(0), 10);
  EXPECT_DOUBLE_EQ(servers.at(2).clock_seconds_off.value_or(0), -3.5);
  EXPECT_EQ(servers.at(2).round_trip_seconds, 0.5);
}

TEST(ClusterTest, WhatFailsSaysWhyAndWhatToDo) {
  PeerAnswer down{.address = "b:1", .error = Unavailable("Connection\x1b refused")};
  PeerAnswer broken{.address = "c:1", .reply = std::make_shared<const std::string>("{")};
  const auto servers = Servers(Internal("no memory"), {down, broken});
  ASSERT_EQ(servers.size(), 3U);
  EXPECT_EQ(servers[0].address, "here:1");
  EXPECT_EQ(servers[0].error, "its figures cannot be made: no memory");
  EXPECT_TRUE(servers[0].stats.is_null());
  EXPECT_EQ(servers[1].error,
            "nobody answers there (Connection\\x1b refused): start the server, or correct the "
            "address in --peers");
  EXPECT_TRUE(servers[1].stats.is_null());
  EXPECT_THAT(servers[2].error, HasSubstr("see its log"));
  EXPECT_THAT(WhyNoAnswer(WithReason(Unavailable("x"), kClosedAtOnce)), HasSubstr("refuses"));
  EXPECT_EQ(WhyNoAnswer(MakeStatus(absl::StatusCode::kUnauthenticated, "x")), "x");
  EXPECT_THAT(WhyNoAnswer(DeadlineExceeded("x")), HasSubstr("too slow"));
  EXPECT_THAT(WhyNoAnswer(ResourceExhausted("x")), HasSubstr("its own /status"));
  EXPECT_THAT(WhyNoAnswer(absl::UnimplementedError("x")), HasSubstr("no halograph-server"));
}

TEST(WithoutOwnTest, OwnAddressesAreNotAsked) {
  const std::vector<std::string> all = {"10.0.0.1:7000", "localhost:7000", "node7:7000",
                                        "[::1]:7000",    "node7:7001",     "node8:7000"};
  EXPECT_THAT(
      WithoutOwn(all, "10.0.0.1:7000", "", "node7"),
      ElementsAre("localhost:7000", "node7:7000", "[::1]:7000", "node7:7001", "node8:7000"));
  EXPECT_THAT(WithoutOwn(all, "0.0.0.0:7000", "", "node7"),
              ElementsAre("10.0.0.1:7000", "node7:7001", "node8:7000"));
  EXPECT_THAT(WithoutOwn(all, "127.0.0.1:7000", "node8", "node7"),
              ElementsAre("10.0.0.1:7000", "node7:7000", "node7:7001"));
  EXPECT_EQ(WithoutOwn(all, "0.0.0.0:0", "", "node7"), all);
  EXPECT_THAT(WithoutOwn({"node9:1"}, "0.0.0.0:0", "node9:1", "node7"), IsEmpty());
}

}  // namespace
}  // namespace halograph::server
