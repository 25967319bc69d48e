#include "common/storage/disk_space.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(CheckDiskSpaceTest, NamesBothFigures) {
  const TestFolder folder;
  EXPECT_TRUE(CheckDiskSpace(folder.path(), 0).ok());
  const Status status = CheckDiskSpace(folder.path(), std::numeric_limits<int64_t>::max());
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("8.0 EiB are needed"));
  EXPECT_TRUE(absl::IsNotFound(CheckDiskSpace(folder.path() / "none", 1)));
}

TEST(ReadDiskRoomTest, TellsOfTheFileSystemOrWhyNot) {
  const TestFolder folder;
  const auto room = ReadDiskRoom(folder.path());
  ASSERT_TRUE(room.ok()) << room.status();
  EXPECT_EQ(room->size_bytes, static_cast<int64_t>(std::filesystem::space(folder.path()).capacity));
  EXPECT_GE(room->size_bytes, room->free_bytes);
  EXPECT_GT(room->free_bytes, 0);
  EXPECT_TRUE(absl::IsNotFound(ReadDiskRoom(folder.path() / "none").status()));
}

TEST(ClaimDiskSpaceTest, FileIsAsLongAsClaimedAndTooMuchIsResourceExhausted) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(ClaimDiskSpace(fileno(file.get()), 5000, "numbers", "/some/place").ok());
  struct stat info {};
  ASSERT_EQ(::fstat(fileno(file.get()), &info), 0);
  EXPECT_EQ(info.st_size, 5000);
  const Status status =
      ClaimDiskSpace(fileno(file.get()), size_t{1} << 60, "numbers", "/some/place");
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(Message(status), AllOf(HasSubstr("/some/place: no room for numbers (1.0 EiB"),
                                     HasSubstr(std::string(kFreeDiskSpace))));
}

TEST(ClaimDiskSpaceTest, WhatIsNoFileIsNotAFullDisk) {
  EXPECT_FALSE(absl::IsResourceExhausted(ClaimDiskSpace(-1, 1, "numbers", "/some/place")));
  EXPECT_TRUE(MeansNoRoom(EDQUOT));
  EXPECT_FALSE(MeansNoRoom(EIO));
}

}  // namespace
}  // namespace halograph
