// Snapshots that wait for their step: what others may do meanwhile, and how the wait ends.
#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "tests/support/failing_files.h"
#include "tests/support/store_fixture.h"
#include "tests/unit/state_engine/watched_env.h"

namespace halograph {
namespace {

using testing::HasSubstr;

TestPush PushOf(int64_t step, const std::string& tensor) {
  TestPush push = StepPush(step, 0, 1);
  push.tensor = tensor;
  push.client += 10 * static_cast<uint64_t>(tensor[0]);
  return push;
}

class StepSnapshotTest : public StoreTest {
 protected:
  StepSnapshotTest() {
    auto watched = std::make_unique<WatchedEnv>("", std::make_unique<FailingFiles>(&switches_));
    watched_ = watched.get();
    env_ = std::move(watched);
    options_.sync = SyncLevel::kNever;
    options_.step_timeout_ns = 60'000'000'000;
  }
  ~StepSnapshotTest() override { store_.reset(); }  // before the switches
  void OpenWithTwo() {
    OpenWith(Embedding());
    ASSERT_TRUE(store_->Create(Embedding("other")).ok());
  }
  // Returns when it waits.
  std::future<StatusOr<SnapshotInfo>> Begin(const std::string& name, int64_t step,
                                            const WorkLimits& limits = {}) {
    watched_->ForgetTimedWaits();
    auto snapshot =
        std::async(std::launch::async, [=, this] { return store_->Snapshot(name, step, limits); });
    watched_->AwaitTimedWait();
    return snapshot;
  }
  static WorkLimits Soon() {
    return {.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20)};
  }
  void Steps(int64_t first, int64_t last, const std::string& tensor = "emb") {
    for (int64_t step = first; step <= last; ++step) MustPush(PushOf(step, tensor));
  }
  static std::vector<float> At(int64_t last, const std::string& tensor = "emb") {
    std::vector<std::vector<TestPush>> steps;
    for (int64_t step = 0; step <= last; ++step) steps.push_back({PushOf(step, tensor)});
    return Expected(steps, Embedding(tensor));
  }
  static void ExpectOk(const Status& status) { EXPECT_TRUE(status.ok()) << ToString(status); }

