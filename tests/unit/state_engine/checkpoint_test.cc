// Checkpoints and snapshots: what they hold, while pushes go on, and what is left of the log.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include <malloc.h>

#include "common/state/engine/kept_snapshots.h"
#include "common/state/engine/rows/recent_most.h"
#include "tests/support/store_fixture.h"
#include "tests/unit/state_engine/watched_env.h"

namespace halograph {
namespace {

using testing::HasSubstr;

class StoreCheckpointTest : public StoreTest {
 protected:
  void PushMany(uint64_t from, uint64_t to, size_t count = 300) {
    for (uint64_t i = from; i <= to; ++i) {
      applied_.push_back({RandomPush(1, i, count)});
      MustPush(applied_.back()[0]);
    }
  }
  void MustCheckpoint() {
    const Status status = store_->Checkpoint();
    ASSERT_TRUE(status.ok()) << ToString(status);
  }
  SnapshotInfo MustSnapshot(const std::string& name, std::optional<int64_t> step = {}) {
    const StatusOr<SnapshotInfo> info = store_->Snapshot(name, step, {});
    EXPECT_TRUE(info.ok()) << ToString(info.status());
    return info.ok() ? *info : SnapshotInfo{};
  }
  void MustRestore(const std::string& name) {
    const Status status = store_->RestoreSnapshot(name);
    ASSERT_TRUE(status.ok()) << ToString(status);
  }
  [[nodiscard]] size_t FilesIn(const std::string& folder) const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(options_.folder / folder)) {
      count += entry.is_regular_file() ? 1 : 0;
    }
    return count;
  }

  // The last image of each row that a snapshot has, by id; `max_bytes` of a page.
  struct Images {
    std::map<int64_t, std::vector<std::byte>> rows;
    int64_t step = -2;
    int pages = 0;
  };
  Images ReadAll(const std::string& name, size_t max_bytes) {
    Images all;
    const size_t bytes = RowLayout::Of(Embedding()).image_bytes();
    std::optional<SnapshotPlace> place = SnapshotPlace{};
    while (place.has_value()) {
      const auto page = store_->ReadSnapshot(name, {false, "node", "emb"}, *place, max_bytes);
      EXPECT_TRUE(page.ok()) << ToString(page.status());
      if (!page.ok()) return all;
      EXPECT_EQ(page->images.size(), page->rows.size() * bytes);
      EXPECT_LE(page->images.size(), std::max(max_bytes, bytes));
      for (size_t i = 0; i < page->rows.size(); ++i) {
        const auto image = std::span(page->images).subspan(i * bytes, bytes);
        all.rows[page->rows[i]].assign(image.begin(), image.end());
      }
      all.step = page->step.value_or(all.step);
      place = page->next;
      ++all.pages;
    }
    return all;
  }
  // What StateStore::Push takes of them.
  [[nodiscard]] Status PushImages(const Images& images) {
    std::vector<int64_t> ids;
    std::vector<std::byte> rows;
    for (const auto& [id, image] : images.rows) {
      ids.push_back(id);
      rows.insert(rows.end(), image.begin(), image.end());
    }
    return store_
        ->Push({.push = {.tensor = {false, "node", "emb"},
                         .kind = PushKind::kImage,
                         .ids = ids,
                         .rows = rows},
                .id = {77, 1}},
               {})
        .status();
  }

  std::vector<std::vector<TestPush>> applied_;
};

TEST_F(StoreCheckpointTest, StalenessIsHowFarTheOldestReaderIsBehind) {
  OpenWith(Embedding());
  const auto staleness = [&] { return store_->Describe({false, "node", "emb"})->staleness; };
  PushMany(1, 5, 5);
  static_cast<void>(PullAll());
  EXPECT_EQ(staleness(), 0) << "a reader that waits for nothing";
  static_cast<void>(PullAll(5));
  EXPECT_EQ(staleness(), 0);
  static_cast<void>(PullAll(2));
  static_cast<void>(PullAll(4));
  EXPECT_EQ(staleness(), 3);
  EXPECT_EQ(store_->stats().tensors[0].staleness, 3);
  RecentMost most;
  most.Add(7, 5);
  most.Add(2, RecentMost::kHalfNs + 5);
  EXPECT_EQ(most.Value(RecentMost::kHalfNs + 6), 7);
  EXPECT_EQ(most.Value(2 * RecentMost::kHalfNs + 5), 2);
  EXPECT_EQ(most.Value(3 * RecentMost::kHalfNs + 5), 0);
  most.Add(1, 9 * RecentMost::kHalfNs);
  EXPECT_EQ(most.Value(9 * RecentMost::kHalfNs), 1);
}

// Rows and optimizer state go to another store by way of images, and on from there.
TEST_F(StoreCheckpointTest, ImagesOfASnapshotMakeTheSameStateElsewhere) {
  OpenWith(Embedding());
  PushMany(1, 3, 100);
  MustSnapshot("first");
  PushMany(4, 5, 50);  // an increment behind the first file
  MustPush(StepPush(7, 0, 1));
  applied_.push_back({StepPush(7, 0, 1)});
  MustSnapshot("second");
  MustPush(RandomPush(2, 1, 400));  // after the moment
  const Images whole = ReadAll("second", 1 << 20);
  const Images by_rows = ReadAll("second", 1);
  EXPECT_EQ(whole.rows, by_rows.rows);
  EXPECT_EQ(whole.step, 7);
  EXPECT_EQ(by_rows.step, 7);
  EXPECT_GT(by_rows.pages, static_cast<int>(by_rows.rows.size()));
  ASSERT_EQ(store_->Snapshots().size(), 2U);
  EXPECT_EQ(store_->Snapshots()[1].tensors, std::vector{Embedding()});

  options_.folder = folder_.path() / "elsewhere";
  OpenWith(Embedding());
  ASSERT_TRUE(PushImages(whole).ok());
  EXPECT_EQ(PullAll(), Expected(applied_));
  MustOpen();  // a replay sets them again
  EXPECT_EQ(PullAll(), Expected(applied_));
  applied_.push_back({RandomPush(3, 1, 400)});
  MustPush(applied_.back()[0]);
  EXPECT_EQ(PullAll(), Expected(applied_)) << "the optimizer goes on from its state";
}

