#include "common/storage/run_folder.h"

#include <csignal>
#include <cstdlib>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/storage/temp_folder.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class RunFolderTest : public TempFolderTest {
 protected:
  [[nodiscard]] std::unique_ptr<RunFolder> Made() const {
    auto made = RunFolder::Make(folder());
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? std::move(*made) : nullptr;
  }

  // The folder of a run that was killed in the middle of its work.
  void LeaveOneOfAKilledRun() const {
    const pid_t child = fork();
    if (child == 0) {
      const auto made = RunFolder::Make(folder());
      if (!made.ok()) _exit(5);
      fs::create_directories((*made)->path() / "state" / "part-0000");
      raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    ASSERT_EQ(Names().size(), 1U);
  }
};

TEST_F(RunFolderTest, IsOfThisUserAloneAndGoneWithAllInIt) {
  auto made = Made();
  EXPECT_EQ(made->path().parent_path(), folder());
  struct stat found = {};
  ASSERT_EQ(stat(made->path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0700U);
  fs::create_directories(made->path() / "state" / "log");
  made.reset();
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(RunFolderTest, TheNextStartRemovesThatOfAKilledRunAndNoOther) {
  LeaveOneOfAKilledRun();
  fs::create_directory(folder() / "halograph-runs");
  Write("halograph-run-file", "a file of that name");
  fs::create_directory(folder() / "elsewhere");
  fs::create_directory_symlink(folder() / "elsewhere", folder() / "halograph-run-link");
  Write("elsewhere/kept", "what a link leads to");
  const auto first = Made();
  const auto second = Made();
  EXPECT_EQ(Names(), (std::set<std::string>{"halograph-runs", "halograph-run-file", "elsewhere",
                                            "halograph-run-link", first->path().filename(),
                                            second->path().filename()}));
  EXPECT_TRUE(fs::exists(folder() / "elsewhere" / "kept"));
}

TEST_F(RunFolderTest, AStartLeavesAUsersOwnFolderOfALikeName) {
  const auto made = Made();
  const fs::path lock = made->path() / "lock";
  for (const char* const name : {"halograph-run-mydata", "halograph-run-noted1",
                                 "halograph-run-experiment1", "halograph-new-abcdef"}) {
    fs::create_directory(folder() / name);
    Write(std::string(name) + "/kept", "data");
  }
  Write("halograph-run-noted1/lock", "a lock of something else\n");
  fs::copy_file(lock, folder() / "halograph-run-experiment1" / "lock");
  fs::create_directory(folder() / "halograph-run-linked");
  fs::create_symlink(lock, folder() / "halograph-run-linked" / "lock");
  const auto before = Names();
  const auto next = Made();
  auto after = before;
  after.insert(next->path().filename());
  EXPECT_EQ(Names(), after);
  EXPECT_TRUE(fs::exists(folder() / "halograph-run-mydata" / "kept"));
  EXPECT_TRUE(fs::exists(folder() / "halograph-run-noted1" / "kept"));
  EXPECT_TRUE(fs::exists(folder() / "halograph-run-experiment1" / "kept"));
}

TEST_F(RunFolderTest, AStartLeavesTheFolderOfAnotherHost) {
  LeaveOneOfAKilledRun();
  const std::string left = *Names().begin();
  const fs::path lock = folder() / left / "lock";
  std::string text = Read(lock);
  ASSERT_THAT(text, StartsWith("halograph run folder\nhost "));
  text.insert(text.find('\n', text.find("host ")), "-other");
  Write(left + "/lock", text);
  (void)Made();
  EXPECT_TRUE(fs::exists(folder() / left / "state" / "part-0000"));
}

TEST_F(RunFolderTest, AStartRemovesWhatARunLeftBeforeItsHostBeganAnew) {
  LeaveOneOfAKilledRun();
  const std::string left = *Names().begin();
  std::string text = Read(folder() / left / "lock");
  ASSERT_THAT(text, HasSubstr("\nboot "));
  text.insert(text.find("boot ") + 5, "other-");
  Write(left + "/lock", text);
  (void)Made();
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(RunFolderTest, AFolderThatCannotBeMadeIsNamed) {
  const auto made = RunFolder::Make(folder() / "none");
  EXPECT_EQ(made.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(made.status()), HasSubstr((folder() / "none").string()));
}

TEST_F(RunFolderTest, TmpdirSaysWhere) {
  const char* const before = getenv("TMPDIR");
  const auto kept = before == nullptr ? std::optional<std::string>() : std::string(before);
  setenv("TMPDIR", folder().c_str(), 1);
  EXPECT_EQ(TemporaryParent(), folder());
  setenv("TMPDIR", "", 1);
  EXPECT_EQ(TemporaryParent(), "/tmp");
  unsetenv("TMPDIR");
  EXPECT_EQ(TemporaryParent(), "/tmp");
  if (kept.has_value()) setenv("TMPDIR", kept->c_str(), 1);
}

}  // namespace
}  // namespace halograph
