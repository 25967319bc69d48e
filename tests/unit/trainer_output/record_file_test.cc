#include "trainer/output/record_file.h"

#include <csignal>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "common/storage/file.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

// A limit on file sizes stands in for a full disk: the kernel refuses in the middle of a record.
TEST(RecordFileTest, AFullDiskTakesNoPartOfARecord) {
  const TestFolder folder;
  const auto path = folder.path() / "records";
  RecordFile file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666), path.string());
  ASSERT_TRUE(file.is_open());
  ASSERT_TRUE(file.Append("first\n").ok());
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  auto* const old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{9, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const Status full = file.Append("second\n");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_FALSE(full.ok());
  EXPECT_THAT(Message(full), testing::HasSubstr(path.string()));
  EXPECT_EQ(*ReadTextFile(path), "first\n");
  ASSERT_TRUE(file.Append("third\n").ok()) << "there is room again";
  EXPECT_EQ(*ReadTextFile(path), "first\nthird\n");
}

}  // namespace
}  // namespace halograph
