// What a store does with a folder whose files are damaged, missing, unknown or of an older build,
// and on a disk that is full or breaks at any call.
#include <filesystem>
#include <functional>

#include "common/base/sanitizers.h"
#include "common/state/engine/log/numbered_name.h"
#include "tests/support/failing_files.h"
#include "tests/support/store_fixture.h"

namespace halograph {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using Path = std::filesystem::path;

// Leaves so many quarters.
void Cut(const Path& path, uintmax_t quarters) {
  std::filesystem::resize_file(path, std::filesystem::file_size(path) * quarters / 4);
}

TEST(NumberedNameTest, NumbersHaveOneNameEachAndOtherNamesNone) {
  const NumberedName name = {"file-", 3};
  for (const int64_t number : {0, 7, 999, 1000, 123456}) {
    EXPECT_EQ(name.Number(name.Of(number)), number);
  }
  EXPECT_EQ(name.Of(7), "file-007");
  EXPECT_EQ(name.Of(1000), "file-1000");
  for (const char* other : {"", "file-", "file-7", "file-0007", "file--07", "file-+07", "file- 07",
                            "file-007x", "file-0x7", "fil-007", "file-99999999999999999999"}) {
    EXPECT_EQ(name.Number(other), std::nullopt) << other;
  }
}

class StateFolderTest : public StoreTest {
 protected:
  StateFolderTest() {
    options_.segment_bytes = 32 << 10;
    options_.sync = SyncLevel::kAlways;
    options_.on_set_aside = [this](const Path& file, const Path& now) {
      EXPECT_TRUE(std::filesystem::exists(now));
      aside_.push_back(file.filename());
    };
    options_.on_loss = [this](const Status& damage, int64_t pushes) {
      EXPECT_TRUE(absl::IsDataLoss(damage)) << ToString(damage);
      lost_ = pushes;
    };
    options_.on_unsynced_loss = [this](const Status&, int64_t records) {
      EXPECT_GE(records, 2);  // the one that is due, and a later one
      ++told_;
    };
  }

  // Pushes of 300 rows, 8 KiB each: a segment has three of them.
  void PushMany(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      applied_.push_back({RandomPush(1, applied_.size() + 1, 300)});
      MustPush(applied_.back()[0]);
    }
  }
  // A state with a checkpoint, a snapshot, and a log whose last segment has two records.
  void MakeState() {
    OpenWith(Embedding());
    PushMany(3);
    ASSERT_TRUE(store_->Checkpoint().ok());
    PushMany(2);
    ASSERT_TRUE(store_->Snapshot("s", {}, {}).ok());
    PushMany(9);
  }
  // As RocksDB's, to who looks from outside.
  void MakeOldFolder(const std::string& name) {
    std::filesystem::create_directories(options_.folder / name);
    SetContents(options_.folder / name / "CURRENT", "MANIFEST-000005\n");
  }
  [[nodiscard]] std::vector<Path> Files() const {  // relative to the folder
    std::vector<Path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kept())) {
      if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(kept()));
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  [[nodiscard]] Path LastSegment() const {
    Path last;
    for (const auto& entry : std::filesystem::directory_iterator(options_.folder / "log")) {
      const std::string bytes = Contents(entry.path());
      // The one that has the record of the last LSN.
      for (size_t at = 4096; at + 4096 <= bytes.size(); at += 4096) {
        int64_t lsn = 0;
        std::memcpy(&lsn, bytes.data() + at + 24, sizeof(lsn));
        const bool record = bytes.compare(at + 8, 8, "HALGREC1") == 0;
        if (record && lsn == std::ssize(applied_)) last = entry.path();
      }
    }
    return last;
  }
  // Of each file in turn, of what Keep kept.
  void DamageEachFile(const std::function<void(const Path&)>& expect) {
    const std::pair<const char*, std::function<void(const Path&)>> damages[] = {
        {"removed", [](const Path& path) { std::filesystem::remove(path); }},
        {"emptied", [](const Path& path) { SetContents(path, ""); }},
        {"cut at a quarter", [](const Path& path) { Cut(path, 1); }},
        {"cut at a half", [](const Path& path) { Cut(path, 2); }},
        {"cut at three quarters", [](const Path& path) { Cut(path, 3); }},
        {"flipped at its beginning", [](const Path& path) { Flip(path, 20); }},
        {"flipped where it is in use", [](const Path& path) { Flip(path, 4096 + 2000); }}};
    for (const Path& file : Files()) {
      for (const auto& [name, damage] : damages) {
        SCOPED_TRACE(file.string() + " " + name);
        PutBack();
        if (Contents(options_.folder / file).empty()) continue;  // the lock
        damage(options_.folder / file);
        expect(file);
      }
    }
  }
  // Refused at the first and at the second start, or whole at both.
  void ExpectRefusedOrWhole(const Path& file) {
    for (int start = 0; start < 2; ++start) {
      SCOPED_TRACE(start);
      const Status opened = Open();
      if (!opened.ok()) {
        EXPECT_TRUE(absl::IsDataLoss(opened)) << ToString(opened);
        EXPECT_THAT(Message(opened), HasSubstr(file.filename().string()));
        ++refused_;
        continue;
      }
      EXPECT_EQ(store_->stats().lsn, std::ssize(applied_));
      EXPECT_EQ(PullAll(), Expected(applied_));
      ++whole_;
    }
  }
  // Likewise, or what had not been synced is missing, from one push on to the last. The second
  // start finds what the first one did.
  void ExpectRefusedOrBeginning(const Path& file) {
    int64_t first = -1;
    for (int start = 0; start < 2; ++start) {
      SCOPED_TRACE(start);
      const Status opened = Open();
      if (!opened.ok()) {
        EXPECT_TRUE(absl::IsDataLoss(opened)) << ToString(opened);
        EXPECT_THAT(Message(opened), HasSubstr(file.filename().string()));
        EXPECT_EQ(first, -1);
        ++refused_;
        continue;
      }
      const int64_t lsn = store_->stats().lsn;
      ASSERT_LE(lsn, std::ssize(applied_));
      EXPECT_EQ(start == 0 ? lsn : first, lsn);
      first = lsn;
      EXPECT_EQ(PullAll(), Expected({applied_.begin(), applied_.begin() + lsn}));
      (lsn == std::ssize(applied_) ? whole_ : shorter_) += 1;
    }
  }

  std::vector<std::vector<TestPush>> applied_;
  std::vector<std::string> aside_;
  int64_t lost_ = -1;
  int refused_ = 0;
  int whole_ = 0;
  int shorter_ = 0;
  int told_ = 0;  // of pushes that had not been synced
};

