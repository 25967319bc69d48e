// Clients that were registered: what they push is applied once, and never acknowledged without,
// however long they were silent and whoever else pushes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/store_fixture.h"
#include "tests/unit/state_engine/watched_env.h"

namespace halograph {
namespace {

using testing::HasSubstr;

constexpr int64_t kDay = 24 * 3600;

class RegisteredClientTest : public StoreTest {
 protected:
  RegisteredClientTest() {
    auto env = std::make_unique<WatchedEnv>();
    watched_ = env.get();
    env_ = std::move(env);
  }

  int64_t MustRegister(uint64_t client) {
    const StatusOr<int64_t> lsn = store_->RegisterClient(client, {});
    EXPECT_TRUE(lsn.ok()) << ToString(lsn.status());
    return lsn.value_or(-1);
  }
  // Push `sequence`, which says that all before the window's are answered.
  static TestPush Push(uint64_t client, uint64_t sequence) {
    TestPush push = RandomPush(client, sequence, 3);
    push.registered = true;
    push.answered = sequence > kPushWindow ? sequence - kPushWindow : 0;
    return push;
  }
  [[nodiscard]] Status RefusalOf(const TestPush& push) {
    return store_->Push(push.request(), {}).status();
  }
  void ExpectTooOld(const TestPush& push) {
    const Status refused = RefusalOf(push);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << ToString(refused);
    EXPECT_EQ(ReasonOf(refused), kTooOldToTell) << ToString(refused);
  }
  void Checkpoint() {
    const Status written = store_->Checkpoint({});
    EXPECT_TRUE(written.ok()) << ToString(written);
  }

