// What a store does when a write, a sync or the disk fails.
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "common/base/call_metadata.h"
#include "tests/support/failing_files.h"
#include "tests/support/store_fixture.h"

namespace halograph {
namespace {

using testing::HasSubstr;

class StoreFailureTest : public StoreTest {
 protected:
  StoreFailureTest() {
    env_ = std::make_unique<PlainEnv>(std::make_unique<FailingFiles>(&switches_));
    options_.on_failure = [this](const Status& reason, bool readable) {
      const std::lock_guard lock(mutex_);
      told_.push_back({Message(reason), readable});
      changed_.notify_all();
    };
  }
  ~StoreFailureTest() override { store_.reset(); }  // before the switches

  void ExpectRefused(const TestPush& push, const std::string& reason) {
    const Status refused = store_->Push(push.request(), {}).status();
    EXPECT_TRUE(absl::IsUnavailable(refused)) << ToString(refused);
    EXPECT_THAT(Message(refused), HasSubstr(reason));
    EXPECT_THAT(store_->Describe({false, "node", "emb"})->refused, HasSubstr(reason));
  }

  struct Told {
    std::string reason;
    bool readable = false;
  };
  // Of the store, when it has ended: it tells nothing more.
  std::vector<Told> AllTold() {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::minutes(2), [&] { return !told_.empty(); });
    }
    store_.reset();
    return told_;
  }

  FailingFiles::Switches switches_;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Told> told_;
};

TEST_F(StoreFailureTest, FailedWriteStopsPushesUntilARestartAndReadsGoOn) {
  OpenWith(Embedding());
  const TestPush first = RandomPush(1, 1);
  MustPush(first);
  switches_.writes = true;
  ExpectRefused(RandomPush(1, 2), "the disk is broken");
  switches_.writes = false;
  ExpectRefused(RandomPush(1, 2), "the disk is broken");
  static_cast<void>(PullAll());
  EXPECT_FALSE(store_->Checkpoint().ok());  // it would show a push that is not in the log
  EXPECT_TRUE(MustPush(first).repeated);
  MustOpen();
  EXPECT_EQ(PullAll(), Expected({{first}}));
  EXPECT_EQ(MustPush(RandomPush(1, 2)).lsn, 2);
  EXPECT_EQ(PullAll(), Expected({{first}, {RandomPush(1, 2)}}));
}

TEST_F(StoreFailureTest, FailedSyncStopsPushesAtOnceAndIsNotTriedAgain) {
  options_.sync = SyncLevel::kAlways;
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  switches_.syncs = true;
  ExpectRefused(RandomPush(1, 2), "the flush is broken");
  switches_.syncs = false;
  ExpectRefused(RandomPush(1, 3), "the flush is broken");
  MustOpen();
  // The push without an answer was in the file: it may count or not, and its repetition tells.
  const int64_t lsn = store_->stats().lsn;
  EXPECT_TRUE(lsn == 1 || lsn == 2);
  EXPECT_EQ(MustPush(RandomPush(1, 2)).repeated, lsn == 2);
  EXPECT_EQ(PullAll(), Expected({{RandomPush(1, 1)}, {RandomPush(1, 2)}}));
}

// A sync that fails may drop what was written, and the next one of the same file says nothing of
// it. So a sync that a checkpoint asks for must not run beside the one that a push waits for.
TEST_F(StoreFailureTest, SyncBesideOneThatFailsDoesNotCount) {
  options_.sync = SyncLevel::kAlways;
  OpenWith(Embedding());
  std::mutex mutex;
  std::condition_variable changed;
  int syncs = 0;  // of the first segment, which takes the push
  AwaitNamed(1);
  switches_.sync_of = [&](const std::filesystem::path& path) -> Status {
    if (path.filename() != "segment-000001") return OkStatus();
    std::unique_lock lock(mutex);
    changed.notify_all();
    if (++syncs > 1) return OkStatus();
    changed.wait_for(lock, std::chrono::milliseconds(300), [&] { return syncs > 1; });
    return Internal("the flush is broken");
  };
  Status pushed;
  std::thread pusher([&] { pushed = store_->Push(RandomPush(1, 1).request(), {}).status(); });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return syncs > 0; });
  }
  const Status checkpoint = store_->Checkpoint();
  pusher.join();
  EXPECT_TRUE(absl::IsUnavailable(pushed)) << ToString(pushed);
  EXPECT_FALSE(checkpoint.ok());
  store_.reset();  // with who syncs
  EXPECT_EQ(syncs, 1);
}