TEST_F(StateFolderTest, EveryFileThatIsDamagedIsNamedOrNotNeeded) {
  MakeState();
  CrashStore();
  Keep();
  DamageEachFile([&](const Path& file) { ExpectRefusedOrWhole(file); });
  EXPECT_GT(refused_, 40);
  EXPECT_EQ(told_, 0);
}

TEST_F(StateFolderTest, AtLowerLevelsDamageIsNamedOrCostsWhatHadNotBeenSynced) {
  for (const SyncLevel level : {SyncLevel::kInterval, SyncLevel::kNever}) {
    SCOPED_TRACE(level == SyncLevel::kNever ? "never" : "interval");
    store_.reset();
    std::filesystem::remove_all(options_.folder);
    applied_.clear();
    refused_ = whole_ = shorter_ = 0;
    options_.sync = level;
    MakeState();
    CrashStore();
    Keep();
    DamageEachFile([&](const Path& file) { ExpectRefusedOrBeginning(file); });
    EXPECT_GT(refused_, 20);
    EXPECT_GT(whole_, 0);
  }
  EXPECT_GT(shorter_, 0);
  EXPECT_GT(told_, 0);
}

TEST_F(StateFolderTest, AfterAKillACutOrMissingLastSegmentIsRefusedAndNamed) {
  MakeState();
  CrashStore();
  Keep();
  const Path last = LastSegment();
  const std::function<void()> damages[] = {
      [&] { std::filesystem::remove(last); }, [&] { SetContents(last, ""); }, [&] { Cut(last, 2); },
      [&] { SetContents(last, Contents(last).substr(0, 4096)); }};
  for (const auto& damage : damages) {
    PutBack();
    damage();
    for (int start = 0; start < 2; ++start) {
      const Status refused = Open();
      EXPECT_TRUE(absl::IsDataLoss(refused)) << ToString(refused);
      EXPECT_THAT(Message(refused), HasSubstr(last.filename().string()));
      EXPECT_THAT(Message(refused), HasSubstr("--accept-loss"));
    }
    options_.accept_loss = true;
    MustOpen();
    EXPECT_GE(lost_, 0);
    const int64_t lsn = store_->stats().lsn;
    EXPECT_GE(lsn, std::ssize(applied_) - 3);
    options_.accept_loss = false;
    for (int start = 0; start < 2; ++start) MustOpen();
    EXPECT_EQ(store_->stats().lsn, lsn);
  }
}