  FailingFiles::Switches switches_;
  WatchedEnv* watched_ = nullptr;
};

TEST_F(StepSnapshotTest, OthersHaveTheTurnWhileItWaits) {
  OpenWith(Embedding());
  Steps(0, 2);
  auto waiting = Begin("later", 5);
  ExpectOk(store_->Create(Embedding("other"), Soon()));
  ExpectOk(store_->Checkpoint(Soon()));
  ExpectOk(store_->Snapshot("now", {}, Soon()).status());
  ExpectOk(store_->DeleteSnapshot("now", Soon()));
  ExpectOk(store_->Drop({false, "node", "other"}, Soon()));
  Steps(3, 7);
  const StatusOr<SnapshotInfo> info = waiting.get();
  ASSERT_TRUE(info.ok()) << ToString(info.status());
  EXPECT_EQ(info->step, 5);
  MustOpen();
  EXPECT_EQ(PullAll(), At(7));
  ExpectOk(store_->RestoreSnapshot("later"));
  EXPECT_EQ(PullAll(), At(5));
}

// One tensor is past its moment, the other one has its still to come.
TEST_F(StepSnapshotTest, CheckpointBetweenItsMomentsHasAllRowsAndSoDoesTheSnapshot) {
  OpenWithTwo();
  Steps(0, 0);
  Steps(0, 0, "other");
  ExpectOk(store_->Checkpoint());
  auto waiting = Begin("s", 2);
  Steps(1, 3);
  Steps(1, 1, "other");
  ExpectOk(store_->Checkpoint(Soon()));
  ExpectOk(store_->Snapshot("between", {}, Soon()).status());
  Steps(4, 4);
  Steps(2, 3, "other");
  ExpectOk(waiting.get().status());
  ExpectOk(store_->Checkpoint());
  Steps(5, 5);
  MustOpen();
  EXPECT_EQ(PullAll(), At(5));
  EXPECT_EQ(PullAll(0, "other"), At(3, "other"));
  ExpectOk(store_->RestoreSnapshot("s"));
  EXPECT_EQ(PullAll(), At(2));
  EXPECT_EQ(PullAll(0, "other"), At(2, "other"));
  MustOpen();
  EXPECT_EQ(PullAll(), At(2));
  ExpectOk(store_->RestoreSnapshot("between"));
  EXPECT_EQ(PullAll(), At(3));
  EXPECT_EQ(PullAll(0, "other"), At(1, "other"));
}

TEST_F(StepSnapshotTest, RowsOfOneThatWasGivenUpAreInTheNextCheckpoint) {
  OpenWithTwo();
  Steps(0, 0);
  Steps(0, 0, "other");
  ExpectOk(store_->Checkpoint());
  CancelToken cancel;
  auto waiting = Begin("s", 1, {.cancel = &cancel});
  Steps(1, 1);
  cancel.Cancel();
  EXPECT_TRUE(absl::IsCancelled(waiting.get().status()));
  ExpectOk(store_->Checkpoint());
  MustOpen();
  EXPECT_EQ(PullAll(), At(1));
  EXPECT_EQ(PullAll(0, "other"), At(0, "other"));
}

// Its moment is within the push, between the two: what waited then completes the second while the
// file is read.
TEST_F(StepSnapshotTest, OfTheFirstOfTwoStepsThatAPushCompletesKnowsWhatPullsNeedNotAwait) {
  OpenWith(Embedding());
  std::vector<std::vector<TestPush>> steps;
  for (int64_t step = 0; step < 3; ++step) {
    steps.push_back({StepPush(step, 0, 2), StepPush(step, 1, 2)});
  }
  for (const TestPush& push : steps[0]) MustPush(push);
  auto waiting = Begin("s", 1);
  MustPush(steps[1][0]);
  MustPush(steps[2][0]);
  MustPush(steps[2][1]);
  const int64_t ahead = MustPush(StepPush(3, 0, 2)).lsn;
  const int64_t last = MustPush(steps[1][1]).lsn;
  ExpectOk(waiting.get().status());
  for (int life = 0; life < 3; ++life) {
    EXPECT_TRUE(*store_->Shows({false, "node", "emb"}, last)) << life;
    EXPECT_FALSE(*store_->Shows({false, "node", "emb"}, ahead)) << life;
    EXPECT_EQ(PullAll(last), Expected(steps)) << life;
    if (life == 1) ExpectOk(store_->Checkpoint());
    MustOpen();
  }
  EXPECT_TRUE(*store_->Shows({false, "node", "emb"}, MustPush(StepPush(3, 1, 2)).lsn));
}

TEST_F(StepSnapshotTest, TwoStepsAreWaitedForAtOnce) {
  OpenWithTwo();
  Steps(0, 0);
  Steps(0, 0, "other");
  auto second = Begin("second", 2);
  Steps(1, 1);
  auto first = std::async(std::launch::async, [&] { return store_->Snapshot("first", 1, {}); });
  Steps(1, 1, "other");
  ExpectOk(first.get().status());
  Steps(2, 3);
  Steps(2, 3, "other");
  ExpectOk(second.get().status());
  for (const auto& [name, step] : {std::pair{"first", 1}, {"second", 2}}) {
    ExpectOk(store_->RestoreSnapshot(name));
    EXPECT_EQ(PullAll(), At(step));
    EXPECT_EQ(PullAll(0, "other"), At(step, "other"));
  }
}

TEST_F(StepSnapshotTest, TensorsThatAreCreatedJoinAndThoseDroppedLeave) {
  OpenWithTwo();
  Steps(0, 0);
  Steps(0, 0, "other");
  auto waiting = Begin("s", 1);
  Steps(1, 1);
  ExpectOk(store_->Create(Embedding("third"), Soon()));
  Steps(0, 0, "third");
  ExpectOk(store_->Create(Embedding("no steps"), Soon()));
  ExpectOk(store_->Drop({false, "node", "other"}, Soon()));
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout)
      << "the third is at step 0";
  Steps(1, 1, "third");
  ExpectOk(waiting.get().status());
  const std::vector<SnapshotInfo> kept = store_->Snapshots();
  ASSERT_EQ(kept.size(), 1u);
  ASSERT_EQ(kept[0].tensors.size(), 3u);
  for (const MutableTensorSpec& spec : kept[0].tensors) EXPECT_NE(spec.ref.name, "other");
  ExpectOk(store_->RestoreSnapshot("s"));
  EXPECT_EQ(PullAll(0, "third"), At(1, "third"));
}

TEST_F(StepSnapshotTest, RestoreEndsTheWaitAndNamesTheSnapshot) {
  OpenWithTwo();
  Steps(0, 0);
  Steps(0, 0, "other");
  ExpectOk(store_->Snapshot("before", {}, {}).status());
  auto waiting = Begin("s", 1);
  Steps(1, 2);
  ExpectOk(store_->RestoreSnapshot("before", Soon()));
  const Status ended = waiting.get().status();
  EXPECT_EQ(ended.code(), absl::StatusCode::kFailedPrecondition) << ToString(ended);
  EXPECT_THAT(Message(ended), HasSubstr("snapshot before was restored"));
  EXPECT_EQ(PullAll(), At(0));
  MustOpen();
  EXPECT_EQ(PullAll(), At(0));
}

