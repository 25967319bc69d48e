// What a store refuses, and that nothing happened then.
#include <limits>

#include <fmt/format.h>

#include "common/state/engine/log/record.h"
#include "common/state/import_mark.h"
#include "tests/support/store_fixture.h"

namespace halograph {
namespace {

using testing::HasSubstr;

class StoreRefusalTest : public StoreTest {
 protected:
  [[nodiscard]] Status Refusal(const TestPush& push) {
    return store_->Push(push.request(), {}).status();
  }
};

TEST_F(StoreRefusalTest, NanIsInvalidArgumentAndNamesTheId) {
  OpenWith(Embedding());
  TestPush push = RandomPush(1, 1);
  push.ids[7] = 123;
  push.values[7 * kDim + 2] = NAN;
  const Status refused = Refusal(push);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << ToString(refused);
  EXPECT_THAT(Message(refused), HasSubstr("id 123, at position 7"));
  EXPECT_EQ(PullAll(), Expected({}));
  const TestPush next = RandomPush(1, 1);  // its number is free
  EXPECT_EQ(MustPush(next).lsn, 1);
  EXPECT_EQ(PullAll(1), Expected({{next}}));
}

TEST_F(StoreRefusalTest, IdOfAnotherPartIsOutOfRangeForPushAndPull) {
  OpenWith(Embedding());
  TestPush push = RandomPush(1, 1);
  push.ids[3] = kOwnedNodes;
  EXPECT_TRUE(absl::IsOutOfRange(Refusal(push)));
  push.ids[3] = -1;
  EXPECT_TRUE(absl::IsOutOfRange(Refusal(push)));
  float row[kDim];
  const int64_t id = kOwnedNodes;
  EXPECT_TRUE(absl::IsOutOfRange(store_->Pull({false, "node", "emb"}, {&id, 1}, {}, 0,
                                              reinterpret_cast<std::byte*>(row), {})));
}

TEST_F(StoreRefusalTest, UnknownTensorIsNotFoundAndNamesThoseThatExist) {
  OpenWith(Embedding());
  TestPush push = RandomPush(1, 1);
  push.tensor = "other";
  const Status refused = Refusal(push);
  EXPECT_TRUE(absl::IsNotFound(refused));
  EXPECT_THAT(Message(refused), HasSubstr("emb"));
}

TEST_F(StoreRefusalTest, TensorsBeyondTheBoundAreRefusedNamingTheOption) {
  options_.max_tensors = 2;
  OpenWith(Embedding());
  ASSERT_TRUE(store_->Create(Embedding("second")).ok());
  const Status refused = store_->Create(Embedding("third"));
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << ToString(refused);
  EXPECT_THAT(Message(refused), HasSubstr("part 0 has 2 mutable tensors"));
  EXPECT_THAT(Message(refused), HasSubstr("beyond 2 (--state-tensors)"));
  EXPECT_TRUE(store_->Create(Embedding("second")).ok()) << "it is there";
  // Marks of imports have a bound of their own: what is full can be imported.
  EXPECT_TRUE(store_->Create(ImportMarkSpec(Embedding().ref, 2)).ok());
  EXPECT_TRUE(store_->Create(ImportMarkSpec(Embedding("second").ref, 2)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(store_->Create(ImportMarkSpec(Embedding("x").ref, 2))));
  ASSERT_TRUE(store_->Drop(Embedding("second").ref).ok());
  EXPECT_TRUE(store_->Create(Embedding("third")).ok());
  // A folder that has more opens as it is.
  options_.max_tensors = 1;
  MustOpen();
  EXPECT_EQ(store_->stats().tensors.size(), 4U);
  EXPECT_EQ(PullAll(0, "third"), Expected({}, Embedding("third")));
  EXPECT_TRUE(absl::IsResourceExhausted(store_->Create(Embedding("second"))));
}

TEST_F(StoreRefusalTest, SnapshotsBeyondTheBoundAreRefusedNamingTheOption) {
  options_.max_snapshots = 2;
  OpenWith(Embedding());
  ASSERT_TRUE(store_->Snapshot("a", {}, {}).ok());
  ASSERT_TRUE(store_->Snapshot("b", {}, {}).ok());
  const Status refused = store_->Snapshot("c", {}, {}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << ToString(refused);
  EXPECT_THAT(Message(refused), HasSubstr("part 0 has 2 snapshots"));
  EXPECT_THAT(Message(refused), HasSubstr("beyond 2 (--state-snapshots)"));
  ASSERT_TRUE(store_->DeleteSnapshot("a").ok());
  EXPECT_TRUE(store_->Snapshot("c", {}, {}).ok());
  options_.max_snapshots = 1;
  MustOpen();
  EXPECT_EQ(store_->Snapshots().size(), 2U);
  EXPECT_TRUE(absl::IsResourceExhausted(store_->Snapshot("d", {}, {}).status()));
  EXPECT_TRUE(store_->RestoreSnapshot("b").ok());
}

TEST_F(StoreRefusalTest, ValuesOfAnotherShapeAreInvalidArgument) {
  OpenWith(Embedding());
  TestPush push = RandomPush(1, 1);
  push.values.pop_back();
  EXPECT_TRUE(absl::IsInvalidArgument(Refusal(push)));
}

TEST_F(StoreRefusalTest, PushAboveTheLargestSizeIsResourceExhausted) {
  options_.max_push_bytes = 1000;
  OpenWith(Embedding());
  EXPECT_TRUE(absl::IsResourceExhausted(Refusal(RandomPush(1, 1, 100))));
}

TEST_F(StoreRefusalTest, StepsDoNotGoBack) {
  OpenWith(Embedding());
  MustPush(StepPush(4, 0, 1));
  EXPECT_EQ(Refusal(StepPush(3, 0, 1)).code(), absl::StatusCode::kFailedPrecondition);
  TestPush same = StepPush(4, 0, 1);
  same.sequence = 40;
  EXPECT_EQ(Refusal(same).code(), absl::StatusCode::kFailedPrecondition);
  TestPush other_run = StepPush(4, 0, 1, 10);
  EXPECT_EQ(Refusal(other_run).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(PullAll(1), Expected({{StepPush(4, 0, 1)}}));
}

TEST_F(StoreRefusalTest, StepBeyondTheLargestIsInvalidArgument) {
  OpenWith(Embedding());
  TestPush push = StepPush(0, 0, 1);
  push.step->step = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(absl::IsInvalidArgument(Refusal(push)));
  MustPush(StepPush(0, 0, 1));
}

TEST_F(StoreRefusalTest, StepsEndAt2To53AndNoRunBeginsFarAboveTheLast) {
  OpenWith(Embedding());
  TestPush push = StepPush(0, 0, 1);
  push.step->step = (int64_t{1} << 53) + 1;
  EXPECT_THAT(Message(Refusal(push)), HasSubstr("steps count from 0 to 9007199254740992"));
  push.step->step = (int64_t{1} << 32) + 1;
  const Status far = Refusal(push);
  EXPECT_TRUE(absl::IsInvalidArgument(far)) << ToString(far);
  EXPECT_THAT(Message(far), HasSubstr("more than 4294967296 above the last one applied, -1"));
  push.step->step = int64_t{1} << 31;
  MustPush(push);
  push.sequence = 2;
  push.step->run = 10;
  push.step->step += (int64_t{1} << 32) + 1;
  EXPECT_TRUE(absl::IsInvalidArgument(Refusal(push)));
  --push.step->step;
  MustPush(push);
}

TEST_F(StoreRefusalTest, ARunThatWasFollowedByThousandsIsRefusedYet) {
  options_.sync = SyncLevel::kNever;
  OpenWith(Embedding());
  TestPush push = StepPush(0, 0, 1, 1);
  push.ids.clear();
  push.values.clear();
  constexpr uint64_t kRuns = 2000;
  for (uint64_t run = 1; run <= kRuns; ++run) {
    push.sequence = run;
    push.step->run = run;
    push.step->step = static_cast<int64_t>(run);
    MustPush(push);
  }
  const auto refused = [&](uint64_t run) {
    TestPush late = push;
    late.sequence = kRuns + 1;
    late.step->run = run;
    ++late.step->step;
    return Refusal(late);
  };
  EXPECT_THAT(Message(refused(1)), HasSubstr("is over"));
  ASSERT_TRUE(store_->Checkpoint().ok());
  MustOpen();
  EXPECT_THAT(Message(refused(1)), HasSubstr("is over"));
  EXPECT_THAT(Message(refused(kRuns - 20)), HasSubstr("is over"));
}

TEST_F(StoreRefusalTest, OptionThatMustBePositiveIsInvalidArgumentAndNamed) {
  options_.max_clients = 0;
  const Status refused = Open();
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(Message(refused), HasSubstr("max_clients"));
}

TEST_F(StoreRefusalTest, WorldSizesOfARunThatDifferAreFailedPrecondition) {
  OpenWith(Embedding());
  MustPush(StepPush(0, 0, 2));
  EXPECT_EQ(Refusal(StepPush(0, 1, 3)).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(StoreRefusalTest, StepFarAheadIsResourceExhaustedAndNamesTheMissingRank) {
  OpenWith(Embedding());
  MustPush(StepPush(0, 0, 2));
  TestPush ahead = StepPush(kPushWindow + 1, 0, 2);
  ahead.sequence = 2;
  const Status refused = Refusal(ahead);
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << ToString(refused);
  EXPECT_THAT(Message(refused), HasSubstr("rank 1"));
}

// A push is 40 ids, twice, and 40 rows of 4 floats.
constexpr int64_t kCopy = LogRecord::kHeldBytes + 40 * (8 + 8 + 16);

TEST_F(StoreRefusalTest, LaterStepsThatDoNotFitIntoMemoryWaitOutside) {
  options_.max_waiting_bytes = kCopy;
  OpenWith(Embedding());
  MustPush(StepPush(0, 0, 2));
  const Status refused = Refusal(StepPush(1, 0, 2));
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << ToString(refused);
  EXPECT_THAT(Message(refused), HasSubstr("step 0 waits for the push of rank 1 (world size 2)"));
  EXPECT_THAT(Message(refused), HasSubstr("--state-waiting"));
  MustPush(StepPush(0, 1, 2));  // it completes the step: it needs no copy
  EXPECT_EQ(MustPush(StepPush(1, 0, 2)).lsn, 3) << "what was refused is not in the log";
}

TEST_F(StoreRefusalTest, RunThatBeginsIsToldOfOthersOnlyWhereStepsOfOthersWait) {
  options_.max_waiting_bytes = 2 * kCopy;
  OpenWith(Embedding());
  ASSERT_TRUE(store_->Create(Embedding("other")).ok());
  MustPush(StepPush(0, 0, 2));  // of the run before
  TestPush large = RandomPush(1, 1, 400);
  large.step = SyncStep{0, 0, 2, 10};
  EXPECT_THAT(Message(Refusal(large)),
              testing::AllOf(HasSubstr("even alone"), testing::Not(HasSubstr("of other tensors"))));
  TestPush of_other = StepPush(0, 0, 2, 11);
  of_other.tensor = "other";
  MustPush(of_other);
  EXPECT_THAT(Message(Refusal(large)),
              testing::AllOf(HasSubstr("even alone"), HasSubstr("of other tensors")));
}

TEST_F(StoreRefusalTest, StepThatIsDueIsBoundedAndOneThatDoesNotFitAloneSaysSo) {
  options_.max_waiting_bytes = 2 * kCopy;
  OpenWith(Embedding());
  MustPush(StepPush(0, 0, 4));
  MustPush(StepPush(0, 1, 4));
  const Status refused = Refusal(StepPush(0, 2, 4));
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << ToString(refused);
  EXPECT_THAT(Message(refused), HasSubstr("even alone"));
  EXPECT_THAT(Message(refused), HasSubstr("rank 2, 3 (world size 4)"));
  EXPECT_THAT(Message(refused), HasSubstr("--state-waiting"));
  // The next run's own pushes have the room of those that it gives up.
  MustPush(StepPush(0, 0, 3, 10));
  MustPush(StepPush(0, 1, 3, 10));
  MustPush(StepPush(0, 2, 3, 10));
  EXPECT_EQ(PullAll(),
            Expected({{StepPush(0, 0, 3, 10), StepPush(0, 1, 3, 10), StepPush(0, 2, 3, 10)}}));
}

TEST_F(StoreRefusalTest, ARankThatRunsAheadLeavesRoomForTheStepThatIsDue) {
  options_.max_waiting_bytes = 4 * kCopy;
  OpenWith(Embedding());
  MustPush(StepPush(0, 0, 3));
  MustPush(StepPush(1, 0, 3));
  const Status refused = Refusal(StepPush(2, 0, 3));
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << ToString(refused);
  EXPECT_THAT(Message(refused), HasSubstr("are free for steps behind the one that is due"));
  MustPush(StepPush(0, 1, 3));
  MustPush(StepPush(0, 2, 3));
  MustPush(StepPush(2, 0, 3));  // the due step has given back its room
}

// A world of a million ranks needs no rows to fill the memory.
TEST_F(StoreRefusalTest, PushesWithoutRowsThatWaitAreBoundedToo) {
  options_.max_waiting_bytes = 3 * LogRecord::kHeldBytes;
  OpenWith(Embedding());
  const auto empty = [](int32_t rank) {
    TestPush push = StepPush(0, rank, 1 << 20);
    push.ids.clear();
    push.values.clear();
    return push;
  };
  for (int32_t rank = 0; rank < 3; ++rank) MustPush(empty(rank));
  EXPECT_TRUE(absl::IsResourceExhausted(Refusal(empty(3))));
}

TEST_F(StoreRefusalTest, StoresOfOneProcessShareTheBound) {
  options_.waiting = std::make_shared<WaitingBytes>(kCopy);
  options_.waiting->Add(1);
  OpenWith(Embedding());
  EXPECT_TRUE(absl::IsResourceExhausted(Refusal(StepPush(0, 0, 2))));
  options_.waiting->Remove(1);
  MustPush(StepPush(0, 0, 2));
  EXPECT_EQ(options_.waiting->free(), 0);
  store_.reset();
  EXPECT_EQ(options_.waiting->free(), kCopy);
}

// Rank 1 never pushed step 1 and the later ones.
TEST_F(StoreRefusalTest, StartWithLessRoomGivesUpTheNewestStepsForGood) {
  OpenWith(Embedding());
  ASSERT_TRUE(store_->Create(Embedding("other")).ok());
  TestPush other = StepPush(0, 0, 2, 20);
  other.tensor = "other";
  MustPush(other);
  MustPush(StepPush(0, 0, 2));
  MustPush(StepPush(0, 1, 2));
  for (int64_t step = 1; step <= 4; ++step) MustPush(StepPush(step, 0, 2));
  std::vector<std::string> told;
  options_.on_given_up = [&](const TensorRef& tensor, int64_t first, int64_t last, int64_t pushes) {
    told.push_back(fmt::format("{} {} {} {}", tensor.name, first, last, pushes));
  };
  MustOpen();
  EXPECT_THAT(told, testing::IsEmpty());
  options_.max_waiting_bytes = 2 * kCopy;
  MustOpen();
  EXPECT_THAT(told, testing::ElementsAre("emb 1 4 4"));
  options_.max_waiting_bytes = int64_t{1} << 30;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(PullAll(), Expected({{StepPush(0, 0, 2), StepPush(0, 1, 2)}}));
    EXPECT_THAT(Message(Refusal(StepPush(1, 1, 2))), HasSubstr("is over"));
    MustOpen();
  }
  other.step->rank = 1;
  other.client += 1;
  MustPush(other);  // the other tensor's step waits on
  EXPECT_THAT(told, testing::SizeIs(1));
}

// It had none beside the step before it, which was complete later.
TEST_F(StoreRefusalTest, StepThatHasRoomInTheEndIsKeptThoughItHadNoneOnTheWay) {
  OpenWith(Embedding());
  const std::vector<TestPush> first = {StepPush(0, 0, 2), StepPush(0, 1, 2)};
  const std::vector<TestPush> second = {StepPush(1, 0, 2), StepPush(1, 1, 2)};
  for (const TestPush& push : {first[0], second[0], first[1]}) MustPush(push);
  options_.max_waiting_bytes = kCopy;
  options_.on_given_up = [](const TensorRef& tensor, int64_t, int64_t, int64_t) {
    ADD_FAILURE() << tensor.ToString();
  };
  MustOpen();
  MustPush(second[1]);
  EXPECT_EQ(PullAll(), Expected({first, second}));
}

// A step of one tensor makes the start read the log twice; its next step has no room in the end
// either.
TEST_F(StoreRefusalTest, WhatIsGivenUpIsLeftOutOfTheSecondReadingToo) {
  OpenWith(Embedding());
  ASSERT_TRUE(store_->Create(Embedding("other")).ok());
  const auto of_other = [](int64_t step, int32_t rank) {
    TestPush push = StepPush(step, rank, 2, 20);
    push.tensor = "other";
    return push;
  };
  const std::vector<TestPush> applied = {StepPush(0, 0, 2), StepPush(0, 1, 2)};
  MustPush(applied[0]);
  MustPush(of_other(0, 0));
  MustPush(of_other(1, 0));
  MustPush(StepPush(1, 0, 2));
  MustPush(applied[1]);
  std::vector<std::string> told;
  options_.on_given_up = [&](const TensorRef& tensor, int64_t first, int64_t last, int64_t pushes) {
    told.push_back(fmt::format("{} {} {} {}", tensor.name, first, last, pushes));
  };
  options_.max_waiting_bytes = 2 * kCopy;
  MustOpen();
  EXPECT_THAT(told, testing::ElementsAre("emb 1 1 1"));
  options_.max_waiting_bytes = kCopy;
  MustOpen();
  EXPECT_THAT(told, testing::ElementsAre("emb 1 1 1", "other 0 1 2"));
  options_.max_waiting_bytes = int64_t{1} << 30;
  MustOpen();
  EXPECT_THAT(told, testing::SizeIs(2));
  EXPECT_EQ(PullAll(), Expected({applied}));
  EXPECT_THAT(Message(Refusal(of_other(0, 1))), HasSubstr("is over"));
}

TEST_F(StoreRefusalTest, StepThatIsCompleteInTheLogIsAppliedThoughItHasNoRoom) {
  OpenWith(Embedding());
  const std::vector<TestPush> pushes = {StepPush(0, 0, 3), StepPush(0, 1, 3), StepPush(0, 2, 3)};
  for (const TestPush& push : pushes) MustPush(push);
  options_.max_waiting_bytes = kCopy;
  MustOpen();
  EXPECT_EQ(PullAll(), Expected({pushes}));
  EXPECT_THAT(Message(Refusal(StepPush(0, 2, 3, 8))), HasSubstr("step 0 is over"));
}

TEST_F(StoreRefusalTest, TwoClientsWithOneIdAreFoundBeforeAndAfterReopening) {
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  TestPush other = RandomPush(2, 1);
  other.client = 1;
  EXPECT_EQ(Refusal(other).code(), absl::StatusCode::kFailedPrecondition);
  MustOpen();
  EXPECT_EQ(Refusal(other).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(PullAll(), Expected({{RandomPush(1, 1)}}));
}

TEST_F(StoreRefusalTest, SequenceBeyondTheWindowIsResourceExhausted) {
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  EXPECT_TRUE(absl::IsResourceExhausted(Refusal(RandomPush(1, kPushWindow + 2))));
  EXPECT_FALSE(MustPush(RandomPush(1, kPushWindow + 1)).repeated);
  EXPECT_FALSE(MustPush(RandomPush(1, 2)).repeated);
}

TEST_F(StoreRefusalTest, ForgottenClientMustBeginAnew) {
  options_.max_clients = 2;
  OpenWith(Embedding());
  for (uint64_t i = 1; i <= kPushWindow + 1; ++i) MustPush(RandomPush(1, i, 1));
  MustPush(RandomPush(2, 1));
  MustPush(RandomPush(3, 1));
  EXPECT_EQ(Refusal(RandomPush(1, kPushWindow + 2)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(MustPush(RandomPush(2, 1)).repeated);
}

TEST_F(StoreRefusalTest, PullOfAnLsnWhoseRankIsGoneNamesTheRank) {
  OpenWith(Embedding());
  const int64_t lsn = MustPush(StepPush(7, 1, 3)).lsn;
  std::vector<float> row(kDim);
  const int64_t id = 0;
  const Status late = store_->Pull({false, "node", "emb"}, {&id, 1}, {}, lsn,
                                   reinterpret_cast<std::byte*>(row.data()), {});
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << ToString(late);
  EXPECT_THAT(Message(late), HasSubstr("step 7 waits for the push of rank 0, 2"));
}

TEST_F(StoreRefusalTest, PullOfAnLsnThatWasNeverGivenIsDataLossAtOnce) {
  options_.step_timeout_ns = 3'600'000'000'000;
  OpenWith(Embedding());
  const int64_t lsn = MustPush(RandomPush(1, 1)).lsn;
  std::vector<float> row(kDim);
  const int64_t id = 0;
  const auto pull = [&](int64_t min_lsn) {
    return store_->Pull({false, "node", "emb"}, {&id, 1}, {}, min_lsn,
                        reinterpret_cast<std::byte*>(row.data()), {});
  };
  EXPECT_TRUE(pull(lsn).ok());
  const Status lost = pull(lsn + 1);
  EXPECT_TRUE(absl::IsDataLoss(lost)) << ToString(lost);
  EXPECT_THAT(Message(lost), HasSubstr("min_lsn 2 is above 1"));
  EXPECT_TRUE(absl::IsDataLoss(pull(int64_t{1} << 60)));
}

TEST_F(StoreRefusalTest, NextRunGivesUpWhatWaitsOfTheRunBefore) {
  OpenWith(Embedding());
  MustPush(StepPush(0, 0, 2, 9));  // rank 1 of run 9 vanished
  const TestPush other0 = StepPush(0, 0, 2, 10);
  const TestPush other1 = StepPush(0, 1, 2, 10);
  MustPush(other1);
  EXPECT_EQ(Refusal(StepPush(0, 1, 2, 9)).code(), absl::StatusCode::kFailedPrecondition);
  const int64_t lsn = MustPush(other0).lsn;
  EXPECT_EQ(PullAll(lsn), Expected({{other0, other1}}));
  MustOpen();
  EXPECT_EQ(PullAll(lsn), Expected({{other0, other1}}));
}

TEST_F(StoreRefusalTest, CreateTwiceIsOneTensorAndAnotherSpecIsRefused) {
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  EXPECT_TRUE(store_->Create(Embedding()).ok());
  EXPECT_EQ(PullAll(), Expected({{RandomPush(1, 1)}}));
  MutableTensorSpec other = Embedding();
  other.dim = 8;
  const Status refused = store_->Create(other);
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(Message(refused), HasSubstr("dim"));
}

TEST_F(StoreRefusalTest, TensorBeyondTheMemoryIsResourceExhaustedAndDropMakesRoom) {
  options_.memory_bytes = 300;  // one takes 225, with its rows on the disk
  OpenWith(Embedding());
  const Status refused = store_->Create(Embedding("second"));
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << ToString(refused);
  EXPECT_TRUE(store_->Drop({false, "node", "emb"}).ok());
  EXPECT_TRUE(store_->Create(Embedding("second")).ok());
}

TEST_F(StoreRefusalTest, DroppedTensorIsGoneAfterReopeningAndItsNameIsFree) {
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  ASSERT_TRUE(store_->Drop({false, "node", "emb"}).ok());
  EXPECT_TRUE(absl::IsNotFound(Refusal(RandomPush(1, 2))));
  ASSERT_TRUE(store_->Create(Embedding()).ok());
  MustPush(RandomPush(1, 3));
  MustOpen();
  EXPECT_EQ(PullAll(), Expected({{RandomPush(1, 3)}}));
  // A push to the tensor that was dropped is none to the new one.
  EXPECT_EQ(Refusal(RandomPush(1, 1)).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace halograph