TEST_F(StateFolderTest, AcceptedLossEndsBeforeTheDamageAndGoesOnBehindWhatWasGiven) {
  MakeState();
  store_.reset();
  // A record in the middle: what is behind it is lost, too.
  int64_t damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(options_.folder / "log")) {
    const std::string bytes = Contents(entry.path());
    for (size_t at = 4096; at + 4096 <= bytes.size(); at += 4096) {
      int64_t lsn = 0;
      std::memcpy(&lsn, bytes.data() + at + 24, sizeof(lsn));
      if (bytes.compare(at + 8, 8, "HALGREC1") != 0 || lsn != 9 || damaged != 0) continue;
      Flip(entry.path(), static_cast<int64_t>(at) + 2000);
      damaged = lsn;
    }
  }
  ASSERT_EQ(damaged, 9);
  const Status refused = Open();
  EXPECT_THAT(Message(refused), HasSubstr("6 pushes from LSN 9 on"));
  options_.accept_loss = true;
  MustOpen();
  EXPECT_EQ(lost_, 6);
  EXPECT_EQ(store_->stats().lsn, 14);
  applied_.resize(8);
  EXPECT_EQ(PullAll(), Expected(applied_));
  // What was lost is applied when it is sent again.
  applied_.push_back({RandomPush(1, 9, 300)});
  EXPECT_EQ(MustPush(applied_.back()[0]).lsn, 15);
  options_.accept_loss = false;
  MustOpen();
  EXPECT_EQ(PullAll(), Expected(applied_));
}

TEST_F(StateFolderTest, ZerosNameTheSegmentThatTheyAreIn) {
  OpenWith(Embedding());
  PushMany(9);
  store_.reset();
  const Path last = LastSegment();
  std::string bytes = Contents(last);
  SetContents(last, bytes.replace(4096, bytes.size() - 4096, bytes.size() - 4096, '\0'));
  const Status refused = Open();
  EXPECT_TRUE(absl::IsDataLoss(refused)) << ToString(refused);
  EXPECT_THAT(Message(refused), HasSubstr(last.string() + ": the record of LSN 7 at offset 4096"));
}

TEST_F(StateFolderTest, CatalogueThatIsMissingOrOlderIsRefusedAndNothingChanges) {
  MakeState();
  const Path catalogue = options_.folder / "catalogue";
  store_.reset();
  Keep();
  MustOpen();
  PushMany(4);
  ASSERT_TRUE(store_->Checkpoint().ok());
  store_.reset();
  std::filesystem::copy(kept() / "catalogue", catalogue,
                        std::filesystem::copy_options::overwrite_existing);
  const auto expect_refused = [&](const std::string& why) {
    for (int start = 0; start < 2; ++start) {
      const Status refused = Open();
      EXPECT_TRUE(absl::IsDataLoss(refused)) << ToString(refused);
      EXPECT_THAT(Message(refused), HasSubstr(why));
      EXPECT_TRUE(std::filesystem::exists(options_.folder / "checkpoints/checkpoint-00000003"));
    }
  };
  expect_refused("it is an older copy");
  std::filesystem::remove(catalogue);
  expect_refused("the catalogue is missing");
  EXPECT_TRUE(aside_.empty());
}

