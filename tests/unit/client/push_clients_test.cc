#include "client/push_clients.h"

#include <chrono>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
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

TEST(PushClientsTest, AGivenIdGoesOnAfterWhatWasGivenUp) {
  PushClients clients(2);
  ASSERT_TRUE(clients.AskForId(0)->Register(77, 5).ok());
  EXPECT_EQ(clients.AskForId(0), nullptr);
  EXPECT_NE(clients.AskForId(1), nullptr);
  const Numbers first = clients.Take(0, 5, {}).value();
  EXPECT_EQ(first.client, 77U);
  EXPECT_TRUE(first.registered);
  EXPECT_EQ(first.answered, 0U);
  const Numbers second = clients.Take(0, 2, {}).value();
  EXPECT_EQ(second.answered, 0U) << "the first are under way";
  clients.GiveUp(first);
  const Numbers third = clients.Take(0, 1, {}).value();
  EXPECT_EQ(third.client, 77U);
  EXPECT_EQ(third.first, 8U);
  EXPECT_EQ(third.answered, 5U);
  clients.Answered(second);
  clients.Answered(third);
  EXPECT_EQ(clients.Take(0, 1, {})->answered, 8U);
}

TEST(PushClientsTest, AForgottenClientBeginsAnewWithAnotherId) {
  PushClients clients(1);
  ASSERT_TRUE(clients.AskForId(0)->Register(77, 5).ok());
  const Numbers first = clients.Take(0, 5, {}).value();
  const Numbers beside = clients.Take(0, 1, {}).value();
  clients.Forgotten(first);
  ASSERT_TRUE(clients.AskForId(0)->Register(88, 6).ok());
  clients.Forgotten(beside);  // of the id before
  const Numbers second = clients.Take(0, 1, {}).value();
  EXPECT_EQ(second.client, 88U);
  EXPECT_EQ(second.first, 1U);
}

const TensorRef kEmb{false, "node", "emb"};
const TensorRef kOther{false, "node", "other"};

// Numbers of one push that was answered with this LSN.
Status PushOnce(PushClients& clients, int64_t lsn, const TensorRef& tensor = kEmb, int part = 0) {
  HG_ASSIGN_OR_RETURN(const Numbers numbers, clients.Take(part, 1, {}));
  HG_RETURN_IF_ERROR(clients.Acknowledge(numbers, tensor, lsn));
  clients.Answered(numbers);
  return OkStatus();
}

TEST(PushClientsTest, APartThatGivesAnLsnAgainHasLostPushes) {
  PushClients clients(2);
  ASSERT_TRUE(PushOnce(clients, 3).ok());
  ASSERT_TRUE(PushOnce(clients, 9).ok());
  ASSERT_TRUE(PushOnce(clients, 2, kEmb, 1).ok()) << "parts count for themselves";
  for (int times = 0; times < 3; ++times) {
    const Status lost = PushOnce(clients, 8 + times);
    EXPECT_TRUE(absl::IsDataLoss(lost)) << lost;
    EXPECT_THAT(
        Message(lost),
        testing::AllOf(testing::HasSubstr("part 0"), testing::HasSubstr("acknowledged LSN 9"),
                       testing::HasSubstr("LSN 8 after that"), testing::HasSubstr("snapshot")));
  }
  EXPECT_TRUE(PushOnce(clients, 3, kEmb, 1).ok());
  using Mark = std::vector<int64_t>;
  EXPECT_TRUE(clients.Check(Mark{7, 3}).ok()) << "it has that yet";
  EXPECT_TRUE(clients.Check(Mark{0, 3}).ok());
  EXPECT_TRUE(clients.Check(Mark{}).ok());
  EXPECT_TRUE(absl::IsDataLoss(clients.Check(Mark{8, 0})));
}

TEST(PushClientsTest, APartThatRegistersAtAnEarlierMomentHasLostPushes) {
  PushClients clients(1);
  const Numbers before = clients.Take(0, 1, {}).value();
  clients.Forgotten(before);
  const auto asking = clients.AskForId(0);
  EXPECT_TRUE(clients.Acknowledge(before, kEmb, 9).ok());
  EXPECT_TRUE(asking->Register(77, 9).ok()) << "asked before that was acknowledged";
  clients.Forgotten(clients.Take(0, 1, {}).value());
  const auto again = [&] { return PushClients::Asking(&clients, 0, 9).Register(77, 9); };
  EXPECT_TRUE(absl::IsDataLoss(again()));
  clients.ForgetAll();
  EXPECT_TRUE(again().ok());
}

// One id for all pushes that begin at a time.
TEST(PushClientsTest, ANumberWaitsWhileAnotherAsksForAnId) {
  PushClients clients(1);
  auto asking = clients.AskForId(0);
  EXPECT_EQ(clients.AskForId(0), nullptr);
  EXPECT_TRUE(absl::IsDeadlineExceeded(clients.Take(0, 1, Soon()).status()));
  std::thread answers([&] { EXPECT_TRUE(asking->Register(77, 5).ok()); });
  EXPECT_EQ(clients.Take(0, 1, {})->client, 77U);
  answers.join();
  asking.reset();
  EXPECT_EQ(clients.AskForId(0), nullptr);
}

TEST(PushClientsTest, AnIdIsDrawnWhereThePartGaveNone) {
  PushClients clients(1);
  auto asking = clients.AskForId(0);
  asking.reset();
  EXPECT_FALSE(clients.Take(0, 1, {})->registered);
}

TEST(PushClientsTest, AnswersMayComeInAnyOrder) {
  PushClients clients(1);
  const Numbers early = clients.Take(0, 2, {}).value();
  const Numbers late = clients.Take(0, 1, {}).value();
  EXPECT_TRUE(clients.Acknowledge(late, kEmb, 7).ok());
  EXPECT_TRUE(clients.Acknowledge(early, kEmb, 6).ok());
  EXPECT_TRUE(clients.Acknowledge(early, kEmb, 5).ok());
  EXPECT_TRUE(clients.Acknowledge(early, kEmb, 5).ok()) << "once more";
  EXPECT_TRUE(PushOnce(clients, 8).ok());
}

TEST(PushClientsTest, AnotherClientIdRemembersWhatWasAcknowledged) {
  PushClients clients(1);
  ASSERT_TRUE(PushOnce(clients, 9).ok());
  clients.GiveUp(clients.Take(0, 1, {}).value());
  EXPECT_TRUE(absl::IsDataLoss(PushOnce(clients, 9)));
}

TEST(PushClientsTest, WhatWasDroppedOrReplacedIsNotMissed) {
  PushClients clients(1);
  ASSERT_TRUE(PushOnce(clients, 5, kOther).ok());
  ASSERT_TRUE(PushOnce(clients, 9).ok());
  clients.Forget(kEmb);
  EXPECT_TRUE(absl::IsDataLoss(PushOnce(clients, 5))) << "the other tensor's is gone too";
  clients.Forget(kOther);
  EXPECT_TRUE(PushOnce(clients, 1).ok());
  EXPECT_TRUE(PushOnce(clients, 2).ok());
  EXPECT_TRUE(absl::IsDataLoss(PushOnce(clients, 1)));
  clients.ForgetAll();
  EXPECT_TRUE(PushOnce(clients, 2).ok());
  EXPECT_TRUE(PushOnce(clients, 3).ok());
  // Under way meanwhile.
  const Numbers before = clients.Take(0, 1, {}).value();
  clients.ForgetAll();
  EXPECT_TRUE(clients.Acknowledge(before, kEmb, 1).ok());
}

}  // namespace
}  // namespace halograph