TEST_F(StoreFailureTest, FailedLogIsToldOnce) {
  OpenWith(Embedding());
  switches_.writes = true;
  for (uint64_t i = 1; i <= 3; ++i) ExpectRefused(RandomPush(1, i), "the disk is broken");
  EXPECT_FALSE(store_->Checkpoint().ok());
  const std::vector<Told> told = AllTold();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0].reason, HasSubstr("the disk is broken"));
  EXPECT_TRUE(told[0].readable);
}

TEST_F(StoreFailureTest, FailedSyncIsToldOnce) {
  OpenWith(Embedding());
  AwaitNamed(1);
  switches_.syncs = true;
  MustPush(RandomPush(1, 1));
  const std::vector<Told> told = AllTold();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0].reason, HasSubstr("the flush is broken"));
}

TEST_F(StoreFailureTest, FailedCheckpointInTheBackgroundIsToldOnceWithItsFile) {
  options_.log_bytes = 2 * options_.segment_bytes;
  OpenWith(Embedding());
  switches_.before_create = [this](const std::filesystem::path& path) {
    if (path.parent_path().filename() == "checkpoints") switches_.full = true;
  };
  uint64_t next = 1;
  while (next < 1000 && store_->Push(RandomPush(1, next, 300).request(), {}).ok()) ++next;
  ASSERT_LT(next, 1000U);
  const std::vector<Told> told = AllTold();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0].reason, HasSubstr(".tmp: the disk is full"));
  EXPECT_THAT(told[0].reason, HasSubstr("checkpoint that shortens the log"));
  EXPECT_TRUE(told[0].readable);
}

// Who asked cannot know: the file's name may be on the disk.
TEST_F(StoreFailureTest, CallsWhoseFileCannotBeWrittenAreUnavailableAndMayHaveBeenDone) {
  using Call = std::function<Status()>;
  const Call calls[] = {
      [this] { return store_->Checkpoint(); },
      [this] { return store_->Snapshot("s", {}, {}).status(); },
      [this] { return store_->Create(Embedding("other"), {}); },
      [this] {
        return store_->Drop({false, "node", "emb"}, {});
      },
  };
  for (const Call& call : calls) {
    OpenWith(Embedding());
    MustPush(RandomPush(1, 1));
    switches_.sync_of = [](const std::filesystem::path& path) -> Status {
      if (path.parent_path().filename() == "log") return OkStatus();
      return Internal("{}: the flush is broken", path.string());
    };
    const Status failed = call();
    EXPECT_TRUE(absl::IsUnavailable(failed)) << ToString(failed);
    EXPECT_EQ(ReasonOf(failed), kMaybeDone);
    EXPECT_THAT(Message(failed), HasSubstr("the flush is broken"));
    switches_.sync_of = nullptr;
    store_.reset();
    std::filesystem::remove_all(options_.folder);
  }
}

// The writer of the file and who wanted the checkpoint both stop the log.
TEST_F(StoreFailureTest, CheckpointInTheBackgroundThatCannotBeSyncedIsToldOnce) {
  options_.log_bytes = 2 * options_.segment_bytes;
  OpenWith(Embedding());
  switches_.sync_of = [](const std::filesystem::path& path) -> Status {
    if (path.parent_path().filename() != "checkpoints") return OkStatus();
    return Internal("{}: the flush is broken", path.string());
  };
  uint64_t next = 1;
  while (next < 1000 && store_->Push(RandomPush(1, next, 300).request(), {}).ok()) ++next;
  ASSERT_LT(next, 1000U);
  const std::vector<Told> told = AllTold();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0].reason, HasSubstr(".tmp: the flush is broken"));
}