TEST_F(StateFolderTest, WhatNobodyKnowsIsSetAsideAndTold) {
  MakeState();
  store_.reset();
  const Path checkpoints = options_.folder / "checkpoints";
  SetContents(checkpoints / "notes.txt", "mine");
  for (int start = 0; start < 2; ++start) {
    MustOpen();
    EXPECT_THAT(aside_, testing::ElementsAre("notes.txt"));
  }
  store_.reset();
  SetContents(checkpoints / "notes.txt", "again");
  SetContents(checkpoints / "checkpoint-1", "of somebody else");
  SetContents(checkpoints / "checkpoint-00000098", "of somebody else");
  std::filesystem::copy(checkpoints / "checkpoint-00000001", checkpoints / "checkpoint-00000099");
  SetContents(checkpoints / "checkpoint-00000002.tmp", "left by a process that ended");
  const Path log = options_.folder / "log";
  std::filesystem::copy(LastSegment(), log / "segment-000095");
  Flip(log / "segment-000095", 10);  // of the magic
  std::filesystem::copy(log / "segment-000095", log / "segment-000096");
  Flip(log / "segment-000096", 26);  // of the stamp
  SetContents(log / "segment-000097", "of somebody else");
  SetContents(log / "segment-000098", std::string(1 << 20, '\0'));
  SetContents(log / "segment-000099", "");
  aside_.clear();
  MustOpen();
  EXPECT_THAT(aside_,
              testing::UnorderedElementsAre("notes.txt", "checkpoint-1", "checkpoint-00000098",
                                            "segment-000096", "segment-000097"));
  EXPECT_EQ(Contents(options_.folder / "aside/checkpoint-00000098"), "of somebody else");
  EXPECT_EQ(Contents(options_.folder / "aside/segment-000097"), "of somebody else");
  EXPECT_TRUE(std::filesystem::exists(log / "segment-000095"));
  EXPECT_TRUE(std::filesystem::exists(log / "segment-000098"));
  EXPECT_TRUE(std::filesystem::exists(log / "segment-000099"));
  EXPECT_EQ(Contents(options_.folder / "aside/notes.txt"), "mine");
  EXPECT_EQ(Contents(options_.folder / "aside/notes.txt.2"), "again");
  EXPECT_FALSE(std::filesystem::exists(checkpoints / "checkpoint-00000099"));
  EXPECT_FALSE(std::filesystem::exists(checkpoints / "checkpoint-00000002.tmp"));
  EXPECT_EQ(PullAll(), Expected(applied_));
}

// An older build's catalogue is a folder.
TEST_F(StateFolderTest, CatalogueOfAnOlderBuildIsConvertedOnceAndKept) {
  auto& plain = static_cast<PlainEnv&>(*env_);
  const Json format = {{"format", 1}, {"identity", graph_.identity}, {"part", 0}};
  std::map<std::string, std::string> old = {
      {"format", CanonicalJson(format)},
      {"next_tensor", "{\"number\":2}"},
      {"tensor/0000000001", CanonicalJson(Json{{"number", 1}, {"spec", Embedding().ToJson()}})}};
  plain.SetOldCatalogue([&]() -> StatusOr<std::map<std::string, std::string>> { return old; });
  MakeOldFolder("catalogue");
  MustOpen();
  EXPECT_EQ(PullAll(), Expected({}));
  PushMany(1);
  old.clear();
  MustOpen();
  EXPECT_EQ(PullAll(), Expected(applied_));
  EXPECT_TRUE(std::filesystem::is_directory(options_.folder / "catalogue.old"));
  EXPECT_TRUE(std::filesystem::is_regular_file(options_.folder / "catalogue"));
  // The newer one is not replaced by the older one.
  store_.reset();
  std::filesystem::remove(options_.folder / "catalogue");
  EXPECT_TRUE(absl::IsDataLoss(Open()));
  MakeOldFolder("catalogue");
  EXPECT_TRUE(absl::IsDataLoss(Open()));
}

TEST_F(StateFolderTest, EmptyFolderOfAnOlderBuildIsANewState) {
  std::filesystem::create_directories(options_.folder / "catalogue");
  OpenWith(Embedding());
}

TEST_F(StateFolderTest, ConversionThatEndedHalfwayIsMadeAgain) {
  auto& plain = static_cast<PlainEnv&>(*env_);
  const Json format = {{"format", 1}, {"identity", graph_.identity}, {"part", 0}};
  plain.SetOldCatalogue([&]() -> StatusOr<std::map<std::string, std::string>> {
    return std::map<std::string, std::string>{{"format", CanonicalJson(format)},
                                              {"next_tensor", "{\"number\":7}"}};
  });
  MakeOldFolder("catalogue.old");
  OpenWith(Embedding());
  EXPECT_THAT(Contents(options_.folder / "catalogue"), HasSubstr("tensor/0000000007"));
}

