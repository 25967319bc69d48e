#include "tests/simulation/sim_disk.h"

#include <gmock/gmock.h>

namespace halograph::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SimDisk::Bytes Filled(size_t size, int value) {
  return SimDisk::Bytes(size, static_cast<std::byte>(value));
}

SimDisk::Bytes Content(const SimDisk& disk, int file) {
  SimDisk::Bytes bytes(static_cast<size_t>(disk.Size(file)));
  EXPECT_TRUE(disk.Read(file, 0, bytes));
  return bytes;
}

// A disk with a file of 8 KiB zeros at /f that survives anything.
struct DurableFile {
  SimDisk disk;
  int file = 0;
  DurableFile() {
    file = disk.Create("/f", 8192).value();
    disk.EndSync(file, disk.BeginSync(file));
    EXPECT_TRUE(disk.SyncFolder("/").ok());
  }
};

TEST(SimDiskTest, ASyncedWriteSurvivesPowerLoss) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    DurableFile made;
    Random random(seed);
    ASSERT_TRUE(made.disk.Write(made.file, 0, Filled(8192, 1)).ok());
    made.disk.EndSync(made.file, made.disk.BeginSync(made.file));
    made.disk.PowerLoss(random);
    EXPECT_EQ(Filled(8192, 1), Content(made.disk, made.disk.Open("/f").value()));
  }
}

TEST(SimDiskTest, AnUnsyncedWriteIsLostKeptOrTornAtBlocks) {
  int lost = 0;
  int kept = 0;
  int torn = 0;
  int torn_in_page = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    DurableFile made;
    Random random(seed);
    ASSERT_TRUE(made.disk.Write(made.file, 0, Filled(8192, 1)).ok());
    made.disk.PowerLoss(random);
    const SimDisk::Bytes left = Content(made.disk, made.file);
    ASSERT_EQ(8192U, left.size());
    for (size_t i = 0; i < left.size(); ++i) ASSERT_EQ(left[i / 512 * 512], left[i]) << i;
    const bool all = left == Filled(8192, 1);
    const bool none = left == Filled(8192, 0);
    lost += none;
    kept += all;
    torn += !all && !none;
    torn_in_page += left[0] != left[512] || left[4096] != left[4096 + 512];
  }
  EXPECT_GT(lost, 20);
  EXPECT_GT(kept, 20);
  EXPECT_GT(torn, 20);
  EXPECT_GT(torn_in_page, 10);
}

TEST(SimDiskTest, ALaterWriteMaySurviveAnEarlierOne) {
  int later_alone = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    DurableFile made;
    Random random(seed);
    ASSERT_TRUE(made.disk.Write(made.file, 0, Filled(512, 1)).ok());
    ASSERT_TRUE(made.disk.Write(made.file, 4096, Filled(512, 2)).ok());
    made.disk.PowerLoss(random);
    const SimDisk::Bytes left = Content(made.disk, made.file);
    later_alone += left[0] == std::byte{0} && left[4096] == std::byte{2};
  }
  EXPECT_GT(later_alone, 5);
}

TEST(SimDiskTest, ANameCountsAfterSyncOfItsFolder) {
  int there = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SimDisk disk;
    Random random(seed);
    const int file = disk.Create("/f", 512).value();
    disk.EndSync(file, disk.BeginSync(file));
    SimDisk synced = disk;
    disk.PowerLoss(random);
    there += disk.Open("/f").ok();
    ASSERT_TRUE(synced.SyncFolder("/").ok());
    synced.PowerLoss(random);
    EXPECT_TRUE(synced.Open("/f").ok());
  }
  EXPECT_GT(there, 10);
  EXPECT_LT(there, 90);
}

TEST(SimDiskTest, ARenameIsWholeOrNotThere) {
  int renamed = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    DurableFile made;
    Random random(seed);
    ASSERT_TRUE(made.disk.Rename("/f", "/g").ok());
    made.disk.PowerLoss(random);
    EXPECT_NE(made.disk.Open("/f").ok(), made.disk.Open("/g").ok());
    renamed += made.disk.Open("/g").ok();
  }
  EXPECT_GT(renamed, 10);
  EXPECT_LT(renamed, 90);
}

TEST(SimDiskTest, WhatLiesInALostFolderIsLost) {
  SimDisk disk;
  bool seen = false;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    SimDisk copy = disk;
    ASSERT_TRUE(copy.MakeFolder("/a/b").ok());
    const int file = copy.Create("/a/b/f", 512).value();
    copy.EndSync(file, copy.BeginSync(file));
    ASSERT_TRUE(copy.SyncFolder("/a/b").ok());
    copy.PowerLoss(random);
    if (copy.List("/a").ok()) continue;
    EXPECT_THAT(copy.Files(), IsEmpty());
    seen = true;
  }
  EXPECT_TRUE(seen);
}

TEST(SimDiskTest, WhatAFailedSyncDroppedNoLaterSyncWrites) {
  int lost = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    DurableFile made;
    Random random(seed);
    ASSERT_TRUE(made.disk.Write(made.file, 0, Filled(4096, 1)).ok());
    made.disk.FailSync(made.file, random);
    made.disk.EndSync(made.file, made.disk.BeginSync(made.file));
    made.disk.PowerLoss(random);
    lost += Content(made.disk, made.file) != [&] {
      SimDisk::Bytes whole = Filled(8192, 0);
      std::fill_n(whole.begin(), 4096, std::byte{1});
      return whole;
    }();
  }
  EXPECT_GT(lost, 50);
}

TEST(SimDiskTest, AWriteDuringASyncIsNotPartOfIt) {
  DurableFile made;
  Random random(7);
  ASSERT_TRUE(made.disk.Write(made.file, 0, Filled(512, 1)).ok());
  const int64_t begun = made.disk.BeginSync(made.file);
  ASSERT_TRUE(made.disk.Write(made.file, 512, Filled(512, 2)).ok());
  made.disk.EndSync(made.file, begun);
  bool second_lost = false;
  for (int i = 0; i < 20; ++i) {
    SimDisk copy = made.disk;
    copy.PowerLoss(random);
    const SimDisk::Bytes left = Content(copy, made.file);
    EXPECT_EQ(std::byte{1}, left[0]);
    second_lost |= left[512] == std::byte{0};
  }
  EXPECT_TRUE(second_lost);
}

TEST(SimDiskTest, AFullDiskRefusesToGrow) {
  SimDisk disk;
  disk.SetCapacity(1000);
  const int file = disk.Create("/f", 800).value();
  EXPECT_EQ(absl::StatusCode::kResourceExhausted, disk.Create("/g", 300).status().code());
  EXPECT_TRUE(disk.Write(file, 700, Filled(100, 1)).ok());
  EXPECT_EQ(absl::StatusCode::kResourceExhausted, disk.Write(file, 700, Filled(400, 1)).code());
  ASSERT_TRUE(disk.Remove("/f").ok());
  EXPECT_TRUE(disk.Create("/g", 900).ok());
  EXPECT_THAT(disk.List("/").value(), ElementsAre("g"));
}

}  // namespace
}  // namespace halograph::sim
