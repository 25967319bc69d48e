#include "server/rights/policy_file.h"

#include <fstream>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "common/base/mutex.h"
#include "tests/support/captured_log.h"
#include "tests/support/test_folder.h"

namespace halograph::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kOfA[] = "principals: {a: {certificates: [x]}}\n";
constexpr char kOfB[] = "principals: {b: {certificates: [x]}}\n";

// A file that is text in memory, looked at only when the test says.
class FakeFile {
 public:
  explicit FakeFile(StatusOr<std::string> now) : now_(std::move(now)) {}
  void Set(StatusOr<std::string> now) {
    const MutexLock lock(mutex_);
    now_ = std::move(now);
  }
  [[nodiscard]] PolicyBounds Bounds() {
    return {.pace = std::chrono::hours(24), .read = [this](const std::filesystem::path&) {
              const MutexLock lock(mutex_);
              return now_;
            }};
  }

 private:
  Mutex mutex_;
  StatusOr<std::string> now_ HG_GUARDED_BY(mutex_);
};

std::unique_ptr<PolicyFile> Opened(FakeFile* file) {
  StatusOr<std::unique_ptr<PolicyFile>> opened = PolicyFile::Open("policy.yaml", file->Bounds());
  EXPECT_TRUE(opened.ok()) << opened.status();
  return *std::move(opened);
}

TEST(PolicyFileTest, ANewContentHoldsFromTheNextLookOn) {
  FakeFile file(kOfA);
  const auto policy = Opened(&file);
  const auto before = policy->policy();
  file.Set(kOfB);
  EXPECT_NE(policy->policy()->Find("a"), nullptr);
  policy->ReadAgain();
  EXPECT_NE(policy->policy()->Find("b"), nullptr);
  EXPECT_EQ(policy->policy()->Find("a"), nullptr);
  EXPECT_NE(before->Find("a"), nullptr) << "who has the old one keeps it";
  const auto now = policy->policy();
  policy->ReadAgain();
  EXPECT_EQ(policy->policy(), now) << "the same content is not parsed again";
}

TEST(PolicyFileTest, WhatDoesNotParseLeavesTheOldOneAndIsSaidOnceAContent) {
  FakeFile file(kOfA);
  const auto policy = Opened(&file);
  CapturedLog log;
  file.Set("principals: [");
  for (int look = 0; look < 3; ++look) policy->ReadAgain();
  EXPECT_NE(policy->policy()->Find("a"), nullptr);
  EXPECT_TRUE(policy->stale());
  EXPECT_EQ(policy->refused(), 1);
  file.Set("principals: [ ");  // the same mistake in another content
  for (int look = 0; look < 3; ++look) policy->ReadAgain();
  EXPECT_EQ(policy->refused(), 2);
  file.Set(NotFound("policy.yaml: no such file"));
  for (int look = 0; look < 3; ++look) policy->ReadAgain();
  EXPECT_EQ(policy->refused(), 3);
  EXPECT_THAT(log.End(), AllOf(HasSubstr("--policy: policy.yaml:"), HasSubstr("no such file"),
                               HasSubstr("the policy before holds on")));
  EXPECT_NE(policy->policy()->Find("a"), nullptr);
  file.Set(kOfA);  // as it was
  policy->ReadAgain();
  EXPECT_FALSE(policy->stale());
  EXPECT_EQ(policy->refused(), 3);
}

TEST(PolicyFileTest, AThreadLooksAtThePaceGiven) {
  Mutex mutex;
  CondVar looked;
  int looks = 0;
  const PolicyBounds bounds = {.pace = std::chrono::nanoseconds(1),
                               .read = [&](const std::filesystem::path&) -> StatusOr<std::string> {
                                 const MutexLock lock(mutex);
                                 ++looks;
                                 looked.NotifyAll();
                                 return looks < 3 ? kOfA : kOfB;
                               }};
  const auto policy = PolicyFile::Open("policy.yaml", bounds);
  ASSERT_TRUE(policy.ok());
  const MutexLock lock(mutex);
  EXPECT_TRUE(looked.WaitFor(mutex, std::chrono::minutes(2), [&] { return looks >= 4; }));
  EXPECT_NE((*policy)->policy()->Find("b"), nullptr);
}

TEST(PolicyFileTest, AStartWithoutAPolicyFails) {
  EXPECT_TRUE(absl::IsNotFound(PolicyFile::Open("/nowhere/policy.yaml").status()));
  const TestFolder folder;
  const auto path = folder.path() / "policy.yaml";
  std::ofstream(path) << "principals:\n";
  EXPECT_TRUE(absl::IsInvalidArgument(PolicyFile::Open(path).status()));
  std::ofstream(path) << kOfA;
  ASSERT_EQ(chmod(path.c_str(), 0646), 0);
  const Status open = PolicyFile::Open(path).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(open)) << open;
  EXPECT_THAT(Message(open), HasSubstr("chmod o-w"));
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_TRUE(PolicyFile::Open(path).ok());
}

}  // namespace
}  // namespace halograph::server
