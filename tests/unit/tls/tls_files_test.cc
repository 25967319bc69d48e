#include "common/tls/tls_files.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "common/tls/tls_metrics.h"
#include "tests/support/captured_log.h"
#include "tests/support/test_ca.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::string TextOf(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

int ModeOf(const fs::path& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 ? static_cast<int>(about.st_mode & 07777) : -1;
}

std::vector<std::string> NamesIn(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

size_t TimesIn(const std::string& text, const std::string& words) {
  size_t times = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
    ++times;
  }
  return times;
}

// The thread of its own never looks: the tests do.
class TlsFilesTest : public testing::Test {
 protected:
  TlsFilesTest() { WriteTlsFolder(folder_.path(), pair_, ca_.root()); }

  [[nodiscard]] StatusOr<std::unique_ptr<TlsFiles>> Start() {
    return TlsFiles::Start(paths_, TlsRole::kServer,
                           {.pace = std::chrono::hours(1),
                            .now = [this] { return now_.load(); },
                            .private_root = private_.path()});
  }
  void Write(const TestPair& pair) { WriteTlsFolder(folder_.path(), pair, ca_.root()); }

  const TestFolder folder_;
  const TestFolder private_;
  const TlsPaths paths_ = TlsPathsIn(folder_.path());
  std::atomic<double> now_ = kTestTime;
  TestCa ca_{kTestTime};
  TestPair pair_ = ca_.Make({.common_name = "first"});
};

TEST_F(TlsFilesTest, ThePrivateFolderIsTheOwnersAndGoes) {
  auto files = Start();
  ASSERT_TRUE(files.ok()) << files.status();
  const fs::path inside = fs::path((*files)->identity_path()).parent_path();
  EXPECT_EQ(ModeOf(inside), 0700);
  EXPECT_EQ(ModeOf(inside / "crl"), 0700);
  EXPECT_EQ(ModeOf((*files)->identity_path()), 0600);
  EXPECT_THAT(TextOf((*files)->identity_path()), HasSubstr(pair_.certificate));
  EXPECT_THAT(TextOf((*files)->roots_path()), HasSubstr(ca_.root()));
  files->reset();
  EXPECT_THAT(NamesIn(private_.path()), IsEmpty());
}

// Or gRPC would have a part of the new set beside the rest of the old one.
TEST_F(TlsFilesTest, ASetOfWhichOneFileCannotBeWrittenLeavesAllAsTheyWere) {
  auto files = Start();
  ASSERT_TRUE(files.ok()) << files.status();
  const std::string identity = (*files)->identity_path();
  const std::string before = TextOf(identity) + TextOf((*files)->roots_path());
  fs::create_directory((*files)->roots_path() + ".new");
  Write(ca_.Make({.common_name = "second"}));
  (*files)->LookNow();
  EXPECT_THAT((*files)->Figures().error, HasSubstr("roots.pem.new"));
  EXPECT_EQ(TextOf(identity) + TextOf((*files)->roots_path()), before);
  fs::remove((*files)->roots_path() + ".new");
  (*files)->LookNow();
  EXPECT_THAT((*files)->Figures().subject, HasSubstr("second"));
  EXPECT_NE(TextOf(identity) + TextOf((*files)->roots_path()), before);
}

