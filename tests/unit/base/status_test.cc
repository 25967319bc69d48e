#include "common/base/status.h"

#include <cerrno>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/build_info.h"
#include "common/base/log.h"

namespace halograph {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

TEST(StatusTest, ErrorsFormatTheirMessage) {
  const Status status = OutOfRange("{}: fanout {} is below -1", "file", -2);
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
  EXPECT_EQ(Message(status), "file: fanout -2 is below -1");
  EXPECT_EQ(ToString(status), "OUT_OF_RANGE: file: fanout -2 is below -1");
  EXPECT_EQ(ToString(OkStatus()), "OK");
}

TEST(StatusTest, AnnotateKeepsTheCodeAndLeavesOkAlone) {
  const Status status = Annotate(DataLoss("truncated"), "part 3");
  EXPECT_EQ(ToString(status), "DATA_LOSS: part 3: truncated");
  EXPECT_TRUE(Annotate(OkStatus(), "part 3").ok());
}

TEST(StatusTest, ErrnoChoosesTheCodeAndNamesThePath) {
  EXPECT_EQ(ErrnoStatus(ENOENT, "cannot open", "/x").code(), StatusCode::kNotFound);
  EXPECT_EQ(ErrnoStatus(ENOSPC, "cannot write", "/x").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrnoStatus(EDQUOT, "cannot write", "/x").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrnoStatus(EACCES, "cannot open", "/x").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(ErrnoStatus(EEXIST, "cannot create", "/x").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(ErrnoStatus(EIO, "cannot read", "/x").code(), StatusCode::kInternal);
  EXPECT_EQ(Message(ErrnoStatus(ENOENT, "cannot open", "/x")),
            "cannot open /x: No such file or directory");
}

StatusOr<std::unique_ptr<int>> Make(bool good) {
  if (!good) return Cancelled("no");
  return std::make_unique<int>(5);
}

Status Use(bool good, int* out) {
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<int> value, Make(good));
  HG_RETURN_IF_ERROR(OkStatus());
  *out = *value;
  return OkStatus();
}

TEST(StatusTest, MacrosMoveValuesAndPassErrorsOn) {
  int out = 0;
  EXPECT_TRUE(Use(true, &out).ok());
  EXPECT_EQ(out, 5);
  EXPECT_EQ(Use(false, &out).code(), StatusCode::kCancelled);
}

TEST(BuildVersionTest, IsVersionAndCommit) {
  EXPECT_THAT(BuildVersion(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+\\+.+"));
}

TEST(InitLogTest, UnknownLevelIsQuoted) {
  const Status status = InitLog("program", "loud");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("'loud'"));
}

TEST(InitLogTest, LineHasUtcTimeLevelAndProgram) {
  testing::internal::CaptureStderr();
  ASSERT_TRUE(InitLog("50%-done", "warning").ok());
  spdlog::info("hidden");
  spdlog::warn("shown {}", 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::MatchesRegex("[0-9]+-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]"
                                    "\\.[0-9][0-9][0-9]Z warning 50%-done: shown 1\n"));
  ASSERT_TRUE(InitLog("test", "info").ok());
}

}  // namespace
}  // namespace halograph
