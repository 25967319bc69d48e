#include "common/storage/replace_check.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/support/test_folder.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;

class CheckReplaceableTest : public testing::Test {
 protected:
  Status Check(const fs::path& output) {
    return CheckReplaceable(output, "manifest.json", "a partition folder");
  }
  void Write(const fs::path& path) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "{}";
  }

  TestFolder folder_;
};

TEST_F(CheckReplaceableTest, NothingAnEmptyFolderAndOneOfOursMayBeReplaced) {
  EXPECT_TRUE(Check(folder_.path() / "none").ok());
  fs::create_directory(folder_.path() / "empty");
  EXPECT_TRUE(Check(folder_.path() / "empty").ok());
  Write(folder_.path() / "graph" / "manifest.json");
  EXPECT_TRUE(Check(folder_.path() / "graph").ok());
}

TEST_F(CheckReplaceableTest, FilesAndForeignFoldersStay) {
  Write(folder_.path() / "home" / "thesis.tex");
  Write(folder_.path() / "file");
  fs::create_directory_symlink(folder_.path() / "home", folder_.path() / "link");
  fs::create_symlink(folder_.path() / "gone", folder_.path() / "dangling");
  for (const char* name : {"home", "file", "link", "dangling"}) {
    const Status status = Check(folder_.path() / name);
    EXPECT_TRUE(absl::IsAlreadyExists(status)) << name << ": " << status;
    EXPECT_THAT(Message(status), AllOf(HasSubstr(name), HasSubstr("is not a partition folder")));
  }
}

TEST(CheckInputStaysTest, InputInTheOutputIsRefused) {
  const TestFolder folder;
  const fs::path out = folder.path() / "out";
  fs::create_directories(out / "data");
  for (const fs::path& input : {out, out / "data", out / "data" / "." / "edges.txt"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckInputStays(input, out))) << input;
    EXPECT_TRUE(absl::IsInvalidArgument(CheckInputStays(input, out / ""))) << input;
  }
  fs::create_directory_symlink(out, folder.path() / "alias");
  EXPECT_TRUE(absl::IsInvalidArgument(CheckInputStays(folder.path() / "alias" / "data", out)));
}

TEST(CheckInputStaysTest, InputBesideOrAroundTheOutputStays) {
  const TestFolder folder;
  fs::create_directories(folder.path() / "out");
  EXPECT_TRUE(CheckInputStays(folder.path() / "in", folder.path() / "out").ok());
  EXPECT_TRUE(CheckInputStays(folder.path() / "outer", folder.path() / "out").ok());
  EXPECT_TRUE(CheckInputStays(folder.path(), folder.path() / "out").ok());
}

}  // namespace
}  // namespace halograph
