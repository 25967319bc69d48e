#include "server/runtime/client_table.h"

#include <gtest/gtest.h>

namespace halograph::server {
namespace {

using std::chrono::seconds;

TEST(ClientTableTest, AClientComesOnceAndLeavesAfterItsSilence) {
  ClientTable table;
  const auto start = ClientTable::Clock::now();
  EXPECT_TRUE(table.Begin("10.0.0.1", "0", start));
  EXPECT_FALSE(table.Begin("10.0.0.1", "0", start)) << "its second call";
  EXPECT_TRUE(table.Begin("10.0.0.1", "1", start)) << "another rank";
  table.End("10.0.0.1", "0", true, 100, start + seconds(1));
  table.End("10.0.0.1", "1", true, 1, start + seconds(1));
  EXPECT_EQ(table.size(), 2);
  const auto silent = start + seconds(1) + ClientTable::kSilence;
  auto left = table.TakeLeft(silent);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].rank, "1") << "the other one has a call in flight";
  table.End("10.0.0.1", "0", false, 20, start + seconds(3));
  EXPECT_TRUE(table.TakeLeft(silent).empty());
  left = table.TakeLeft(silent + seconds(2));
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].calls, 2);
  EXPECT_EQ(left[0].errors, 1);
  EXPECT_EQ(left[0].sent_bytes, 120);
  EXPECT_EQ(left[0].last - left[0].first, seconds(3));
  EXPECT_TRUE(table.Begin("10.0.0.1", "0", silent)) << "it comes again";
}

TEST(ClientTableTest, ItIsBounded) {
  ClientTable table;
  const auto now = ClientTable::Clock::now();
  for (size_t i = 0; i < ClientTable::kMost + 10; ++i) {
    EXPECT_EQ(table.Begin("host", std::to_string(i), now), i < ClientTable::kMost);
  }
  EXPECT_EQ(table.size(), static_cast<int64_t>(ClientTable::kMost));
  table.End("host", std::to_string(ClientTable::kMost), true, 1, now);
}

TEST(HostOfPeerTest, IsWithoutSchemeAndPort) {
  EXPECT_EQ(HostOfPeer("ipv4:127.0.0.1:7000"), "127.0.0.1");
  EXPECT_EQ(HostOfPeer("ipv6:%5B::1%5D:7000"), "[::1]");
  EXPECT_EQ(HostOfPeer("unix:"), "unix:");
  EXPECT_EQ(HostOfPeer("unknown"), "unknown");
}

}  // namespace
}  // namespace halograph::server