TEST_F(StoreFailureTest, PushThatIsInTheLogAndNotInTheRowsStopsReadsAndIsTold) {
  options_.memory_bytes = 4000;  // the rows are in the space that fails
  OpenWith(Embedding());
  static_cast<PlainEnv&>(*env_).row_space_fails() = true;
  static_cast<void>(store_->Push(RandomPush(1, 1).request(), {}));
  const std::vector<Told> told = AllTold();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_FALSE(told[0].readable);
}

TEST_F(StoreFailureTest, WhatWasAcknowledgedBeforeAFailedWriteIsSyncedStill) {
  options_.sync_interval_ns = 3'600'000'000'000;
  OpenWith(Embedding());
  AwaitNamed(1);
  std::atomic<int> syncs = 0;  // of the segment; another thread syncs the next one
  switches_.sync_of = [&](const std::filesystem::path& path) {
    if (path.filename() == "segment-000001") ++syncs;
    return OkStatus();
  };
  MustPush(RandomPush(1, 1));
  switches_.writes = true;
  EXPECT_TRUE(absl::IsUnavailable(store_->Push(RandomPush(1, 2).request(), {}).status()));
  store_.reset();
  EXPECT_EQ(syncs, 1);
}

TEST_F(StoreFailureTest, CheckpointThatWasBegunBeforeAFailureIsNotSet) {
  options_.sync = SyncLevel::kAlways;
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  switches_.before_create = [&](const std::filesystem::path& path) {
    if (path.parent_path().filename() != "checkpoints") return;
    switches_.writes = true;
    EXPECT_FALSE(store_->Push(RandomPush(1, 2).request(), {}).ok());
    switches_.writes = false;
  };
  EXPECT_TRUE(absl::IsUnavailable(store_->Checkpoint()));
  switches_.before_create = nullptr;
  MustOpen();
  EXPECT_EQ(store_->stats().replayed_pushes, 1);
  EXPECT_EQ(PullAll(), Expected({{RandomPush(1, 1)}}));
}

TEST_F(StoreFailureTest, NamesOfAllFoldersAreSynced) {
  options_.folder = folder_.path() / "a" / "b" / "state";
  MustOpen();
  const std::vector<std::filesystem::path> synced = switches_.SyncedFolders();
  for (const char* name : {"", "a", "a/b", "a/b/state"}) {
    const std::filesystem::path path =
        *name == 0 ? std::filesystem::path(folder_.path()) : folder_.path() / name;
    EXPECT_THAT(synced, testing::Contains(path));
  }
}

// Seven pushes fill a segment.
TEST_F(StoreFailureTest, DiskThatWasFullForAMomentIsTriedAgain) {
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1, 300));
  AwaitNamed(2);  // the segment, and the next one
  switches_.full = true;
  for (uint64_t i = 2; i <= 8; ++i) MustPush(RandomPush(1, i, 300));
  while (switches_.refused == 0) std::this_thread::yield();
  switches_.full = false;
  for (uint64_t i = 9; i <= 40; ++i) MustPush(RandomPush(1, i, 300));
  MustOpen();
  EXPECT_EQ(store_->stats().lsn, 40);
}

TEST_F(StoreFailureTest, FullDiskStopsPushesAndLosesNothingThatWasAcknowledged) {
  OpenWith(Embedding());
  switches_.full = true;
  std::vector<std::vector<TestPush>> applied;
  uint64_t next = 1;
  for (; next < 100; ++next) {
    const TestPush push = RandomPush(1, next, 300);
    if (!store_->Push(push.request(), {}).ok()) break;
    applied.push_back({push});
  }
  ASSERT_LT(next, 100u);
  ExpectRefused(RandomPush(1, next, 300), "full");
  switches_.full = false;
  MustOpen();
  EXPECT_EQ(PullAll(), Expected(applied));
}

TEST_F(StoreFailureTest, FullDiskDuringASnapshotIsAnErrorOfTheSnapshotAlone) {
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  switches_.full = true;
  EXPECT_TRUE(absl::IsResourceExhausted(store_->Snapshot("s", {}, {}).status()));
  switches_.full = false;
  MustPush(RandomPush(1, 2));
  EXPECT_TRUE(store_->Snapshot("s", {}, {}).ok());
  MustPush(RandomPush(1, 3));
  ASSERT_TRUE(store_->RestoreSnapshot("s").ok());
  EXPECT_EQ(PullAll(), Expected({{RandomPush(1, 1)}, {RandomPush(1, 2)}}));
}

