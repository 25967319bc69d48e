// What a store does with the files of one that ended in any way.
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/store_fixture.h"

namespace halograph {
namespace {

using testing::HasSubstr;

class StoreRecoveryTest : public StoreTest {
 protected:
  StoreRecoveryTest() { options_.segment_bytes = 32 << 10; }

  // Pushes of 300 rows, 8 KiB each: a segment has three of them.
  void PushMany(uint64_t from, uint64_t to) {
    for (uint64_t i = from; i <= to; ++i) {
      applied_.push_back({RandomPush(1, i, 300)});
      MustPush(applied_.back()[0]);
    }
  }
  [[nodiscard]] std::vector<float> ExpectedAfter(size_t pushes) const {
    return Expected({applied_.begin(), applied_.begin() + static_cast<std::ptrdiff_t>(pushes)});
  }

  // As it is on the disk now, without the end that a store writes when it closes.
  void Crash() { CrashStore(); }

  struct Place {
    std::filesystem::path path;
    int64_t offset = 0;
  };
  // Where the header of the record of an LSN begins.
  [[nodiscard]] Place PlaceOf(int64_t lsn) const {
    for (const auto& entry : std::filesystem::directory_iterator(options_.folder / "log")) {
      const std::string bytes = Contents(entry.path());
      for (size_t at = 4096; at + 4096 <= bytes.size(); at += 4096) {
        int64_t found = 0;
        std::memcpy(&found, bytes.data() + at + 24, sizeof(found));
        if (bytes.compare(at + 8, 8, "HALGREC1") == 0 && found == lsn) {
          return {entry.path(), static_cast<int64_t>(at)};
        }
      }
    }
    ADD_FAILURE() << "no record of LSN " << lsn;
    return {};
  }
  void FlipRecord(int64_t lsn, int64_t by) const {
    const Place place = PlaceOf(lsn);
    Flip(place.path, place.offset + by);
  }