TEST_F(StoreCheckpointTest, SnapshotsThatCannotBeReadAreNamed) {
  OpenWith(Embedding());
  PushMany(1, 1);
  MustSnapshot("s");
  const TensorRef emb{false, "node", "emb"};
  const Status unknown = store_->ReadSnapshot("none", emb, {}, 100).status();
  EXPECT_TRUE(absl::IsNotFound(unknown));
  EXPECT_THAT(Message(unknown), HasSubstr("are s"));
  const Status tensor = store_->ReadSnapshot("s", {false, "node", "no"}, {}, 100).status();
  EXPECT_TRUE(absl::IsNotFound(tensor));
  EXPECT_THAT(Message(tensor), HasSubstr("emb"));
  for (const SnapshotPlace& bad : {SnapshotPlace{.file = 1}, SnapshotPlace{.offset = -64},
                                   SnapshotPlace{.offset = 8}, SnapshotPlace{.section = 1},
                                   SnapshotPlace{.offset = 1 << 30}, SnapshotPlace{.row = 1000}}) {
    EXPECT_TRUE(absl::IsDataLoss(store_->ReadSnapshot("s", emb, bad, 100).status()));
  }
  // A byte of an image.
  const auto files = std::filesystem::directory_iterator(options_.folder / "checkpoints");
  std::fstream file(files->path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(64 + 8 * 200);
  file.put('x');
  file.close();
  const Status damaged = store_->ReadSnapshot("s", emb, {}, 1 << 20).status();
  EXPECT_TRUE(absl::IsDataLoss(damaged)) << ToString(damaged);
  EXPECT_THAT(Message(damaged), HasSubstr("checksum"));
}

TEST_F(StoreCheckpointTest, ImagesThatDoNotFitAreRefused) {
  OpenWith(Embedding());
  PushMany(1, 1);
  MustSnapshot("s");
  Images images = ReadAll("s", 1 << 20);
  images.rows.begin()->second.pop_back();
  EXPECT_TRUE(absl::IsInvalidArgument(PushImages(images)));
  images = ReadAll("s", 1 << 20);
  images.rows[kOwnedNodes] = images.rows.begin()->second;
  EXPECT_TRUE(absl::IsOutOfRange(PushImages(images)));
  EXPECT_EQ(PullAll(), Expected(applied_));
}

// Any bits but sums of squares below 0, which no optimizer makes.
TEST_F(StoreCheckpointTest, ImagesMayBeInfiniteOrNanAndAreCountedAndNegativeSquaresAreRefused) {
  MutableTensorSpec spec = Embedding();
  for (const auto kind :
       {RowOptimizer::Kind::kAdagrad, RowOptimizer::Kind::kRowAdagrad, RowOptimizer::Kind::kAdam}) {
    options_.folder = folder_.path() / std::to_string(static_cast<int>(kind));
    spec.optimizer = {.kind = kind};
    OpenWith(spec);
    const RowLayout layout = RowLayout::Of(spec);
    const size_t numbers = layout.image_bytes() / sizeof(float);
    const size_t square = kDim + layout.first_square + layout.squares - 1;
    const std::vector<int64_t> ids = {3, 4, 500};
    std::vector<float> images(ids.size() * numbers, 1);
    uint64_t sequence = 0;
    const auto push = [&] {
      return store_
          ->Push({.push = {.tensor = spec.ref,
                           .kind = PushKind::kImage,
                           .ids = ids,
                           .rows = std::as_bytes(std::span(images))},
                  .id = {77, ++sequence}},
                 {})
          .status();
    };
    const auto count = [&] { return store_->Describe(spec.ref)->not_finite_rows; };
    ASSERT_TRUE(push().ok());
    EXPECT_EQ(count(), 0);
    images[numbers + square] = -1e-30F;
    const Status refused = push();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << ToString(refused);
    EXPECT_THAT(Message(refused), AllOf(HasSubstr("id 4, at position 1"), HasSubstr("-1e-30"),
                                        HasSubstr("sum of squares")));
    images[numbers + square] = -NAN;
    images[2 * numbers + square] = INFINITY;
    ASSERT_TRUE(push().ok());
    EXPECT_EQ(count(), 2);
    images[0] = -INFINITY;
    ASSERT_TRUE(push().ok());
    EXPECT_EQ(count(), 5) << "each time";
    EXPECT_EQ(store_->stats().tensors[0].not_finite_rows, 5);
    const std::vector<float> before = PullAll();
    MustOpen();
    EXPECT_EQ(count(), 0) << "since it was opened";
    EXPECT_EQ(std::memcmp(PullAll().data(), before.data(), before.size() * sizeof(float)), 0);
  }
}

// Finite numbers make what is not.
TEST_F(StoreCheckpointTest, APushThatLeavesARowInfiniteIsCounted) {
  OpenWith(Embedding());
  const auto count = [&] { return store_->Describe({false, "node", "emb"})->not_finite_rows; };
  TestPush push = RandomPush(1, 1, 10);
  MustPush(push);
  EXPECT_EQ(count(), 0);
  push.kind = PushKind::kAdd;
  push.ids = {7, 9, 7};
  push.values.assign(3 * kDim, 3e38F);  // twice to row 7
  push.sequence = 2;
  MustPush(push);
  EXPECT_EQ(count(), 1);
  TestPush step = StepPush(0, 0, 1);
  step.kind = PushKind::kAdd;
  step.ids = {9, 1};
  step.values.assign(2 * kDim, 3e38F);
  MustPush(step);
  EXPECT_EQ(count(), 2) << "9 had as much already";
}

TEST_F(StoreCheckpointTest, ReopeningTakesTheCheckpointAndTheLogBehindIt) {
  OpenWith(Embedding());
  PushMany(1, 20);
  MustCheckpoint();
  PushMany(21, 25);
  MustOpen();
  EXPECT_EQ(store_->stats().replayed_pushes, 5);
  EXPECT_EQ(store_->stats().lsn, 25);
  EXPECT_EQ(PullAll(), Expected(applied_));
  EXPECT_TRUE(MustPush(RandomPush(1, 3, 300)).repeated);
  EXPECT_EQ(MustPush(RandomPush(1, 26)).lsn, 26);
}

TEST_F(StoreCheckpointTest, ItTellsOfEachSyncAndHowOldTheLastCheckpointIs) {
  std::atomic<int64_t> syncs = 0;
  std::atomic<int64_t> sync_ns = 0;
  options_.sync = SyncLevel::kAlways;
  options_.on_sync = [&](int part, int64_t ns) {
    EXPECT_EQ(part, graph_.part);
    ++syncs;
    sync_ns += ns;
  };
  OpenWith(Embedding());
  PushMany(1, 5);
  const int64_t begin = env_->scheduler().NowNs();
  MustCheckpoint();
  const StateStats stats = store_->stats();
  EXPECT_GE(stats.syncs, 1);
  EXPECT_EQ(syncs, stats.syncs);
  EXPECT_DOUBLE_EQ(stats.sync_seconds, static_cast<double>(sync_ns) * 1e-9);
  EXPECT_GE(stats.checkpoint_age_seconds, 0);
  const double now = static_cast<double>(env_->scheduler().NowNs() - begin) * 1e-9;
  EXPECT_LE(stats.checkpoint_age_seconds, now);
  store_.reset();  // it tells of its last syncs, too
}

TEST_F(StoreCheckpointTest, PushesTakenAreCountedFromTheStartAndNeverTakenBack) {
  OpenWith(Embedding());
  PushMany(1, 5);
  MustSnapshot("s");
  PushMany(6, 8);
  const StateStats before = store_->stats();
  EXPECT_EQ(before.taken_pushes, 8);
  EXPECT_GT(before.taken_rows, 0);
  ASSERT_TRUE(store_->RestoreSnapshot("s").ok());
  EXPECT_EQ(store_->stats().tensors[0].pushes, 5) << "what its rows show";
  EXPECT_EQ(store_->stats().taken_pushes, 8);
  EXPECT_EQ(store_->stats().taken_rows, before.taken_rows);
  MustOpen();
  EXPECT_EQ(store_->stats().taken_pushes, 0);
  EXPECT_EQ(store_->stats().taken_rows, 0);
}

TEST_F(StoreCheckpointTest, ChainOfIncrementsIsMergedAndOldFilesGo) {
  OpenWith(Embedding());
  for (uint64_t i = 1; i <= 30; ++i) {
    PushMany(i, i, 5);
    MustCheckpoint();
    EXPECT_LE(FilesIn("checkpoints"), 10u);
  }
  MustOpen();
  EXPECT_EQ(store_->stats().replayed_pushes, 0);
  EXPECT_EQ(PullAll(), Expected(applied_));
}

TEST_F(StoreCheckpointTest, LogIsBoundedByCheckpointsOfItsOwn) {
  options_.log_bytes = 4 * options_.segment_bytes;
  OpenWith(Embedding());
  PushMany(1, 200);
  EXPECT_GE(store_->stats().checkpoints, 1);
  EXPECT_LE(store_->stats().log_bytes, options_.log_bytes + options_.segment_bytes);
  EXPECT_LE(FilesIn("log"), 8u);
  MustOpen();
  EXPECT_EQ(PullAll(), Expected(applied_));
}

TEST_F(StoreCheckpointTest, PushesGoOnDuringCheckpointsAndNoneIsTorn) {
  options_.sync = SyncLevel::kNever;
  OpenWith(Embedding());
  std::atomic<bool> done = false;
  std::thread checkpoints([&] {
    while (!done.load()) EXPECT_TRUE(store_->Checkpoint().ok());
  });
  PushMany(1, 150);
  done = true;
  checkpoints.join();
  MustOpen();
  EXPECT_EQ(PullAll(), Expected(applied_));
}

TEST_F(StoreCheckpointTest, ManyClientsAtOnceGiveWhatTheOrderOfTheLogSays) {
  OpenWith(Embedding());
  std::vector<std::thread> threads;
  std::vector<std::pair<int64_t, TestPush>> pushed(40);
  for (uint64_t client = 1; client <= 4; ++client) {
    threads.emplace_back([&, client] {
      for (uint64_t i = 1; i <= 10; ++i) {
        const TestPush push = RandomPush(client, i);
        pushed[(client - 1) * 10 + i - 1] = {MustPush(push).lsn, push};
      }
    });
  }
  threads.emplace_back([&] { EXPECT_TRUE(store_->Checkpoint().ok()); });
  for (std::thread& thread : threads) thread.join();
  std::sort(pushed.begin(), pushed.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [lsn, push] : pushed) applied_.push_back({push});
  EXPECT_EQ(PullAll(40), Expected(applied_));
  MustOpen();
  EXPECT_EQ(PullAll(40), Expected(applied_));
}

TEST_F(StoreCheckpointTest, WaitingPushesAreInTheCheckpoint) {
  OpenWith(Embedding());
  const std::vector<TestPush> step = {StepPush(0, 0, 2), StepPush(0, 1, 2)};
  MustPush(step[1]);
  MustCheckpoint();
  MustOpen();
  EXPECT_EQ(store_->stats().replayed_pushes, 0);
  EXPECT_EQ(PullAll(), Expected({}));
  EXPECT_TRUE(MustPush(step[1]).repeated);
  const int64_t lsn = MustPush(step[0]).lsn;
  EXPECT_EQ(PullAll(lsn), Expected({step}));
  EXPECT_EQ(store_->Describe({false, "node", "emb"})->pushes, 2);
}

TEST_F(StoreCheckpointTest, FlippedByteInACheckpointIsDataLossAndNamesTheFile) {
  OpenWith(Embedding());
  PushMany(1, 3);
  MustCheckpoint();
  store_.reset();
  const std::filesystem::path file = options_.folder / "checkpoints" / "checkpoint-00000001";
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(file));
  for (const int64_t at :
       {int64_t{0}, int64_t{20}, int64_t{70}, bytes / 2, bytes - 100, bytes - 1}) {
    SCOPED_TRACE(at);
    Flip(file, at);
    const Status damaged = Open();
    EXPECT_TRUE(absl::IsDataLoss(damaged)) << ToString(damaged);
    EXPECT_THAT(Message(damaged), HasSubstr("checkpoint-00000001"));
    Flip(file, at);
  }
  MustOpen();
  std::filesystem::remove(file);
  EXPECT_TRUE(absl::IsDataLoss(Open()));
}