TEST_F(TlsFilesTest, WhatAKilledProcessLeftGoesWithTheNextStart) {
  ASSERT_EXIT(
      {
        auto files = Start();
        _exit(files.ok() ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
  EXPECT_THAT(NamesIn(private_.path()), SizeIs(1));
  const auto files = Start();
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(NamesIn(private_.path()),
              ElementsAre(fs::path((*files)->identity_path()).parent_path().filename().string()));
}

TEST_F(TlsFilesTest, WhatIsWrongAtTheStartIsAnError) {
  WriteTestFile(paths_.key, ca_.Make().key);
  const auto files = Start();
  ASSERT_FALSE(files.ok());
  EXPECT_THAT(Message(files.status()), HasSubstr("the key does not belong"));
  EXPECT_THAT(NamesIn(private_.path()), IsEmpty());
}

TEST_F(TlsFilesTest, ANewPairHoldsFromTheNextLookOn) {
  const auto files = Start();
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ((*files)->Figures().subject, "CN=first");
  EXPECT_EQ((*files)->Figures().expires, kTestTime + 30 * kTestDay);
  const TestPair second = ca_.Make({.common_name = "second", .not_after = 60 * kTestDay});
  Write(second);
  (*files)->LookNow();
  const TlsFigures figures = (*files)->Figures();
  EXPECT_EQ(figures.subject, "CN=second");
  EXPECT_EQ(figures.expires, kTestTime + 60 * kTestDay);
  EXPECT_EQ(figures.generation, 2);
  EXPECT_EQ(figures.bad_looks, 0);
  EXPECT_THAT(TextOf((*files)->identity_path()), HasSubstr(second.certificate));
  (*files)->LookNow();
  EXPECT_EQ((*files)->Figures().generation, 2) << "nothing has changed";
}

TEST_F(TlsFilesTest, TheStatusPageTellsHowManyDaysAreLeft) {
  EXPECT_TRUE(TlsStatusJson(nullptr).is_null()) << "without TLS";
  const auto files = Start();
  ASSERT_TRUE(files.ok()) << files.status();
  const Json status = TlsStatusJson(files->get());
  EXPECT_EQ(status["subject"], "CN=first");
  EXPECT_DOUBLE_EQ(status["certificate_days_left"].get<double>(), 30);
  EXPECT_TRUE(status["crl_days_left"].is_null()) << status["crl_days_left"];
  EXPECT_EQ(status["changes"], 0);
  EXPECT_EQ(status["error"], "");
}

TEST_F(TlsFilesTest, AHalfWrittenPairIsToldOnceAndTheOldOneHolds) {
  CapturedLog log;
  const auto files = Start();
  ASSERT_TRUE(files.ok()) << files.status();
  const std::string before = TextOf((*files)->identity_path());
  const TestPair second = ca_.Make({.common_name = "second"});
  WriteTestFile(paths_.certificate, second.certificate);
  (*files)->LookNow();
  (*files)->LookNow();
  EXPECT_EQ(TextOf((*files)->identity_path()), before);
  EXPECT_EQ((*files)->Figures().bad_looks, 2);
  EXPECT_THAT((*files)->Figures().error, HasSubstr("the key does not belong"));
  EXPECT_EQ((*files)->Figures().generation, 1);
  WriteTestFile(paths_.key, second.key.substr(0, 100));
  (*files)->LookNow();
  EXPECT_EQ(TextOf((*files)->identity_path()), before);
  WriteTestFile(paths_.key, second.key);
  (*files)->LookNow();
  EXPECT_THAT(TextOf((*files)->identity_path()), HasSubstr(second.certificate));
  EXPECT_EQ((*files)->Figures().bad_looks, 3);
  EXPECT_EQ((*files)->Figures().error, "");
  const std::string text = log.End();
  EXPECT_EQ(TimesIn(text, "what was there before holds on"), 2U) << text;
  EXPECT_EQ(TimesIn(text, "in order again"), 1U) << text;
  EXPECT_THAT(text, Not(HasSubstr("PRIVATE KEY")));
}

TEST_F(TlsFilesTest, FilesThatVanishLeaveTheOldOnes) {
  const auto files = Start();
  ASSERT_TRUE(files.ok()) << files.status();
  fs::remove(paths_.roots);
  (*files)->LookNow();
  EXPECT_THAT((*files)->Figures().error, HasSubstr("ca.crt"));
  EXPECT_THAT(TextOf((*files)->roots_path()), HasSubstr(ca_.root()));
}

TEST_F(TlsFilesTest, ANewRevocationListChangesTheRootsSoThatItCounts) {
  const auto files = Start();
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(NamesIn((*files)->crl_folder()), IsEmpty());
  const std::string roots = TextOf((*files)->roots_path());
  WriteTestFile(paths_.crl, ca_.MakeCrl(kTestDay));
  (*files)->LookNow();
  const std::vector<std::string> names = NamesIn((*files)->crl_folder());
  ASSERT_THAT(names, ElementsAre(testing::EndsWith(".r0")));
  EXPECT_NE(TextOf((*files)->roots_path()), roots);
  EXPECT_EQ((*files)->Figures().crl_expires, kTestTime + kTestDay);

  ca_.Revoke(ca_.Make());
  const std::string second = ca_.MakeCrl(2 * kTestDay);
  WriteTestFile(paths_.crl, second);
  (*files)->LookNow();
  EXPECT_EQ(TextOf(fs::path((*files)->crl_folder()) / names[0]), second);
  EXPECT_EQ((*files)->Figures().generation, 3);

  fs::remove(paths_.crl);
  (*files)->LookNow();
  EXPECT_THAT((*files)->Figures().error, HasSubstr("crl.pem"));
  EXPECT_EQ(NamesIn((*files)->crl_folder()), names) << "a revocation is not undone by a lost file";
}

TEST_F(TlsFilesTest, TheEndIsToldAWeekBeforeAndWhenItCame) {
  CapturedLog log;
  const auto files = Start();
  ASSERT_TRUE(files.ok()) << files.status();
  now_ = kTestTime + 22 * kTestDay;
  (*files)->LookNow();
  EXPECT_FALSE(log.Has("expires"));
  now_ = kTestTime + 24 * kTestDay;
  (*files)->LookNow();
  (*files)->LookNow();
  now_ = kTestTime + 31 * kTestDay;
  (*files)->LookNow();
  (*files)->LookNow();
  const std::string text = log.End();
  EXPECT_EQ(TimesIn(text, "CN=first expires"), 1U) << text;
  EXPECT_EQ(TimesIn(text, "CN=first has expired"), 1U) << text;
}

TEST_F(TlsFilesTest, TheThreadLooksByItself) {
  std::atomic<int> reads = 0;
  Mutex mutex;
  CondVar changed;
  bool looked = false;
  auto files = TlsFiles::Start(paths_, TlsRole::kServer,
                               {.pace = std::chrono::milliseconds(1),
                                .read =
                                    [&](const TlsPaths& paths) {
                                      if (++reads == 3) {
                                        const MutexLock lock(mutex);
                                        looked = true;
                                        changed.NotifyAll();
                                      }
                                      return ReadTlsTexts(paths);
                                    },
                                .now = [] { return kTestTime; },
                                .private_root = private_.path()});
  ASSERT_TRUE(files.ok()) << files.status();
  const MutexLock lock(mutex);
  changed.Wait(mutex, [&] { return looked; });
}

TEST(PrivateRootTest, IsTheServicesOwnFolderWhereThereIsOne) {
  setenv("RUNTIME_DIRECTORY", "/run/halograph:/run/other", 1);
  EXPECT_EQ(PrivateRoot(), "/run/halograph");
  setenv("RUNTIME_DIRECTORY", "relative", 1);
  EXPECT_EQ(PrivateRoot(), TemporaryParent());
  unsetenv("RUNTIME_DIRECTORY");
  EXPECT_EQ(PrivateRoot(), TemporaryParent());
}

}  // namespace
}  // namespace halograph
