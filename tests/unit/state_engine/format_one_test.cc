// What a start does with a folder of format 1, whose catalogue is a RocksDB.
#include <cstdlib>
#include <filesystem>

#include "common/state/durable/system_env.h"
#include "tests/support/failing_files.h"
#include "tests/support/store_fixture.h"

namespace halograph {
namespace {

using testing::HasSubstr;

// A folder that a build of format 1 left (tests/data/state_format_1): two tensors, three pushes, a
// snapshot, one tensor dropped, four more pushes.
class FormatOneTest : public StoreTest {
 protected:
  FormatOneTest() { env_ = MakeSystemEnv(); }
  void SetUp() override {
    const char* const data = std::getenv("HALOGRAPH_TEST_DATA");
    if (data == nullptr) GTEST_SKIP() << "HALOGRAPH_TEST_DATA is not set: run by ctest";
    std::filesystem::copy(std::filesystem::path(data) / "state_format_1", options_.folder,
                          std::filesystem::copy_options::recursive);
    options_.segment_bytes = 16 << 10;
    for (uint64_t i = 1; i <= 7; ++i) applied_.push_back({RandomPush(1, i)});
  }
  void ExpectRefusedTwice() {
    for (int start = 0; start < 2; ++start) {
      const Status refused = Open();
      EXPECT_TRUE(absl::IsDataLoss(refused)) << ToString(refused);
      EXPECT_THAT(Message(refused), HasSubstr("restore a copy of the whole state folder"));
      EXPECT_TRUE(std::filesystem::exists(options_.folder / "checkpoints/checkpoint-00000001"));
    }
  }
  std::vector<std::vector<TestPush>> applied_;
};

TEST_F(FormatOneTest, StateIsConvertedAtItsFirstStart) {
  for (int start = 0; start < 3; ++start) {
    SCOPED_TRACE(start);
    MustOpen();
    EXPECT_EQ(PullAll(), Expected(applied_));
    EXPECT_TRUE(MustPush(applied_.back()[0]).repeated);
    applied_.push_back({RandomPush(1, applied_.size() + 1)});
    EXPECT_EQ(MustPush(applied_.back()[0]).lsn, std::ssize(applied_));
    if (start == 1) {
      ASSERT_TRUE(store_->Checkpoint().ok());
    }
  }
  EXPECT_TRUE(std::filesystem::is_regular_file(options_.folder / "catalogue"));
  EXPECT_TRUE(std::filesystem::exists(options_.folder / "catalogue.old/CURRENT"));
  ASSERT_TRUE(store_->RestoreSnapshot("three").ok());
  EXPECT_EQ(PullAll(), Expected({applied_.begin(), applied_.begin() + 3}));
  EXPECT_TRUE(store_->Describe({false, "node", "dropped"}).ok());
}

// The process before was killed, so that the first start writes records once more.
TEST_F(FormatOneTest, FailureAtEveryCallOfTheFirstStartLosesNothing) {
  auto old = *env_->ReadOldCatalogue(options_.folder / "catalogue");
  old["closed"] = "{\"lsn\":3}";
  Keep();
  FailingFiles::Switches switches;
  auto plain = std::make_unique<PlainEnv>(std::make_unique<FailingFiles>(&switches));
  plain->SetOldCatalogue([&]() -> StatusOr<std::map<std::string, std::string>> { return old; });
  env_ = std::move(plain);
  int refused = 0;
  for (int calls = 0; calls < 100; ++calls) {
    SCOPED_TRACE(calls);
    PutBack();
    switches.all_later = true;
    switches.good_calls = calls;
    refused += Open().ok() ? 0 : 1;
    store_.reset();
    const bool reached = switches.good_calls < 0;
    switches.good_calls = std::numeric_limits<int>::max();
    if (!reached) break;
    MustOpen();
    EXPECT_EQ(PullAll(), Expected(applied_));
    store_.reset();
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(refused, 15);
}

TEST_F(FormatOneTest, DamagedCatalogueIsRefusedAtEveryStart) {
  const std::filesystem::path catalogue = options_.folder / "catalogue";
  std::filesystem::rename(catalogue / "CURRENT", folder_.path() / "CURRENT");
  ExpectRefusedTwice();
  std::filesystem::rename(folder_.path() / "CURRENT", catalogue / "CURRENT");
  std::filesystem::resize_file(catalogue / "000004.log", 0);
  ExpectRefusedTwice();
  EXPECT_TRUE(std::filesystem::is_directory(catalogue));
}

// That build removed files after it had named others in their place.
TEST_F(FormatOneTest, WhatThatBuildHadNotYetRemovedIsSetAside) {
  std::vector<std::string> aside;
  options_.on_set_aside = [&](const std::filesystem::path& file, const std::filesystem::path&) {
    aside.push_back(file.filename());
  };
  SetContents(options_.folder / "checkpoints/checkpoint-00000000", "an increment");
  SetContents(options_.folder / "log/segment-000009", "of somebody else");
  MustOpen();
  EXPECT_THAT(aside, testing::UnorderedElementsAre("checkpoint-00000000", "segment-000009"));
  EXPECT_EQ(PullAll(), Expected(applied_));
}

// It had written a checkpoint, and not named it; or the catalogue is cut. Who knows decides.
TEST_F(FormatOneTest, LaterCheckpointThanTheCatalogueNamesIsRefusedUntilItIsMovedAway) {
  const std::filesystem::path later = options_.folder / "checkpoints/checkpoint-00000002";
  std::filesystem::copy(options_.folder / "checkpoints/checkpoint-00000001", later);
  for (int start = 0; start < 2; ++start) {
    const Status refused = Open();
    EXPECT_TRUE(absl::IsDataLoss(refused)) << ToString(refused);
    EXPECT_THAT(Message(refused), HasSubstr(later.string()));
  }
  std::filesystem::remove(later);
  MustOpen();
  EXPECT_EQ(PullAll(), Expected(applied_));
}

// A copy from before the tensor was made.
TEST_F(FormatOneTest, PushToATensorThatTheCatalogueHasNeverGivenIsRefused) {
  auto old = *env_->ReadOldCatalogue(options_.folder / "catalogue");
  std::erase_if(old, [](const auto& entry) { return entry.first.starts_with("tensor/"); });
  std::erase_if(old, [](const auto& entry) { return entry.first.starts_with("snapshot/"); });
  old["next_tensor"] = "{\"number\":1}";
  auto plain = std::make_unique<PlainEnv>();
  plain->SetOldCatalogue([&]() -> StatusOr<std::map<std::string, std::string>> { return old; });
  env_ = std::move(plain);
  for (int start = 0; start < 2; ++start) {
    const Status refused = Open();
    EXPECT_TRUE(absl::IsDataLoss(refused)) << ToString(refused);
    EXPECT_THAT(Message(refused), HasSubstr("catalogue: has never given tensor number"));
  }
}

// Nothing but the log and the checkpoints knows what it had said.
TEST_F(FormatOneTest, EveryFileOfTheCatalogueThatIsCutOrFlippedIsRefusedOrNotNeeded) {
  Keep();
  int refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kept() / "catalogue")) {
    const std::filesystem::path name = entry.path().filename();
    for (int damage = 0; damage < 7; ++damage) {
      SCOPED_TRACE(fmt::format("{} damage {}", name.string(), damage));
      PutBack();
      const std::filesystem::path path = options_.folder / "catalogue" / name;
      const uintmax_t bytes = std::filesystem::file_size(path);
      if (bytes == 0) continue;
      if (damage < 4) {
        std::filesystem::resize_file(path, bytes * static_cast<uintmax_t>(damage) / 4);
      } else if (damage == 4) {
        std::filesystem::remove(path);
      } else {
        Flip(path, static_cast<int64_t>(damage == 5 ? bytes / 3 : bytes - 3));
      }
      for (int start = 0; start < 2; ++start) {
        const Status opened = Open();
        if (!opened.ok()) {
          EXPECT_TRUE(absl::IsDataLoss(opened)) << ToString(opened);
          EXPECT_THAT(Message(opened), HasSubstr("restore a copy of the whole state folder"));
          EXPECT_TRUE(std::filesystem::exists(options_.folder / "checkpoints/checkpoint-00000001"));
          EXPECT_TRUE(std::filesystem::is_directory(options_.folder / "catalogue"));
          ++refused;
          continue;
        }
        EXPECT_EQ(PullAll(), Expected(applied_));
        EXPECT_EQ(store_->Snapshots({}).size(), 1U);
      }
    }
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace halograph