// Three snapshots with pushes between them, and after the last; then the store is closed, and some
// of its files are damaged.
class StoreFallBackTest : public StoreCheckpointTest {
 protected:
  void SetUp() override {
    OpenWith(Embedding());
    for (const std::string name : {"s1", "s2", "s3"}) {
      PushMany(applied_.size() + 1, applied_.size() + 3);
      static_cast<void>(MustSnapshot(name));
      of_snapshot_[name] = {applied_.size(), store_->stats().lsn};
      files_of_[name] = static_cast<int>(of_snapshot_.size());
    }
    PushMany(applied_.size() + 1, applied_.size() + 3);
    lsn_ = store_->stats().lsn;
    store_.reset();
    options_.on_fall_back = [this](const std::string& name, const Status& damage) {
      fell_back_to_ = name;
      EXPECT_TRUE(absl::IsDataLoss(damage)) << damage;
    };
  }
  std::filesystem::path FileOf(const std::string& snapshot) {
    return options_.folder / "checkpoints" / fmt::format("checkpoint-{:08}", files_of_[snapshot]);
  }
  static void FlipTheMiddle(const std::filesystem::path& file) {
    Flip(file, static_cast<int64_t>(std::filesystem::file_size(file) / 2));
  }
  // The store is open, as it was at a snapshot; takes pushes, and starts again with them.
  void ExpectBackAt(const std::string& name) {
    EXPECT_EQ(fell_back_to_, name);
    applied_.resize(of_snapshot_[name].first);
    EXPECT_EQ(PullAll(), Expected(applied_));
    applied_.push_back({RandomPush(2, 1)});
    EXPECT_GE(MustPush(applied_.back()[0]).lsn, of_snapshot_[name].second + 1);
    static_cast<void>(MustSnapshot("later"));
    applied_.push_back({RandomPush(2, 2)});
    MustPush(applied_.back()[0]);
    options_.fall_back_to.clear();
    MustOpen();
    EXPECT_EQ(PullAll(), Expected(applied_));
  }
  std::map<std::string, std::pair<size_t, int64_t>> of_snapshot_;  // pushes until then, and LSN
  std::map<std::string, int> files_of_;                            // that it alone has
  int64_t lsn_ = 0;
  std::string fell_back_to_;
};