TEST_F(StateFolderTest, CatalogueOfAnOlderBuildThatCannotBeReadIsRefusedAndStays) {
  MakeOldFolder("catalogue");
  EXPECT_EQ(Open().code(), absl::StatusCode::kUnimplemented);
  auto& plain = static_cast<PlainEnv&>(*env_);
  const Json format = {{"format", 1}, {"identity", "another"}, {"part", 0}};
  plain.SetOldCatalogue([&]() -> StatusOr<std::map<std::string, std::string>> {
    return std::map<std::string, std::string>{{"format", CanonicalJson(format)}};
  });
  EXPECT_EQ(Open().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(std::filesystem::is_directory(options_.folder / "catalogue"));
}

// Each call that changes the disk fails: a broken one once, a full one from then on.
class BrokenDiskTest : public StateFolderTest {
 protected:
  BrokenDiskTest() {
    env_ = std::make_unique<PlainEnv>(std::make_unique<FailingFiles>(&switches_));
  }
  ~BrokenDiskTest() override { store_.reset(); }  // before the switches

  void Check(const Status& status) {
    if (status.ok()) return;
    failed_ = true;
    if (!absl::IsResourceExhausted(status)) return;
    EXPECT_THAT(Message(status), testing::AnyOf(HasSubstr("no space left"), HasSubstr("needed")));
  }
  // Of a checkpoint or snapshot.
  void CheckFile(const Status& status) {
    Check(status);
    if (!absl::IsResourceExhausted(status)) return;
    EXPECT_THAT(Message(status), ContainsRegex("[1-9][0-9]* bytes are needed"));
  }
  // Opens, creates, pushes, checkpoints, drops and closes; notes what was acknowledged.
  void Live() {
    acknowledged_.clear();
    created_ = dropped_ = false;
    Status opened = Open();
    Check(opened);
    if (!opened.ok()) return;
    const Status created = store_->Create(Embedding());
    Check(created);
    created_ = created.ok();
    Check(store_->Create(Embedding("other")));
    for (uint64_t i = 1; created_ && i <= 5; ++i) {
      const TestPush push = RandomPush(1, i, 300);
      const Status pushed = store_->Push(push.request(), {}).status();
      Check(pushed);
      if (!pushed.ok()) break;
      acknowledged_.push_back({push});
      if (i == 2) CheckFile(store_->Checkpoint());
      if (i == 3) CheckFile(store_->Snapshot("s", {}, {}).status());
    }
    const Status dropped = store_->Drop({false, "node", "other"});
    if (!absl::IsNotFound(dropped)) Check(dropped);
    dropped_ = dropped.ok();
    Check(store_->DeleteSnapshot("s"));
    store_.reset();
  }

  // When the disk is well again: nothing that was acknowledged is missing, and it goes on.
  void ExpectWholeState() {
    MustOpen();
    if (created_) {
      const auto lsn = static_cast<size_t>(store_->stats().lsn);
      ASSERT_GE(lsn, acknowledged_.size());
      while (acknowledged_.size() < lsn) {
        acknowledged_.push_back({RandomPush(1, acknowledged_.size() + 1, 300)});
      }
      EXPECT_EQ(PullAll(), Expected(acknowledged_));
      EXPECT_FALSE(MustPush(RandomPush(1, lsn + 1, 300)).repeated);
    }
    EXPECT_FALSE(dropped_ && store_->Describe({false, "node", "other"}).ok());
    EXPECT_TRUE(store_->Create(Embedding("new")).ok());
    store_.reset();
  }

  FailingFiles::Switches switches_;
  std::vector<std::vector<TestPush>> acknowledged_;
  bool created_ = false;
  bool dropped_ = false;
  bool failed_ = false;
};

TEST_F(BrokenDiskTest, FailureAtEveryCallLosesNothingThatWasAcknowledged) {
  constexpr int kStep = kAddressSanitizer ? 5 : 1;
  for (const bool full : {true, false}) {
    int failures = 0;
    for (int calls = 0; calls < 200; calls += kStep) {
      SCOPED_TRACE(fmt::format("{} at call {}", full ? "full" : "broken", calls));
      std::filesystem::remove_all(options_.folder);
      switches_.no_room = switches_.all_later = full;
      switches_.good_calls = calls;
      failed_ = false;
      Live();
      const bool reached = switches_.good_calls < 0;
      switches_.good_calls = std::numeric_limits<int>::max();
      if (!reached) break;  // it lived without a failure
      failures += failed_ ? 1 : 0;
      ExpectWholeState();
      ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(failures, 30 / kStep);
  }
}

}  // namespace
}  // namespace halograph
