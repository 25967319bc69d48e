// What a store does when a write, a sync or the disk fails.
#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>

#include "tests/unit/state_durable/store_fixture.h"

namespace halograph {
namespace {

using testing::HasSubstr;

// Files of the machine whose writes and syncs fail from a moment on.
class FailingFiles : public FileSystem {
 public:
  struct Switches {
    std::atomic<bool> writes = false;
    std::atomic<bool> syncs = false;
    std::atomic<bool> full = false;  // no file can be made
    std::atomic<int> made = 0;       // files
    std::atomic<int> refused = 0;    // files that could not be made
    std::atomic<int> synced = 0;     // times that a file was
    std::function<void(const Path&)> before_create;
    std::mutex mutex;
    std::vector<Path> synced_folders;
  };
  explicit FailingFiles(Switches* switches) : switches_(*switches) {}

  [[nodiscard]] StatusOr<std::unique_ptr<ReadableFile>> OpenToRead(const Path& path) override {
    return files_->OpenToRead(path);
  }
  [[nodiscard]] StatusOr<std::unique_ptr<WritableFile>> Create(const Path& path, int64_t bytes,
                                                               Write how) override {
    if (switches_.before_create) switches_.before_create(path);
    if (switches_.full) {
      ++switches_.refused;
      return ResourceExhausted("{}: the disk is full", path.string());
    }
    ++switches_.made;
    return Wrap(files_->Create(path, bytes, how));
  }
  [[nodiscard]] StatusOr<std::unique_ptr<WritableFile>> OpenToWrite(const Path& path,
                                                                    Write how) override {
    return Wrap(files_->OpenToWrite(path, how));
  }
  [[nodiscard]] Status Rename(const Path& from, const Path& to) override {
    return files_->Rename(from, to);
  }
  [[nodiscard]] Status Remove(const Path& path) override { return files_->Remove(path); }
  [[nodiscard]] Status MakeFolder(const Path& path) override { return files_->MakeFolder(path); }
  [[nodiscard]] Status SyncFolder(const Path& path) override {
    HG_RETURN_IF_ERROR(files_->SyncFolder(path));
    const std::lock_guard lock(switches_.mutex);
    switches_.synced_folders.push_back(path);
    return OkStatus();
  }
  [[nodiscard]] StatusOr<std::vector<std::string>> List(const Path& path) override {
    return files_->List(path);
  }
  [[nodiscard]] StatusOr<std::unique_ptr<FolderLock>> LockFolder(const Path& path) override {
    return files_->LockFolder(path);
  }
  [[nodiscard]] StatusOr<int64_t> FreeBytes(const Path& path) override {
    return files_->FreeBytes(path);
  }

 private:
  class File : public WritableFile {
   public:
    File(std::unique_ptr<WritableFile> file, Switches* switches)
        : file_(std::move(file)), switches_(*switches) {}
    [[nodiscard]] Status WriteAt(int64_t offset,
                                 std::span<const std::span<const std::byte>> pieces) override {
      if (switches_.writes) return Internal("the disk is broken");
      return file_->WriteAt(offset, pieces);
    }
    [[nodiscard]] Status Sync() override {
      if (switches_.syncs) return Internal("the flush is broken");
      HG_RETURN_IF_ERROR(file_->Sync());
      ++switches_.synced;
      return OkStatus();
    }

   private:
    std::unique_ptr<WritableFile> file_;
    Switches& switches_;
  };

  StatusOr<std::unique_ptr<WritableFile>> Wrap(StatusOr<std::unique_ptr<WritableFile>> file) {
    if (!file.ok()) return file;
    return std::make_unique<File>(*std::move(file), &switches_);
  }

  const std::unique_ptr<FileSystem> files_ = MakeSystemFiles();
  Switches& switches_;
};

class StoreFailureTest : public StoreTest {
 protected:
  StoreFailureTest() {
    env_ = std::make_unique<PlainEnv>(std::make_unique<FailingFiles>(&switches_));
  }
  ~StoreFailureTest() override { store_.reset(); }  // before the switches

  void ExpectRefused(const TestPush& push, const std::string& reason) {
    const Status refused = store_->Push(push.request(), {}).status();
    EXPECT_TRUE(absl::IsUnavailable(refused)) << ToString(refused);
    EXPECT_THAT(Message(refused), HasSubstr(reason));
    EXPECT_THAT(store_->Describe({false, "node", "emb"})->refused, HasSubstr(reason));
  }

  FailingFiles::Switches switches_;
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

TEST_F(StoreFailureTest, WhatWasAcknowledgedBeforeAFailedWriteIsSyncedStill) {
  options_.sync_interval_ns = 3'600'000'000'000;
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  switches_.writes = true;
  EXPECT_TRUE(absl::IsUnavailable(store_->Push(RandomPush(1, 2).request(), {}).status()));
  store_.reset();
  EXPECT_EQ(switches_.synced, 1);
}

TEST_F(StoreFailureTest, CheckpointThatWasBegunBeforeAFailureIsNotSet) {
  options_.sync = SyncLevel::kAlways;
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1));
  switches_.before_create = [&](const std::filesystem::path& path) {
    if (!path.string().ends_with(".tmp")) return;
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
  for (const char* name : {"", "a", "a/b", "a/b/state"}) {
    const std::filesystem::path path =
        *name == 0 ? std::filesystem::path(folder_.path()) : folder_.path() / name;
    EXPECT_THAT(switches_.synced_folders, testing::Contains(path));
  }
}

// Seven pushes fill a segment.
TEST_F(StoreFailureTest, DiskThatWasFullForAMomentIsTriedAgain) {
  OpenWith(Embedding());
  MustPush(RandomPush(1, 1, 300));
  while (switches_.made < 2) std::this_thread::yield();  // the segment, and the next one
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

}  // namespace
}  // namespace halograph