TEST_F(StoreFallBackTest, ADamagedFileLeadsToTheFirstSnapshotThatIsWhole) {
  FlipTheMiddle(FileOf("s3"));
  const Status damaged = Open();
  EXPECT_TRUE(absl::IsDataLoss(damaged)) << "nobody asked for another moment";
  EXPECT_THAT(Message(damaged), HasSubstr("--state-fall-back s3,s2,s1"));
  options_.fall_back_to = {"s3", "s2", "s1"};
  MustOpen();
  ExpectBackAt("s2");
  EXPECT_TRUE(absl::IsDataLoss(store_->RestoreSnapshot("s3")));
}

TEST_F(StoreFallBackTest, AMissingFileLeadsToTheOneBeforeItTooAndTakesTheLaterOnes) {
  std::filesystem::remove(FileOf("s2"));
  options_.fall_back_to = {"s3", "s2", "s1"};
  MustOpen();
  ExpectBackAt("s1");
}

TEST_F(StoreFallBackTest, ADamagedLogLeadsToTheNewestSnapshot) {
  for (const auto& entry : std::filesystem::directory_iterator(options_.folder / "log")) {
    std::filesystem::resize_file(entry.path(), 5000);
  }
  EXPECT_TRUE(absl::IsDataLoss(Open()));
  options_.fall_back_to = {"s3", "s2", "s1"};
  MustOpen();
  EXPECT_GE(store_->stats().lsn, of_snapshot_["s3"].second);
  ExpectBackAt("s3");
}