  WatchedEnv* watched_;
};

TEST_F(RegisteredClientTest, APushOfOneThatIsNotInTheTableIsNeitherAppliedNorAcknowledged) {
  OpenWith(Embedding());
  for (const uint64_t sequence : {1, 2, 64, 65, 200}) ExpectTooOld(Push(5, sequence));
  MustPush(RandomPush(5, 1, 3));  // a drawn id is another one
  ExpectTooOld(Push(5, 1));
  EXPECT_EQ(PullAll(), Expected({{RandomPush(5, 1, 3)}}));
}

TEST_F(RegisteredClientTest, EveryPushHasALargerLsnThanTheRegistration) {
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  const int64_t lsn = MustRegister(5);
  EXPECT_EQ(lsn, 2);
  EXPECT_EQ(store_->stats().synced_lsn, lsn) << "durable, whatever the level";
  EXPECT_EQ(MustPush(Push(5, 1)).lsn, 3);
  EXPECT_TRUE(absl::IsAlreadyExists(store_->RegisterClient(5, {}).status()));
}

TEST_F(RegisteredClientTest, OthersThatDrawTheirIdsDoNotMakeItForgotten) {
  options_.max_clients = 3;
  OpenWith(Embedding());
  MustRegister(5);
  std::vector<TestPush> all = {Push(5, 1), Push(5, 2)};
  for (const TestPush& push : all) MustPush(push);
  for (uint64_t other = 10; other < 20; ++other) {
    all.push_back(RandomPush(other, 1, 2));
    MustPush(all.back());
  }
  for (int restarts = 0; restarts < 3; ++restarts) {
    EXPECT_TRUE(MustPush(Push(5, 1)).repeated);
    EXPECT_EQ(MustPush(Push(5, 2)).lsn, 3);
    if (restarts == 1) Checkpoint();
    MustOpen();
  }
  std::vector<std::vector<TestPush>> steps;
  for (const TestPush& push : all) steps.push_back({push});
  EXPECT_EQ(PullAll(), Expected(steps));
}

TEST_F(RegisteredClientTest, NumbersThatItSaysAreAnsweredAreRefusedAndNotAcknowledged) {
  OpenWith(Embedding());
  MustRegister(5);
  MustPush(Push(5, 1));
  TestPush third = Push(5, 3);
  third.answered = 2;  // 2 was given up
  MustPush(third);
  for (int restarts = 0; restarts < 3; ++restarts) {
    ExpectTooOld(Push(5, 1));
    ExpectTooOld(Push(5, 2));
    EXPECT_TRUE(MustPush(third).repeated);
    if (restarts == 1) Checkpoint();
    MustOpen();
  }
  EXPECT_EQ(PullAll(), Expected({{Push(5, 1)}, {third}}));
}

TEST_F(RegisteredClientTest, TheWindowSlidesOverAnsweredNumbersOnly) {
  OpenWith(Embedding());
  MustRegister(5);
  TestPush ahead = Push(5, kPushWindow + 1);
  ahead.answered = 0;
  EXPECT_TRUE(absl::IsResourceExhausted(RefusalOf(ahead)));
  TestPush last = Push(5, kPushWindow);
  MustPush(last);  // before all others
  EXPECT_TRUE(absl::IsResourceExhausted(RefusalOf(ahead)));
  ahead.answered = 1;
  EXPECT_FALSE(MustPush(ahead).repeated);
  EXPECT_FALSE(MustPush(Push(5, 2)).repeated) << "it was not applied before";
  ExpectTooOld(Push(5, 1));
  TestPush itself = Push(5, 70);
  itself.answered = 70;
  EXPECT_TRUE(absl::IsInvalidArgument(RefusalOf(itself)));
}

TEST_F(RegisteredClientTest, ASecondProcessWithTheIdIsNotAcknowledged) {
  OpenWith(Embedding());
  MustRegister(5);
  std::vector<std::vector<TestPush>> steps;
  for (uint64_t sequence = 1; sequence <= 200; ++sequence) {
    steps.push_back({Push(5, sequence)});
    MustPush(steps.back().front());
  }
  for (uint64_t sequence = 1; sequence <= 200; ++sequence) {
    TestPush other = Push(6, sequence);
    other.client = 5;
    EXPECT_TRUE(absl::IsFailedPrecondition(RefusalOf(other))) << sequence;
  }
  EXPECT_EQ(PullAll(), Expected(steps));
}

TEST_F(RegisteredClientTest, ItLeavesForAnotherOneAfterItsAgeAndManyPushesOnly) {
  options_.max_registered_clients = 2;
  options_.client_age_s = 7 * kDay;
  options_.client_pushes = 10;
  OpenWith(Embedding());
  MustRegister(5);
  MustRegister(6);
  MustPush(Push(5, 1));
  MustPush(Push(6, 1));
  const auto full = [&](uint64_t client) {
    const Status refused = store_->RegisterClient(client, {}).status();
    EXPECT_TRUE(absl::IsResourceExhausted(refused)) << ToString(refused);
    EXPECT_THAT(Message(refused), HasSubstr("--state-clients"));
  };
  full(7);
  watched_->AddWallSeconds(8 * kDay);
  full(7);  // too few pushes
  for (uint64_t sequence = 2; sequence <= 12; ++sequence) MustPush(Push(6, sequence));
  EXPECT_TRUE(MustPush(Push(5, 1)).repeated) << "it was forgotten before it had to leave";
  MustRegister(7);
  for (int restarts = 0; restarts < 3; ++restarts) {
    ExpectTooOld(Push(5, 1));
    EXPECT_TRUE(MustPush(Push(6, 12)).repeated);
    EXPECT_EQ(store_->stats().registered_clients, 2);
    if (restarts == 1) Checkpoint();
    MustOpen();
  }
  full(8);  // 6 has pushed today
  MustPush(Push(7, 1));
}

// Who leaves stands in the log: another bound at the next start changes nothing of the past.
TEST_F(RegisteredClientTest, AReplayFollowsTheLogAndNotTheOptions) {
  OpenWith(Embedding());
  for (uint64_t client = 1; client <= 5; ++client) MustRegister(client);
  options_.max_registered_clients = 2;
  options_.client_age_s = 0;
  options_.client_pushes = 0;
  MustOpen();
  EXPECT_EQ(store_->stats().registered_clients, 5);
  for (uint64_t client = 1; client <= 5; ++client) MustPush(Push(client, 1));
}

TEST_F(RegisteredClientTest, ADrawnIdsNumberBelowTheWindowIsNotAcknowledged) {
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  MustPush(RandomPush(1, kPushWindow + 1));
  ExpectTooOld(RandomPush(1, 1));
}

}  // namespace
}  // namespace halograph
