// Servers that show each other (--peers): two that serve, one that is down, one that listens and
// answers nobody.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "common/base/host_port.h"
#include "common/http/http_server.h"
#include "common/storage/file.h"
#include "common/storage/json.h"
#include "tests/integration/server/server_fixture.h"
#include "tests/support/free_port.h"
#include "tests/support/raw_http_client.h"

namespace halograph::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class PeersServerTest : public ServerTest {
 protected:
  // A server of one part, with a list that has all of `peers` and itself.
  std::unique_ptr<Server> StartOne(const std::string& listen, int part,
                                   const std::vector<std::string>& peers) {
    ServerOptions options = Options();
    options.parts = {part};
    options.listen = listen;
    options.peers = peers;
    options.http.listen = "127.0.0.1:0";
    options.http.address_file = files_.path() / listen;
    StatusOr<std::unique_ptr<Server>> server = Server::Start(options);
    EXPECT_TRUE(server.ok()) << server.status();
    return server.ok() ? *std::move(server) : nullptr;
  }
  [[nodiscard]] std::string Page(const std::string& listen, const std::string& target) const {
    return halograph::Get(ReadTextFile(files_.path() / listen).value_or("?"), target, "").body;
  }
  // Looks again until the page at `target` has `text`: a slow machine may need several looks of a
  // second.
  void ExpectOnPage(const std::string& listen, const std::string& target,
                    const std::string& text) const {
    while (Page(listen, target).find(text) == std::string::npos) continue;
  }
  // The same, until the first `count` servers have figures.
  [[nodiscard]] Json ClusterOf(const std::string& listen, size_t count) const {
    while (true) {
      Json cluster = Cluster(listen);
      const Json& servers = cluster.at("servers");
      if (std::all_of(servers.begin(), servers.begin() + static_cast<std::ptrdiff_t>(count),
                      [](const Json& server) { return server.at("stats").is_object(); })) {
        return cluster;
      }
    }
  }
  [[nodiscard]] Json Cluster(const std::string& listen) const {
    Json cluster = Json::parse(Page(listen, "/status?cluster"), nullptr, false);
    EXPECT_TRUE(cluster.is_object());
    return cluster;
  }

  TestFolder files_;
};

std::vector<std::string> AddressesOf(const Json& cluster) {
  std::vector<std::string> addresses;
  for (const Json& server : cluster.at("servers")) addresses.push_back(server.at("address"));
  return addresses;
}

TEST_F(PeersServerTest, EachShowsAllAndWhoIsDown) {
  std::vector<std::string> all;
  for (int i = 0; i < 3; ++i) all.push_back(ToString({"127.0.0.1", FreePort()}));
  const std::string &a = all[0], &b = all[1], &down = all[2];
  // The same server by another name, too.
  all.push_back("localhost:" + std::to_string(ParseHostPort(b)->port));
  const auto first = StartOne(a, 0, all);
  auto second = StartOne(b, 1, all);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  const Json cluster = ClusterOf(a, 2);
  EXPECT_THAT(AddressesOf(cluster), ElementsAre(a, b, down));
  EXPECT_EQ(cluster.at("why_alone"), "");
  const Json& servers = cluster.at("servers");
  EXPECT_EQ(servers[0].at("self"), true);
  EXPECT_EQ(servers[1].at("self"), false);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(servers[i].at("error"), "") << i;
    EXPECT_EQ(servers[i].at("stats").at("parts"), Json::array({i}));
    EXPECT_FALSE(servers[i].at("stats").at("metrics").empty()) << i;
  }
  EXPECT_LT(std::abs(servers[1].at("clock_seconds_off").get<double>()),
            0.001 + servers[1].at("round_trip_seconds").get<double>());
  EXPECT_TRUE(servers[2].at("stats").is_null());
  EXPECT_THAT(AddressesOf(ClusterOf(b, 2)), ElementsAre(b, a, down));
  ExpectOnPage(a, "/status?cluster", "nobody answers there");
  ExpectOnPage(a, "/ui", down + " gives no figures: nobody answers there");
  EXPECT_THAT(Page(a, "/ui"), HasSubstr(b));

  second.reset();
  Json gone = Json::object();
  while (gone.value("error", "").empty()) gone = Cluster(a).at("servers").at(1);
  EXPECT_EQ(gone.at("address"), b);
  EXPECT_TRUE(gone.at("stats").is_null());
  second = StartOne(b, 1, all);
  ASSERT_NE(second, nullptr);
  while (!gone.value("error", "").empty()) gone = Cluster(a).at("servers").at(1);
  EXPECT_EQ(gone.at("stats").at("parts"), Json::array({1})) << "it is back";
}

TEST_F(PeersServerTest, OneThatNeverAnswersIsNamedAndTheOthersAreShown) {
  const int silent = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(any);
  ASSERT_EQ(bind(silent, reinterpret_cast<sockaddr*>(&any), sizeof(any)), 0);
  ASSERT_EQ(listen(silent, 16), 0);
  ASSERT_EQ(getsockname(silent, reinterpret_cast<sockaddr*>(&any), &size), 0);
  const std::string quiet = ToString({"127.0.0.1", ntohs(any.sin_port)});
  const std::string a = ToString({"127.0.0.1", FreePort()});
  const std::string b = ToString({"127.0.0.1", FreePort()});
  const auto first = StartOne(a, 0, {quiet, b});
  const auto second = StartOne(b, 1, {a});
  ASSERT_TRUE(first != nullptr && second != nullptr);
  Json servers;
  while (servers.empty() || !servers[2].at("stats").is_object()) servers = Cluster(a).at("servers");
  EXPECT_THAT(servers[1].at("error").get<std::string>(), HasSubstr("it is too slow"));
  EXPECT_EQ(servers[2].at("error"), "");
  EXPECT_EQ(servers[2].at("stats").at("address"), b);
  close(silent);
}

TEST_F(PeersServerTest, WithoutPeersItSaysHowToSeeAll) {
  const std::string a = ToString({"127.0.0.1", FreePort()});
  const auto server = StartOne(a, 0, {});
  ASSERT_NE(server, nullptr);
  const Json cluster = Cluster(a);
  EXPECT_THAT(AddressesOf(cluster), ElementsAre(a));
  EXPECT_THAT(cluster.at("why_alone").get<std::string>(), HasSubstr("start it with --peers"));
  EXPECT_THAT(Page(a, "/ui"), Not(HasSubstr("Nobody serves")));
}

}  // namespace
}  // namespace halograph::server
