#include "common/storage/file_checksums.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/base/checksum.h"
#include "tests/unit/storage/temp_folder.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

class FileChecksumsTest : public TempFolderTest {
 protected:
  // A file of `bytes` zeros that takes no room on disk.
  void WriteSparse(const std::string& name, int64_t bytes) {
    const fs::path path = Write(name, "");
    fs::resize_file(path, static_cast<uintmax_t>(bytes));
  }
  void SetByte(const std::string& name, int64_t offset, char value) {
    const int fd = ::open((folder() / name).c_str(), O_WRONLY);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::pwrite(fd, &value, 1, offset), 1);
    ::close(fd);
  }
};

TEST_F(FileChecksumsTest, SmallFileHasOneChecksumOfItsBytes) {
  Write("sub/file", "hello");
  const auto entry = ChecksumFile(folder(), "sub/file");
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ(*entry, (FileEntry{"sub/file", 5, {Hex64(Checksum64(AsBytes("hello")))}}));
  EXPECT_TRUE(CheckFileSize(folder(), *entry).ok());
  EXPECT_TRUE(VerifyFile(folder(), *entry).ok());
}

TEST_F(FileChecksumsTest, EmptyFileHasNoChecksum) {
  Write("file", "");
  const auto entry = ChecksumFile(folder(), "file");
  ASSERT_TRUE(entry.ok());
  EXPECT_EQ(*entry, (FileEntry{"file", 0, {}}));
  EXPECT_TRUE(VerifyFile(folder(), *entry).ok());
}

TEST_F(FileChecksumsTest, WholeChunksMakeNoEmptyLastOne) {
  WriteSparse("file", kChecksumChunkBytes);
  EXPECT_EQ(ChecksumFile(folder(), "file")->checksums.size(), 1u);
}

TEST_F(FileChecksumsTest, FlippedByteIsLocatedInItsChunk) {
  const int64_t bytes = 2 * kChecksumChunkBytes + 100;
  WriteSparse("file", bytes);
  const auto entry = ChecksumFile(folder(), "file");
  ASSERT_TRUE(entry.ok());
  ASSERT_EQ(entry->checksums.size(), 3u);
  const struct {
    int64_t offset;
    std::string_view range;
  } cases[] = {{0, "bytes 0 to 67108863 "},
               {kChecksumChunkBytes - 1, "bytes 0 to 67108863 "},
               {kChecksumChunkBytes, "bytes 67108864 to 134217727 "},
               {bytes - 1, "bytes 134217728 to 134217827 "}};
  for (const auto& [offset, range] : cases) {
    SetByte("file", offset, 1);
    const Status status = VerifyFile(folder(), *entry);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << offset;
    EXPECT_THAT(Message(status),
                AllOf(HasSubstr((folder() / "file").string()), HasSubstr(std::string(range))));
    EXPECT_TRUE(CheckFileSize(folder(), *entry).ok());
    SetByte("file", offset, 0);
  }
  EXPECT_TRUE(VerifyFile(folder(), *entry).ok());
}

TEST_F(FileChecksumsTest, OtherSizeIsDataLossNamingBoth) {
  Write("file", "hello");
  const FileEntry entry = *ChecksumFile(folder(), "file");
  for (const char* contents : {"hell", "hello!", ""}) {
    Write("file", contents);
    for (const Status& status : {CheckFileSize(folder(), entry), VerifyFile(folder(), entry)}) {
      EXPECT_EQ(status.code(), StatusCode::kDataLoss);
      EXPECT_THAT(Message(status),
                  AllOf(HasSubstr(fmt::format("has {} bytes", std::string_view(contents).size())),
                        HasSubstr("says 5")));
    }
  }
}

TEST_F(FileChecksumsTest, MissingFileIsNotFound) {
  const FileEntry entry{"absent", 1, {"0000000000000000"}};
  EXPECT_EQ(CheckFileSize(folder(), entry).code(), StatusCode::kNotFound);
  EXPECT_EQ(VerifyFile(folder(), entry).code(), StatusCode::kNotFound);
  EXPECT_EQ(ChecksumFile(folder(), "absent").status().code(), StatusCode::kNotFound);
}

TEST(FileEntryJsonTest, RoundTrips) {
  const FileEntry entry{"a/b.npy", 70'000'000, {"0123456789abcdef", "fedcba9876543210"}};
  const auto read = FileEntryFromJson(ToJson(entry), "manifest");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, entry);
}

TEST(FileEntryJsonTest, PathThatLeavesTheFolderIsDataLoss) {
  for (const char* path : {"", "/etc/passwd", "../x", "a/../../x", "a/..", ".", "a/./b", "a/"}) {
    const auto read = FileEntryFromJson(ToJson(FileEntry{path, 0, {}}), "manifest");
    EXPECT_EQ(read.status().code(), StatusCode::kDataLoss) << path;
    EXPECT_THAT(Message(read.status()), HasSubstr("'path'"));
  }
  EXPECT_TRUE(FileEntryFromJson(ToJson(FileEntry{"a/..b/c..", 0, {}}), "m").ok());
}

TEST(FileEntryJsonTest, MissingAndWrongFieldsAreNamed) {
  const Json good = ToJson(FileEntry{"f", 5, {"0123456789abcdef"}});
  for (const char* key : {"path", "bytes", "checksums"}) {
    for (const Json& wrong : {Json(), Json(1.5), Json("-1"), Json::object(), Json::array({1})}) {
      Json bad = good;
      bad[key] = wrong;
      if (std::string_view(key) == "path" && wrong.is_string()) continue;  // a fine path
      const auto read = FileEntryFromJson(bad, "manifest");
      EXPECT_EQ(read.status().code(), StatusCode::kDataLoss) << bad;
      EXPECT_THAT(Message(read.status()), HasSubstr(fmt::format("'{}'", key)));
    }
    Json missing = good;
    missing.erase(key);
    EXPECT_THAT(Message(FileEntryFromJson(missing, "manifest").status()),
                HasSubstr(fmt::format("'{}' is missing", key)));
  }
}

TEST(FileEntryJsonTest, ChecksumsMustFitTheSize) {
  EXPECT_FALSE(FileEntryFromJson(ToJson(FileEntry{"f", 5, {}}), "m").ok());
  EXPECT_FALSE(FileEntryFromJson(ToJson(FileEntry{"f", 0, {"0123456789abcdef"}}), "m").ok());
  EXPECT_FALSE(FileEntryFromJson(ToJson(FileEntry{"f", 5, {"0123456789ABCDEF"}}), "m").ok());
  EXPECT_FALSE(FileEntryFromJson(ToJson(FileEntry{"f", 5, {"0123"}}), "m").ok());
  EXPECT_FALSE(FileEntryFromJson(ToJson(FileEntry{"f", -5, {}}), "m").ok());
}

}  // namespace
}  // namespace halograph
