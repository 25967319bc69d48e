#include "client/push_clients.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace halograph {
namespace {

using Numbers = PushClients::Numbers;

WorkLimits Soon() {
  return {.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20)};
}

TEST(PushClientsTest, CountsFromOneForEachPartition) {
  PushClients clients(2);
  const Numbers first = clients.Take(0, 3, {}).value();
  const Numbers second = clients.Take(0, 1, {}).value();
  const Numbers other = clients.Take(1, 1, {}).value();
  EXPECT_EQ(first.first, 1U);
  EXPECT_EQ(second.first, 4U);
  EXPECT_EQ(other.first, 1U);
  EXPECT_NE(first.client, 0U);
  EXPECT_EQ(first.client, second.client);
}

TEST(PushClientsTest, IdsAreDrawnByChance) {
  PushClients one(1);
  PushClients other(1);
  EXPECT_NE(one.Take(0, 1, {})->client, other.Take(0, 1, {})->client);
}

TEST(PushClientsTest, ANumberWaitsForWhatIsKPushWindowBeforeIt) {
  PushClients clients(1);
  const Numbers first = clients.Take(0, 1, {}).value();
  const Numbers rest = clients.Take(0, kPushWindow - 1, {}).value();
  clients.Answered(rest);  // not the first
  EXPECT_TRUE(absl::IsDeadlineExceeded(clients.Take(0, 1, Soon()).status()));
  std::thread answers([&] { clients.Answered(first); });
  EXPECT_EQ(clients.Take(0, 1, {})->first, uint64_t{kPushWindow} + 1);
  answers.join();
}

TEST(PushClientsTest, ACancelledWaitEnds) {
  PushClients clients(1);
  ASSERT_TRUE(clients.Take(0, kPushWindow, {}).ok());
  CancelToken token;
  std::thread cancels([&] { token.Cancel(); });
  EXPECT_TRUE(absl::IsCancelled(clients.Take(0, 1, {.cancel = &token}).status()));
  cancels.join();
}

TEST(PushClientsTest, WhatWasGivenUpMakesAnotherClient) {
  PushClients clients(2);
  const Numbers other = clients.Take(1, 1, {}).value();
  const Numbers first = clients.Take(0, 5, {}).value();
  clients.GiveUp(first);
  const Numbers second = clients.Take(0, 1, {}).value();
  EXPECT_NE(second.client, first.client);
  EXPECT_EQ(second.first, 1U);
  clients.Answered(first);  // late, of the client before
  clients.GiveUp(first);
  EXPECT_EQ(clients.Take(0, 1, {})->client, second.client);
  EXPECT_EQ(clients.Take(1, 1, {})->client, other.client);
}

}  // namespace
}  // namespace halograph
