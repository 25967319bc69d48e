#include "server/runtime/client_table.h"

#include <gtest/gtest.h>

#include "server/runtime/slow_calls.h"

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

TEST(ClientTableTest, TheLatestAreThoseWhoCalledLast) {
  ClientTable table;
  const auto start = ClientTable::Clock::now();
  for (const int rank : {0, 1, 2}) {
    EXPECT_TRUE(table.Begin("host", std::to_string(rank), start + seconds(rank)));
  }
  table.End("host", "0", true, 7, start + seconds(9));
  const auto latest = table.Latest(2);
  ASSERT_EQ(latest.size(), 2U);
  EXPECT_EQ(latest[0].rank, "0");
  EXPECT_EQ(latest[0].sent_bytes, 7);
  EXPECT_EQ(latest[1].rank, "2");
  EXPECT_EQ(table.size(), 3) << "they stay";
}

TEST(SlowCallsTest, TheNewestAreKeptAndAllAreCounted) {
  SlowCalls calls;
  EXPECT_TRUE(calls.Take().empty());
  for (size_t i = 0; i < SlowCalls::kMost + 3; ++i) calls.Add({.request_id = std::to_string(i)});
  const auto kept = calls.Take();
  ASSERT_EQ(kept.size(), SlowCalls::kMost);
  EXPECT_EQ(kept.front().request_id, std::to_string(SlowCalls::kMost + 2));
  EXPECT_EQ(kept.back().request_id, "3");
  EXPECT_EQ(calls.count(), static_cast<int64_t>(SlowCalls::kMost + 3));
}

TEST(HostOfPeerTest, IsWithoutSchemeAndPort) {
  EXPECT_EQ(HostOfPeer("ipv4:127.0.0.1:7000"), "127.0.0.1");
  EXPECT_EQ(HostOfPeer("ipv6:%5B::1%5D:7000"), "[::1]");
  EXPECT_EQ(HostOfPeer("unix:"), "unix:");
  EXPECT_EQ(HostOfPeer("unknown"), "unknown");
}

}  // namespace
}  // namespace halograph::server