class HungDiskTest : public StoreFailureTest {
 protected:
  HungDiskTest() {
    const auto pass_log = [](Gate& gate) {
      return [&gate](const std::filesystem::path& path) {
        if (path.parent_path().filename() == "log") gate.Pass();
      };
    };
    switches_.before_write = pass_log(log_writes_);
    switches_.sync_of = [pass = pass_log(log_syncs_)](const std::filesystem::path& path) {
      pass(path);
      return OkStatus();
    };
    switches_.before_create = [this](const std::filesystem::path& path) {
      if (path.parent_path().filename() == "checkpoints") checkpoints_.Pass();
    };
  }
  ~HungDiskTest() override {
    for (Gate* gate : {&log_writes_, &log_syncs_, &checkpoints_}) gate->Open();
    store_.reset();  // before the gates
  }

  // A call that waits for `what` in vain. On a busy machine it may come too late to wait for that:
  // it is made again then, with more time.
  static void ExpectLate(const std::string& what,
                         const std::function<Status(const WorkLimits&)>& call) {
    Status status;
    for (const int milliseconds : {20, 200, 2000, 20000}) {
      status = call(
          {.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds)});
      ASSERT_TRUE(absl::IsDeadlineExceeded(status)) << ToString(status);
      if (Message(status).find(what) != std::string::npos) return;
    }
    EXPECT_THAT(Message(status), HasSubstr(what));
  }
  // A push whose memory is the caller's again when it returns.
  void ExpectPushLate(const TestPush& push, const std::string& what) {
    ExpectLate(what, [&](const WorkLimits& limits) {
      TestPush borrowed = push;
      const Status status = store_->Push(borrowed.request(), limits).status();
      std::fill(borrowed.ids.begin(), borrowed.ids.end(), 0);
      std::fill(borrowed.values.begin(), borrowed.values.end(), NAN);
      return status;
    });
  }

  Gate log_writes_;
  Gate log_syncs_;
  Gate checkpoints_;
};

TEST_F(HungDiskTest, PushesEndByTheirLimitsWhileTheLogIsWrittenAndCountOnce) {
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  log_writes_.Close();
  ExpectPushLate(RandomPush(1, 2), "LSN 2");
  ExpectPushLate(RandomPush(1, 3), "written to the log");
  ExpectPushLate(RandomPush(1, 3), "written to the log");  // the repetition waits too
  CancelToken token;
  std::thread cancels([&] {
    log_writes_.AwaitReached();
    token.Cancel();
  });
  const TestPush fourth = RandomPush(1, 4);
  const Status cancelled = store_->Push(fourth.request(), {.cancel = &token}).status();
  cancels.join();
  EXPECT_TRUE(absl::IsCancelled(cancelled)) << ToString(cancelled);
  log_writes_.Open();
  for (uint64_t i = 2; i <= 3; ++i) EXPECT_TRUE(MustPush(RandomPush(1, i)).repeated);
  MustPush(RandomPush(1, 4));  // which may have been cancelled before it was in the log
  const std::vector<std::vector<TestPush>> all = {
      {RandomPush(1, 1)}, {RandomPush(1, 2)}, {RandomPush(1, 3)}, {RandomPush(1, 4)}};
  EXPECT_EQ(PullAll(), Expected(all));
  MustOpen();
  EXPECT_EQ(PullAll(), Expected(all)) << "the log has what was pushed, not what came after it";
}

TEST_F(HungDiskTest, PushesWhoseCallersLeftTakeBoundedMemory) {
  options_.max_waiting_bytes = 1000;  // of a push: 1280
  OpenWith(Embedding());
  log_writes_.Close();
  ExpectPushLate(RandomPush(1, 1), "LSN 1");
  ExpectPushLate(RandomPush(1, 2), "callers have left; the push is not in the log");
  log_writes_.Open();
  EXPECT_FALSE(MustPush(RandomPush(1, 2)).repeated);
  EXPECT_EQ(PullAll(), Expected({{RandomPush(1, 1)}, {RandomPush(1, 2)}}));
}