TEST_F(StoreFallBackTest, WhatTheLogOfAKilledProcessSaysIsNotWaitedFor) {
  options_.sync = SyncLevel::kAlways;
  MustOpen();
  PushMany(applied_.size() + 1, applied_.size() + 3);
  CrashStore();
  for (const auto& entry : std::filesystem::directory_iterator(options_.folder / "log")) {
    Flip(entry.path(), 20);  // of its header
  }
  EXPECT_TRUE(absl::IsDataLoss(Open()));
  options_.fall_back_to = {"s3"};
  MustOpen();
  ExpectBackAt("s3");
}

TEST_F(StoreFallBackTest, WithoutDamageItIsNotTaken) {
  options_.fall_back_to = {"s1"};
  MustOpen();
  EXPECT_EQ(fell_back_to_, "");
  EXPECT_EQ(PullAll(), Expected(applied_));
  EXPECT_EQ(store_->stats().lsn, lsn_);
}

TEST_F(StoreFallBackTest, AFileThatOnlyASnapshotHasIsNotMissedByTheStore) {
  MustOpen();
  const Status restored = store_->RestoreSnapshot("s1");
  ASSERT_TRUE(restored.ok()) << restored;
  applied_.resize(of_snapshot_["s1"].first);
  applied_.push_back({RandomPush(2, 1)});
  MustPush(applied_.back()[0]);
  store_.reset();
  std::filesystem::remove(FileOf("s3"));
  options_.fall_back_to = {"s2"};
  MustOpen();
  EXPECT_EQ(fell_back_to_, "");
  EXPECT_EQ(PullAll(), Expected(applied_));
  EXPECT_TRUE(absl::IsDataLoss(store_->RestoreSnapshot("s3")));
}

TEST_F(StoreFallBackTest, NothingChangesIfNoneIsWhole) {
  FlipTheMiddle(FileOf("s1"));
  options_.fall_back_to = {"s3", "s1", "other"};
  const Status failed = Open();
  EXPECT_TRUE(absl::IsDataLoss(failed)) << failed;
  EXPECT_THAT(Message(failed),
              HasSubstr("none of the snapshots to fall back to is whole here; whole are none"));
  FlipTheMiddle(FileOf("s1"));
  MustOpen();
  EXPECT_EQ(PullAll(), Expected(applied_));
}