// It ends the wait of a snapshot that had begun to count anew.
TEST_F(StepSnapshotTest, RestoreThatFailsTakesNoRowsOutOfTheNextCheckpoint) {
  OpenWithTwo();
  Steps(0, 0);
  Steps(0, 0, "other");
  ExpectOk(store_->Snapshot("before", {}, {}).status());
  auto waiting = Begin("s", 1);
  Steps(1, 1);
  // Before the log is synced, which it waits for.
  CancelToken cancel;
  switches_.before_create = [&](const std::filesystem::path& path) {
    if (path.filename() == "checkpoint-00000003.tmp") cancel.Cancel();
  };
  const Status failed = store_->RestoreSnapshot("before", {.cancel = &cancel});
  switches_.before_create = nullptr;
  EXPECT_TRUE(absl::IsCancelled(failed)) << ToString(failed);
  const Status ended = waiting.get().status();
  EXPECT_EQ(ended.code(), absl::StatusCode::kFailedPrecondition) << ToString(ended);
  EXPECT_EQ(PullAll(), At(1));
  ExpectOk(store_->Checkpoint());
  MustOpen();
  EXPECT_EQ(PullAll(), At(1));
}

// All pushes have saved the images that may be kept, and the restore waits for their turns.
TEST_F(StepSnapshotTest, RestoreWaitsForNoImagesOfOneThatWaits) {
  options_.max_image_bytes = 1;
  OpenWithTwo();
  Steps(0, 0);
  Steps(0, 0, "other");
  ExpectOk(store_->Snapshot("before", {}, {}).status());
  auto waiting = Begin("s", 1);
  std::thread trainer([&] { Steps(1, 20); });
  trainer.join();
  ExpectOk(store_->RestoreSnapshot("before", Soon()));
  EXPECT_FALSE(waiting.get().ok());
  EXPECT_EQ(PullAll(), At(0));
}

TEST_F(StepSnapshotTest, EndOfTheCallEndsTheWaitWithinASecond) {
  OpenWith(Embedding());
  Steps(0, 0);
  CancelToken cancel;
  auto waiting = Begin("s", 5, {.cancel = &cancel});
  const auto began = std::chrono::steady_clock::now();
  cancel.Cancel();
  EXPECT_TRUE(absl::IsCancelled(waiting.get().status()));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
  Steps(1, 5);
  ExpectOk(store_->Snapshot("s", 5, Soon()).status());
}

TEST_F(StepSnapshotTest, OneOfTheSameNameTakesItsPlaceWhenItIsGivenUp) {
  OpenWith(Embedding());
  Steps(0, 0);
  CancelToken cancel;
  auto first = Begin("s", 5, {.cancel = &cancel});
  auto second = std::async(std::launch::async, [&] { return store_->Snapshot("s", 0, Soon()); });
  EXPECT_EQ(store_->Snapshot("s", {}, Soon()).status().code(), absl::StatusCode::kAlreadyExists);
  cancel.Cancel();
  EXPECT_FALSE(first.get().ok());
  ExpectOk(second.get().status());
}

TEST_F(StepSnapshotTest, MoreThanSixteenAreRefusedNamingTheStepsOfTheOthers) {
  OpenWith(Embedding());
  Steps(0, 0);
  CancelToken cancel;
  std::vector<std::future<StatusOr<SnapshotInfo>>> waiting;
  for (int i = 0; i <= kMostWaitingSnapshots; ++i) {
    waiting.push_back(Begin("s" + std::to_string(i), 500, {.cancel = &cancel}));
  }
  const auto is_told = [](const auto& one) {
    return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  auto told = waiting.end();
  while (told == waiting.end()) told = std::find_if(waiting.begin(), waiting.end(), is_told);
  const Status refused = told->get().status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << ToString(refused);
  EXPECT_THAT(Message(refused), HasSubstr("16 snapshots wait for their steps already (step "));
  waiting.erase(told);
  std::string all = "500";
  for (int i = 1; i < kMostWaitingSnapshots; ++i) all += ", 500";
  Status more;  // once all have begun
  while (Message(more).find(all) == std::string::npos) {
    more = store_->Snapshot("more", 3, Soon()).status();
    ASSERT_TRUE(absl::IsResourceExhausted(more)) << ToString(more);
  }
  ExpectOk(store_->Snapshot("now", {}, Soon()).status());
  cancel.Cancel();
  for (auto& one : waiting) EXPECT_TRUE(absl::IsCancelled(one.get().status()));
  Steps(1, 3);
  ExpectOk(store_->Snapshot("more", 3, Soon()).status());
}

TEST_F(StepSnapshotTest, LogIsBoundedWhileItWaits) {
  options_.log_bytes = 4 * options_.segment_bytes;
  OpenWith(Embedding());
  MustPush(PushOf(0, "emb"));
  CancelToken cancel;
  auto waiting = Begin("s", 1000, {.cancel = &cancel});
  for (uint64_t i = 1; i <= 200; ++i) MustPush(RandomPush(7, i, 300));
  EXPECT_GT(store_->stats().checkpoints, 2);
  EXPECT_LE(store_->stats().log_bytes, options_.log_bytes + options_.segment_bytes);
  cancel.Cancel();
  EXPECT_TRUE(absl::IsCancelled(waiting.get().status()));
}

}  // namespace
}  // namespace halograph