TEST_F(HungDiskTest, SyncsAreWaitedForWithinLimits) {
  options_.sync = SyncLevel::kAlways;
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  ASSERT_TRUE(store_->Snapshot("s", {}, {}).ok());
  log_syncs_.Close();
  ExpectPushLate(RandomPush(1, 2), "the log is being synced");
  log_syncs_.Open();
  EXPECT_TRUE(MustPush(RandomPush(1, 2)).repeated);
  EXPECT_EQ(PullAll(), Expected({{RandomPush(1, 1)}, {RandomPush(1, 2)}}));
}

// A checkpoint whose file cannot be made holds pushes back, and calls that wait for its end.
TEST_F(HungDiskTest, PushesLeaveTheirTurnsToOthersAndAdminCallsEndInTime) {
  options_.max_image_bytes = 1;
  OpenWith(Embedding());
  std::vector<std::vector<TestPush>> all = {{RandomPush(1, 1, 400)}};
  MustPush(all[0][0]);
  checkpoints_.Close();
  Status kept;
  std::thread keeps([&] { kept = store_->Snapshot("s", {}, {}).status(); });
  checkpoints_.AwaitReached();
  for (uint64_t i = 2; i <= 5; ++i) all.push_back({RandomPush(1, i, 400)});
  MustPush(all[1][0]);  // saves the images of its rows
  ExpectPushLate(all[2][0], "a checkpoint to write the rows");
  ExpectPushLate(all[3][0], "the pushes before it");
  ExpectPushLate(all[4][0], "the pushes before it");
  const auto expect_late = [](const auto& call) { ExpectLate("another call", call); };
  expect_late([&](const auto& limits) { return store_->Create(Embedding("new"), limits); });
  expect_late([&](const auto& limits) { return store_->Drop({false, "node", "emb"}, limits); });
  expect_late([&](const auto& limits) { return store_->Checkpoint(limits); });
  expect_late([&](const auto& limits) { return store_->Snapshot("t", {}, limits).status(); });
  expect_late([&](const auto& limits) { return store_->DeleteSnapshot("s", limits); });
  expect_late([&](const auto& limits) { return store_->RestoreSnapshot("s", limits); });
  checkpoints_.Open();
  keeps.join();
  EXPECT_TRUE(kept.ok()) << ToString(kept);
  for (uint64_t i = 3; i <= 5; ++i) EXPECT_TRUE(MustPush(RandomPush(1, i, 400)).repeated);
  EXPECT_EQ(PullAll(5), Expected(all));
  ASSERT_TRUE(store_->RestoreSnapshot("s").ok());
  EXPECT_EQ(PullAll(), Expected({all[0]})) << "the snapshot has the rows of its moment";
}

TEST_F(HungDiskTest, SnapshotsAndRestoresThatCannotSyncChangeNothing) {
  options_.sync_interval_ns = 3'600'000'000'000;
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  ASSERT_TRUE(store_->Snapshot("s", {}, {}).ok());
  MustPush(RandomPush(1, 2));
  log_writes_.Close();
  ExpectPushLate(RandomPush(1, 3), "LSN 3");
  ExpectLate("the log is being synced",
             [&](const WorkLimits& limits) { return store_->Snapshot("t", {}, limits).status(); });
  ExpectLate("the log is being synced",
             [&](const WorkLimits& limits) { return store_->RestoreSnapshot("s", limits); });
  EXPECT_EQ(store_->Snapshots().size(), 1U);
  log_writes_.Open();
  const std::vector<std::vector<TestPush>> all = {
      {RandomPush(1, 1)}, {RandomPush(1, 2)}, {RandomPush(1, 3)}};
  EXPECT_TRUE(MustPush(RandomPush(1, 3)).repeated);
  EXPECT_EQ(PullAll(), Expected(all)) << "the restore was given up";
  ASSERT_TRUE(store_->Snapshot("t", {}, {}).ok());
  MustPush(RandomPush(1, 4));
  ASSERT_TRUE(store_->RestoreSnapshot("t").ok());
  EXPECT_EQ(PullAll(), Expected(all));
  MustOpen();
  EXPECT_EQ(PullAll(), Expected(all));
}

}  // namespace
}  // namespace halograph