TEST_F(StoreCheckpointTest, StartThatFailsRemovesNoCheckpoint) {
  options_.sync = SyncLevel::kAlways;
  OpenWith(Embedding());
  PushMany(1, 3);
  MustCheckpoint();
  const std::filesystem::path catalogue = options_.folder / "catalogue";
  std::filesystem::copy(catalogue, folder_.path() / "before");
  PushMany(4, 40);
  MustCheckpoint();
  store_.reset();
  std::filesystem::copy(folder_.path() / "before", catalogue,
                        std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(absl::IsDataLoss(Open()));
  EXPECT_TRUE(std::filesystem::exists(options_.folder / "checkpoints" / "checkpoint-00000002"));
}

TEST_F(StoreCheckpointTest, SnapshotIsOneMomentAndIsRestored) {
  OpenWith(Embedding());
  PushMany(1, 5);
  const std::vector<std::vector<TestPush>> then = applied_;
  EXPECT_EQ(MustSnapshot("five").lsn, 5);
  PushMany(6, 9);
  MustSnapshot("nine");
  PushMany(10, 12);
  MustRestore("five");
  EXPECT_EQ(PullAll(), Expected(then));
  EXPECT_TRUE(MustPush(RandomPush(1, 12, 300)).repeated);  // who pushed what is not forgotten
  EXPECT_EQ(MustPush(RandomPush(1, 13)).lsn, 13);
  MustOpen();
  std::vector<std::vector<TestPush>> after = then;
  after.push_back({RandomPush(1, 13)});
  EXPECT_EQ(PullAll(), Expected(after));
  MustRestore("nine");
  EXPECT_EQ(PullAll(), Expected({applied_.begin(), applied_.begin() + 9}));
  ASSERT_EQ(store_->Snapshots().size(), 2u);
  EXPECT_EQ(store_->Snapshots()[0].name, "five");
}

TEST_F(StoreCheckpointTest, SnapshotWritesOnlyTheRowsTouchedSinceTheLast) {
  MutableTensorSpec wide = Embedding();
  OpenWith(wide);
  PushMany(1, 5);
  const SnapshotInfo first = MustSnapshot("first");
  PushMany(6, 6, 20);
  const SnapshotInfo second = MustSnapshot("second");
  EXPECT_LT(second.bytes, first.bytes / 4);
  EXPECT_EQ(FilesIn("checkpoints"), 2u);
}

TEST_F(StoreCheckpointTest, DeletedSnapshotIsGoneWithItsFiles) {
  OpenWith(Embedding());
  PushMany(1, 3);
  MustSnapshot("a");
  EXPECT_TRUE(absl::IsAlreadyExists(store_->Snapshot("a", {}, {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Snapshot("a/b", {}, {}).status()));
  for (uint64_t i = 4; i <= 15; ++i) {
    PushMany(i, i);
    MustCheckpoint();  // merges: the snapshot's file is its own now
  }
  const size_t files = FilesIn("checkpoints");
  ASSERT_TRUE(store_->DeleteSnapshot("a").ok());
  EXPECT_LT(FilesIn("checkpoints"), files);
  const Status gone = store_->RestoreSnapshot("a");
  EXPECT_TRUE(absl::IsNotFound(gone));
  MustOpen();
  EXPECT_TRUE(store_->Snapshots().empty());
  EXPECT_EQ(PullAll(), Expected(applied_));
}

// A trainer of two ranks goes on meanwhile, with two tensors.
TEST_F(StoreCheckpointTest, SnapshotOfAStepShowsThatStepInAllTensors) {
  options_.step_timeout_ns = 20'000'000'000;
  OpenWith(Embedding());
  ASSERT_TRUE(store_->Create(Embedding("other")).ok());
  const auto push_of = [](int64_t step, int32_t rank, const std::string& tensor) {
    TestPush push = StepPush(step, rank, 2);
    push.tensor = tensor;
    push.sequence = static_cast<uint64_t>(2 * step) + (tensor == "emb" ? 1 : 2);
    return push;
  };
  std::atomic<bool> done = false;
  std::thread trainer([&] {
    for (int64_t step = 0; !done.load() && step < 5000; ++step) {
      for (const int32_t rank : {1, 0}) {
        MustPush(push_of(step, rank, "emb"));
        MustPush(push_of(step, rank, "other"));
      }
    }
  });
  int64_t step = 0;
  StatusOr<SnapshotInfo> taken = Internal("none yet");
  // The trainer may have been faster than this thread.
  while (!taken.ok()) {
    step = store_->Describe({false, "node", "emb"})->step + 10;
    taken = store_->Snapshot("s", step, {});
    ASSERT_TRUE(taken.ok() || taken.status().code() == absl::StatusCode::kFailedPrecondition)
        << ToString(taken.status());
  }
  done = true;
  trainer.join();
  MustRestore("s");
  std::vector<std::vector<TestPush>> steps;
  for (int64_t s = 0; s <= step; ++s) steps.push_back({push_of(s, 0, "emb"), push_of(s, 1, "emb")});
  EXPECT_EQ(PullAll(0, "emb"), Expected(steps));
  EXPECT_EQ(PullAll(0, "other"), Expected(steps, Embedding("other")));
  MustOpen();
  EXPECT_EQ(PullAll(0, "emb"), Expected(steps));
  EXPECT_EQ(PullAll(0, "other"), Expected(steps, Embedding("other")));
}

// One tensor is past the step and its pushes have saved all the images that may be kept, when the
// other tensor comes to the step.
TEST_F(StoreCheckpointTest, SnapshotOfAStepDoesNotWaitForAPushThatWaitsForIt) {
  auto watched = std::make_unique<WatchedEnv>();
  const WatchedEnv& env = *watched;
  env_ = std::move(watched);
  options_.sync = SyncLevel::kNever;
  options_.max_image_bytes = 1;
  options_.step_timeout_ns = 60'000'000'000;
  OpenWith(Embedding());
  ASSERT_TRUE(store_->Create(Embedding("other")).ok());
  const auto push_of = [](int64_t step, const std::string& tensor) {
    TestPush push = StepPush(step, 0, 1);
    push.tensor = tensor;
    push.sequence = static_cast<uint64_t>(2 * step) + (tensor == "emb" ? 1 : 2);
    return push;
  };
  MustPush(push_of(0, "emb"));
  MustPush(push_of(0, "other"));
  std::thread snapshot([&] { MustSnapshot("s", 1); });
  env.AwaitTimedWait();
  MustPush(push_of(1, "emb"));
  MustPush(push_of(2, "emb"));  // saves images
  std::thread pusher([&] { MustPush(push_of(3, "emb")); });
  while (store_->stats().lsn < 5) std::this_thread::yield();  // its turn is the next
  MustPush(push_of(1, "other"));
  snapshot.join();
  pusher.join();
  MustRestore("s");
  EXPECT_EQ(PullAll(), Expected({{push_of(0, "emb")}, {push_of(1, "emb")}}));
}

// The snapshot needs the push, which waits for a checkpoint, which does not wait for the snapshot.
TEST_F(StoreCheckpointTest, SnapshotOfAStepLetsAPushThroughThatWaitsForAShorterLog) {
  auto watched = std::make_unique<WatchedEnv>("hg-checkpoint");
  WatchedEnv& env = *watched;
  env_ = std::move(watched);
  options_.sync = SyncLevel::kNever;
  options_.log_bytes = 2 * options_.segment_bytes;
  options_.step_timeout_ns = 20'000'000'000;
  OpenWith(Embedding());
  const auto within = [](std::chrono::milliseconds time) {
    return WorkLimits{.deadline = std::chrono::steady_clock::now() + time};
  };
  std::vector<std::vector<TestPush>> steps;
  for (bool full = false; !full;) {
    const TestPush push = StepPush(std::ssize(steps), 0, 1);
    steps.push_back({push});
    const Status pushed =
        store_->Push(push.request(), within(std::chrono::milliseconds(20))).status();
    full = !pushed.ok() && Message(pushed).find("the push is not in the log") != std::string::npos;
    if (!full) MustPush(push);  // it may have been slow, and counts once
  }
  env.ForgetTimedWaits();
  const int64_t last = std::ssize(steps) - 1;
  std::thread pusher([&] {
    const Status pushed =
        store_->Push(steps.back().front().request(), within(std::chrono::minutes(2))).status();
    EXPECT_TRUE(pushed.ok()) << ToString(pushed);
  });
  env.AwaitTimedWait();
  env.ForgetTimedWaits();
  std::thread snapshot([&] { EXPECT_EQ(MustSnapshot("s", last).step, last); });
  env.AwaitTimedWait();
  EXPECT_LT(store_->stats().lsn, last + 1) << "the log is as long as it may be";
  env.Release();
  pusher.join();
  snapshot.join();
  EXPECT_EQ(PullAll(), Expected(steps));
}

TEST_F(StoreCheckpointTest, SnapshotBehindAnotherOneThatWaitsEndsAtItsDeadline) {
  auto watched = std::make_unique<WatchedEnv>();
  const WatchedEnv& env = *watched;
  env_ = std::move(watched);
  options_.sync = SyncLevel::kNever;
  options_.step_timeout_ns = 60'000'000'000;
  OpenWith(Embedding());
  std::thread first([&] { MustSnapshot("first", 0); });
  env.AwaitTimedWait();
  const WorkLimits late = {.deadline = std::chrono::steady_clock::now()};
  EXPECT_TRUE(absl::IsDeadlineExceeded(store_->Snapshot("second", {}, late).status()));
  MustPush(StepPush(0, 0, 1));
  first.join();
  EXPECT_EQ(store_->Snapshots().size(), 1u);
}

TEST_F(StoreCheckpointTest, SnapshotOfAStepThatIsOverIsFailedPrecondition) {
  OpenWith(Embedding());
  for (int64_t s = 0; s < 3; ++s) MustPush(StepPush(s, 0, 1));
  EXPECT_EQ(store_->Snapshot("s", 1, {}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(MustSnapshot("s", 2).step, 2);
}

TEST_F(StoreCheckpointTest, SnapshotOfAStepThatDoesNotComeNamesTheMissingRank) {
  OpenWith(Embedding());
  MustPush(StepPush(0, 1, 2));
  const Status late = store_->Snapshot("s", 0, {}).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << ToString(late);
  EXPECT_THAT(Message(late), HasSubstr("rank 0"));
  MustPush(StepPush(0, 0, 2));
  EXPECT_EQ(MustSnapshot("s", 0).step, 0);
}

TEST_F(StoreCheckpointTest, RestoreGivesUpWaitingPushesAndEndsTheRun) {
  OpenWith(Embedding());
  MustPush(StepPush(0, 0, 1));
  MustSnapshot("s", 0);
  MustPush(StepPush(1, 0, 1));
  MustRestore("s");
  EXPECT_EQ(PullAll(), Expected({{StepPush(0, 0, 1)}}));
  TestPush old = StepPush(2, 0, 1);
  EXPECT_EQ(store_->Push(old.request(), {}).status().code(), absl::StatusCode::kFailedPrecondition);
  const int64_t lsn = MustPush(StepPush(1, 0, 1, 10)).lsn;  // a new run goes on after step 0
  EXPECT_EQ(PullAll(lsn), Expected({{StepPush(0, 0, 1)}, {StepPush(1, 0, 1, 10)}}));
}

TEST_F(StoreCheckpointTest, RestoredTensorThatWasDroppedStillRefusesItsPastRuns) {
  OpenWith(Embedding());
  MustPush(StepPush(0, 0, 1, 8));
  MustPush(StepPush(1, 0, 1, 9));
  MustSnapshot("s");
  ASSERT_TRUE(store_->Drop({false, "node", "emb"}).ok());
  MustRestore("s");
  for (const uint64_t run : {8u, 9u}) {
    const TestPush old = StepPush(2, 0, 1, run);
    EXPECT_EQ(store_->Push(old.request(), {}).status().code(),
              absl::StatusCode::kFailedPrecondition);
  }
}

TEST_F(StoreCheckpointTest, RestoreBringsBackDroppedTensorsAndDropsNewOnes) {
  OpenWith(Embedding());
  PushMany(1, 2);
  MustSnapshot("s");
  ASSERT_TRUE(store_->Drop({false, "node", "emb"}).ok());
  ASSERT_TRUE(store_->Create(Embedding("new")).ok());
  MustRestore("s");
  EXPECT_EQ(PullAll(), Expected(applied_));
  EXPECT_TRUE(absl::IsNotFound(store_->Describe({false, "node", "new"}).status()));
  MustOpen();
  EXPECT_EQ(PullAll(), Expected(applied_));
}

// Names of what a piece tells.
std::vector<std::string> Names(const std::vector<MutableTensorStats>& tensors) {
  std::vector<std::string> names;
  for (const MutableTensorStats& tensor : tensors) names.push_back(tensor.spec.ref.name);
  return names;
}
std::vector<std::string> Names(const std::vector<SnapshotInfo>& snapshots) {
  std::vector<std::string> names;
  for (const SnapshotInfo& info : snapshots) {
    names.push_back(info.name);
    for (const MutableTensorSpec& spec : info.tensors) names.push_back(spec.ref.name);
  }
  return names;
}

using testing::ElementsAre;

TEST_F(StoreCheckpointTest, TensorsAreListedInPiecesByName) {
  MustOpen();
  for (const char* name : {"b", "d", "a", "c"}) ASSERT_TRUE(store_->Create(Embedding(name)).ok());
  EXPECT_THAT(Names(store_->stats().tensors), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(Names(store_->stats({.most = 2}).tensors), ElementsAre("a", "b"));
  EXPECT_TRUE(store_->stats({.most = 0}).tensors.empty());
  const TensorRange behind_b{.after = Embedding("b").ref};
  EXPECT_THAT(Names(store_->stats(behind_b).tensors), ElementsAre("c", "d"));
  ASSERT_TRUE(store_->Drop(Embedding("b").ref).ok());
  EXPECT_THAT(Names(store_->stats(behind_b).tensors), ElementsAre("c", "d")) << "it is gone";
  MustSnapshot("kept");
  ASSERT_TRUE(store_->Drop(Embedding("c").ref).ok());
  ASSERT_TRUE(store_->Create(Embedding("e")).ok());
  MustRestore("kept");
  EXPECT_THAT(Names(store_->stats().tensors), ElementsAre("a", "c", "d"));
  EXPECT_TRUE(store_->Describe(Embedding("c").ref).ok());
  EXPECT_TRUE(absl::IsNotFound(store_->Describe(Embedding("e").ref).status()));
  MustOpen();
  EXPECT_THAT(Names(store_->stats().tensors), ElementsAre("a", "c", "d"));
}

// More than are told under one lock.
TEST_F(StoreCheckpointTest, ALongListOfTensorsIsWhole) {
  MustOpen();
  std::vector<std::string> names;
  for (int i = 0; i < 600; ++i) {
    MutableTensorSpec spec = Embedding(fmt::format("t{:03}", i));
    spec.ref.type = "";
    spec.placement = Placement::kRange;
    spec.rows = 2;
    ASSERT_TRUE(store_->Create(spec).ok());
    names.push_back(spec.ref.name);
  }
  EXPECT_EQ(Names(store_->stats().tensors), names);
  names.resize(512);
  EXPECT_EQ(Names(store_->stats({.most = 512}).tensors), names);
}

TEST_F(StoreCheckpointTest, SnapshotsAreListedInPiecesByName) {
  OpenWith(Embedding("a"));
  ASSERT_TRUE(store_->Create(Embedding("b")).ok());
  MustSnapshot("two");
  ASSERT_TRUE(store_->Drop(Embedding("a").ref).ok());
  MustSnapshot("one");
  const auto told = [&](const SnapshotRange& range) { return Names(store_->Snapshots(range)); };
  EXPECT_THAT(told({}), ElementsAre("one", "b", "two", "a", "b"));
  EXPECT_THAT(told({.tensors = false}), ElementsAre("one", "two"));
  EXPECT_THAT(told({.name = "two"}), ElementsAre("two", "a", "b"));
  EXPECT_TRUE(told({.name = "none"}).empty());
  EXPECT_THAT(told({.most = 4}), ElementsAre("one", "b", "two", "a"));
  using Place = SnapshotRange::Place;
  EXPECT_THAT(told({.from = Place{"two", 1}}), ElementsAre("two", "b"));
  EXPECT_THAT(told({.from = Place{"one", 0}, .most = 1}), ElementsAre("one", "b"));
  EXPECT_THAT(told({.from = Place{"one", 1}, .most = 2}), ElementsAre("two", "a"));
  EXPECT_THAT(told({.tensors = false, .from = Place{"one", 0}}), ElementsAre("two"));
  EXPECT_TRUE(told({.from = Place{"two", 2}}).empty());
  EXPECT_THAT(told({.from = Place{"perhaps gone", 7}}), ElementsAre("two", "a", "b"));
  MustOpen();
  EXPECT_THAT(told({}), ElementsAre("one", "b", "two", "a", "b"));
}

TEST(KeptSnapshotsTest, TensorsAreHeldOnceAndGoWithTheirLastSnapshot) {
  const auto made = [](const std::string& name, std::vector<CatalogueTensor> tensors) {
    return CatalogueSnapshot{.info = {.name = name}, .files = {}, .tensors = std::move(tensors)};
  };
  KeptSnapshots kept;
  const CatalogueTensor one{1, Embedding("a")}, two{2, Embedding("b")}, three{3, Embedding("c")};
  kept.Add(kept.Share(made("x", {one, two})));
  kept.Add(kept.Share(made("y", {one, two})));
  kept.Add(kept.Share(made("z", {two, three})));
  const auto x = *kept.Find("x"), z = *kept.Find("z");
  EXPECT_EQ(x->tensors, (*kept.Find("y"))->tensors) << "one list";
  EXPECT_EQ((*x->tensors)[1], (*z->tensors)[0]) << "one tensor";
  EXPECT_EQ((*z->tensors)[1]->spec, three.spec);
  const std::weak_ptr<const CatalogueTensor> first = (*x->tensors)[0], second = (*x->tensors)[1];
  KeptSnapshots::List before = kept.list();
  kept.Remove("x");
  kept.Remove("y");
  kept.Forget();
  EXPECT_FALSE(first.expired()) << "who reads them has them yet";
  before.clear();
  // x and z are held here.
  EXPECT_EQ(second.use_count(), 2);
  EXPECT_TRUE(absl::IsNotFound(kept.Find("x").status()));
  EXPECT_EQ(kept.list().size(), 1U);
}

// Each a copy, they took 125 MB.
TEST(KeptSnapshotsTest, ManySnapshotsTakeTheMemoryOfOneList) {
  const auto used = [] { return static_cast<int64_t>(mallinfo2().uordblks); };
  KeptSnapshots kept;
  const int64_t before = used();
  for (uint32_t snapshot = 0; snapshot < 25; ++snapshot) {
    CatalogueSnapshot made{
        .info = {.name = fmt::format("s{}", snapshot)}, .files = {}, .tensors = {}};
    // One tensor is dropped and another made between two snapshots.
    for (uint32_t number = snapshot; number < snapshot + 10'000; ++number) {
      made.tensors.push_back({number, Embedding(fmt::format("a-tensor-of-some-name-{}", number))});
    }
    kept.Add(kept.Share(made));
  }
  EXPECT_LT(used() - before, int64_t{10} << 20);
  for (int snapshot = 0; snapshot < 25; ++snapshot) kept.Remove(fmt::format("s{}", snapshot));
  kept.Forget();
  EXPECT_LT(used() - before, int64_t{1} << 20);
}

TEST(KeptSnapshotsTest, TheMemoryOfADeletedSnapshotIsGivenBack) {
  KeptSnapshots kept;
  std::weak_ptr<const CatalogueTensor> only;
  {
    const auto snapshot = kept.Share({.info = {.name = "x"}, .files = {}, .tensors = {{1, {}}}});
    only = snapshot->tensors->front();
    kept.Add(snapshot);
  }
  EXPECT_FALSE(only.expired());
  kept.Remove("x");
  EXPECT_TRUE(only.expired());
}

}  // namespace
}  // namespace halograph
