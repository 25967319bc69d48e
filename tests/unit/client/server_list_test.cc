#include "client/server_list.h"

#include <fstream>
#include <map>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SocketAddress Number(const std::string& number) {
  SocketAddress address;
  address.number = number;
  address.bytes.ss_family = number.find(':') == std::string::npos ? AF_INET : AF_INET6;
  return address;
}

class ServerListTest : public testing::Test {
 protected:
  [[nodiscard]] ServerList List(std::vector<std::string> words) const {
    return ServerList(std::move(words), [this](const HostPort& host) {
      const auto found = names_.find(host.host);
      if (found == names_.end()) return StatusOr<HostAddresses>(NotFound("{}: ?", host.host));
      return StatusOr<HostAddresses>(found->second);
    });
  }
  [[nodiscard]] StatusOr<std::vector<ServerPlace>> Find(std::vector<std::string> words) const {
    return List(std::move(words)).Find(std::chrono::steady_clock::now() + std::chrono::minutes(1));
  }
  [[nodiscard]] StatusOr<std::vector<ServerPlace>> FindNumbers(
      std::vector<std::string> words) const {
    return List(std::move(words))
        .FindNumbers(std::chrono::steady_clock::now() + std::chrono::minutes(1));
  }
  [[nodiscard]] std::string Write(const std::string& text) const {
    const std::filesystem::path path = folder_.path() / "servers";
    std::ofstream(path) << text;
    return "@" + path.string();
  }

  TestFolder folder_;
  std::map<std::string, HostAddresses> names_;
};

std::vector<std::string> AddressesOf(const StatusOr<std::vector<ServerPlace>>& places) {
  std::vector<std::string> addresses;
  for (const ServerPlace& place : places.value()) addresses.push_back(place.address);
  return addresses;
}

TEST_F(ServerListTest, NumbersAreTheirOwnPlaces) {
  EXPECT_THAT(AddressesOf(Find({"10.0.0.1:7000", "[::1]:7001"})),
              ElementsAre("10.0.0.1:7000", "[::1]:7001"));
  EXPECT_FALSE(ServerList({"10.0.0.1:7000", "[::1]:7001"}).may_change());
}

TEST_F(ServerListTest, ANameWithSeveralAddressesIsAsManyServersOfOneFamily) {
  names_["graph"] = {Number("10.0.0.1"), Number("10.0.0.2"), Number("fd00::1"), Number("10.0.0.1")};
  const auto places = Find({"graph:7000"});
  EXPECT_THAT(AddressesOf(places), ElementsAre("10.0.0.1:7000", "10.0.0.2:7000"));
  EXPECT_EQ((*places)[1].name, "graph:7000");
  EXPECT_TRUE(ServerList({"graph:7000"}).may_change());
}

TEST_F(ServerListTest, ANameWithOneAddressOfAFamilyStaysAName) {
  names_["localhost"] = {Number("::1"), Number("127.0.0.1")};
  EXPECT_THAT(AddressesOf(Find({"localhost:7000"})), ElementsAre("localhost:7000"));
}

// It may have one soon; the others are there.
TEST_F(ServerListTest, ANameWithoutAnAddressStaysAName) {
  names_["graph"] = {Number("10.0.0.1")};
  EXPECT_THAT(AddressesOf(Find({"nowhere:7000", "graph:7000"})),
              ElementsAre("nowhere:7000", "graph:7000"));
  EXPECT_THAT(AddressesOf(FindNumbers({"nowhere:7000", "graph:7000"})),
              ElementsAre("10.0.0.1:7000"));
}

TEST_F(ServerListTest, AFileHasALineAServerAndCommas) {
  names_["graph"] = {Number("10.0.0.1"), Number("10.0.0.2")};
  const std::string file =
      Write("# made by a job\n10.0.0.9:7000, 10.0.0.8:7000\n\n graph:7000 # x\r\n");
  EXPECT_THAT(AddressesOf(Find({file, "10.0.0.8:7000"})),
              ElementsAre("10.0.0.9:7000", "10.0.0.8:7000", "10.0.0.1:7000", "10.0.0.2:7000"));
  EXPECT_TRUE(ServerList({file}).may_change());
}

TEST_F(ServerListTest, WhatIsWrongIsNamed) {
  EXPECT_TRUE(absl::IsNotFound(Find({"@/no/such/file"}).status()));
  const Status line = Find({Write("10.0.0.1:7000\n10.0.0.2\n")}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(line));
  EXPECT_THAT(Message(line), HasSubstr("servers:2: "));
  EXPECT_THAT(Message(Find({Write("# none\n")}).status()), HasSubstr("names no server"));
  // Two addresses without a line end between, as `cat` makes them of address files.
  EXPECT_TRUE(absl::IsInvalidArgument(Find({Write("10.0.0.1:700010.0.0.2:7000")}).status()));
}

TEST_F(ServerListTest, WordsAreAddressesOrFiles) {
  const auto words = ReadServerWords({" ::1:7000", "@servers ", "host:1"});
  ASSERT_TRUE(words.ok()) << ToString(words.status());
  EXPECT_THAT(*words, ElementsAre("[::1]:7000", "@servers", "host:1"));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadServerWords({"@"}).status()));
  EXPECT_THAT(Message(ReadServerWords({"@a", "@a"}).status()), HasSubstr("twice"));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadServerWords({"host"}).status()));
}

}  // namespace
}  // namespace halograph