  std::vector<std::vector<TestPush>> applied_;
};

// As a process that is killed in the middle of a write leaves it.
TEST_F(StoreRecoveryTest, LastRecordThatIsTornIsTheEndOfTheLogWithoutAWord) {
  options_.sync = SyncLevel::kNever;  // nothing says that it was synced
  options_.on_unsynced_loss = [](const Status& end, int64_t) { ADD_FAILURE() << ToString(end); };
  for (const uint64_t last : {5, 6}) {  // in the middle of a segment, and at its end
    SCOPED_TRACE(last);
    OpenWith(Embedding());
    PushMany(1, last);
    Crash();
    FlipRecord(static_cast<int64_t>(last), 5000);  // in its body
    MustOpen();
    EXPECT_EQ(store_->stats().lsn, last - 1);
    EXPECT_EQ(PullAll(), ExpectedAfter(last - 1));
    // The same push again, as the client that had no answer sends it.
    EXPECT_EQ(MustPush(RandomPush(1, last, 300)).lsn, last);
    EXPECT_EQ(PullAll(), ExpectedAfter(last));
    MustOpen();
    EXPECT_EQ(PullAll(), ExpectedAfter(last));
    store_.reset();
    std::filesystem::remove_all(options_.folder);
    applied_.clear();
  }
}

TEST_F(StoreRecoveryTest, RecordsBehindTheEndNeverComeBack) {
  options_.sync = SyncLevel::kNever;
  OpenWith(Embedding());
  PushMany(1, 9);  // in three segments
  Crash();
  FlipRecord(3, 5000);
  MustOpen();
  EXPECT_EQ(PullAll(), ExpectedAfter(2));
  applied_.resize(2);
  PushMany(13, 14);
  MustOpen();
  EXPECT_EQ(store_->stats().lsn, 4);
  EXPECT_EQ(PullAll(), ExpectedAfter(4));
}

// A named segment's header was on the disk before the name. A file that has the header of an
// earlier use is no torn end, whatever records it holds.
TEST_F(StoreRecoveryTest, SegmentWithTheHeaderOfAnEarlierUseIsDataLoss) {
  options_.sync = SyncLevel::kNever;
  OpenWith(Embedding());
  PushMany(1, 9);  // in three segments, of which the checkpoint frees two
  ASSERT_TRUE(store_->Checkpoint().ok());
  const std::filesystem::path used_again = options_.folder / "log" / "segment-000001";
  const std::string header = Contents(used_again).substr(0, 4096);
  PushMany(10, 15);
  while (Contents(used_again).substr(0, 4096) == header) std::this_thread::yield();
  Crash();
  std::fstream file(used_again, std::ios::binary | std::ios::in | std::ios::out);
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  file.close();
  const Status damaged = Open();
  EXPECT_TRUE(absl::IsDataLoss(damaged)) << ToString(damaged);
  EXPECT_THAT(Message(damaged), HasSubstr("segment-000001: the header of the segment is damaged"));
}

// Each flip hits a record that a later one calls synced, or the header of its segment.
TEST_F(StoreRecoveryTest, FlippedByteBeforeTheTailIsDataLossAndNamesFileAndOffset) {
  options_.sync = SyncLevel::kAlways;
  OpenWith(Embedding());
  PushMany(1, 6);
  Crash();
  Keep();
  for (const int64_t by : {0, 8, 16, 24, 40, 100, 128, 300, 2700, 5000}) {
    SCOPED_TRACE(by);
    FlipRecord(3, by);
    const Status damaged = Open();
    EXPECT_TRUE(absl::IsDataLoss(damaged)) << ToString(damaged);
    EXPECT_THAT(Message(damaged), HasSubstr("LSN 3"));
    EXPECT_THAT(Message(damaged), HasSubstr("offset"));
    PutBack();
  }
  Flip(PlaceOf(2).path, 20);
  EXPECT_TRUE(absl::IsDataLoss(Open()));
}

// No later segment tells what was synced.
TEST_F(StoreRecoveryTest, FlippedByteInTheHeaderOfTheLastSegmentIsDataLoss) {
  options_.sync = SyncLevel::kAlways;
  OpenWith(Embedding());
  PushMany(1, 3);
  Crash();
  Flip(PlaceOf(3).path, 20);
  const Status damaged = Open();
  EXPECT_TRUE(absl::IsDataLoss(damaged)) << ToString(damaged);
}

TEST_F(StoreRecoveryTest, OneCrashAfterTheOtherDoesNotMakeTheLogLonger) {
  options_.sync = SyncLevel::kAlways;
  OpenWith(Embedding());
  PushMany(1, 3);
  for (int i = 0; i < 8; ++i) {
    Crash();
    MustOpen();
  }
  const std::filesystem::directory_iterator log(options_.folder / "log");
  EXPECT_LE(std::distance(begin(log), end(log)), 4);
  EXPECT_EQ(PullAll(), ExpectedAfter(3));
}

TEST_F(StoreRecoveryTest, TornRecordAfterACleanCloseIsDataLoss) {
  OpenWith(Embedding());
  PushMany(1, 3);
  store_.reset();
  FlipRecord(3, 5000);
  EXPECT_TRUE(absl::IsDataLoss(Open()));
}

TEST_F(StoreRecoveryTest, MissingSegmentIsDataLoss) {
  options_.sync = SyncLevel::kAlways;
  OpenWith(Embedding());
  PushMany(1, 9);
  Crash();
  std::filesystem::remove(PlaceOf(5).path);
  EXPECT_TRUE(absl::IsDataLoss(Open()));
}

TEST_F(StoreRecoveryTest, EveryPrefixOfTheLogIsAStateThatWas) {
  options_.sync = SyncLevel::kNever;
  int64_t lost = 0;
  options_.on_unsynced_loss = [&](const Status& end, int64_t pushes) {
    EXPECT_THAT(Message(end), HasSubstr("offset"));
    lost = pushes;
  };
  OpenWith(Embedding());
  PushMany(1, 5);
  Crash();
  Keep();
  for (size_t left = 0; left < 5; ++left) {
    SCOPED_TRACE(left);
    FlipRecord(static_cast<int64_t>(left) + 1, 0);
    lost = 0;
    MustOpen();
    EXPECT_EQ(PullAll(), ExpectedAfter(left));
    // A crash leaves whole records behind a damaged one only with the machine's power: it is told.
    EXPECT_EQ(lost, left < 4 ? 5 - static_cast<int64_t>(left) : 0);
    // No more once the log goes on.
    MustPush(RandomPush(1, left + 1, 300));
    lost = 0;
    MustOpen();
    EXPECT_EQ(lost, 0);
    PutBack();
  }
}

TEST_F(StoreRecoveryTest, WaitingPushesWaitAfterTheRestartToo) {
  OpenWith(Embedding());
  const std::vector<TestPush> step = {StepPush(0, 0, 2), StepPush(0, 1, 2)};
  MustPush(step[1]);
  MustOpen();
  EXPECT_TRUE(MustPush(step[1]).repeated);
  const int64_t lsn = MustPush(step[0]).lsn;
  EXPECT_EQ(PullAll(lsn), Expected({step}));
}

TEST_F(StoreRecoveryTest, StateOfAnotherGraphOrPartIsRefusedAndBothAreNamed) {
  OpenWith(Embedding());
  graph_.identity = "another-graph";
  const Status other = Open();
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(other), HasSubstr("identity-of-the-graph"));
  EXPECT_THAT(Message(other), HasSubstr("another-graph"));
  graph_.identity = "identity-of-the-graph";
  graph_.part = 1;
  EXPECT_EQ(Open().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(StoreRecoveryTest, FolderThatAnotherStoreHasIsRefusedAndNamed) {
  MustOpen();
  const StatusOr<std::unique_ptr<StateStore>> second = StateStore::Open(options_, graph_, *env_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(second.status()), HasSubstr(options_.folder.string()));
}

}  // namespace
}  // namespace halograph
