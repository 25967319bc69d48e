#include <csignal>
#include <future>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/topology_copy/fetch_lock.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using testing::HasSubstr;

class TopologyFetchLockTest : public testing::Test {
 protected:
  StatusOr<TopologyFetchLock> Acquire(std::chrono::nanoseconds patience = minutes(1)) const {
    return TopologyFetchLock::Acquire(file_, patience, context_);
  }
  TestFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "fetch.lock";
  CancelToken token_;
  const CallContext context_{.cancel = &token_};
};

TEST_F(TopologyFetchLockTest, IsHeldByOneAtATime) {
  auto first = Acquire();
  ASSERT_TRUE(first.ok()) << first.status();
  std::atomic<bool> released = false;
  auto second = std::async(std::launch::async, [&] {
    const auto lock = Acquire();
    EXPECT_TRUE(released);
    return lock.status();
  });
  first->Note("fetched 1 of 2");
  released = true;
  { const TopologyFetchLock gone = std::move(first).value(); }
  EXPECT_TRUE(second.get().ok());
}

TEST_F(TopologyFetchLockTest, AHolderThatMakesNoProgressIsNamed) {
  auto holder = Acquire();
  ASSERT_TRUE(holder.ok()) << holder.status();
  holder->Note("fetched 17 GiB of 42 GiB");
  const Status status = Acquire(milliseconds(250)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("process " + std::to_string(getpid())));
  EXPECT_THAT(Message(status), HasSubstr("fetched 17 GiB of 42 GiB"));
  EXPECT_THAT(Message(status), HasSubstr(file_.string()));
}

TEST_F(TopologyFetchLockTest, WaitingEndsWhenTheTokenIsCancelled) {
  const auto holder = Acquire();
  ASSERT_TRUE(holder.ok()) << holder.status();
  auto waiting = std::async(std::launch::async, [&] { return Acquire().status(); });
  token_.Cancel();
  EXPECT_EQ(waiting.get().code(), absl::StatusCode::kCancelled);
}

TEST_F(TopologyFetchLockTest, IsFreeWhenItsHolderIsKilled) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {  // only what is safe after fork
    const int fd = open(file_.c_str(), O_RDWR | O_CREAT, 0666);
    const char done = flock(fd, LOCK_EX) == 0 ? 'y' : 'n';
    if (write(ready[1], &done, 1) == 1) pause();
    _exit(1);
  }
  char locked = 0;
  ASSERT_EQ(read(ready[0], &locked, 1), 1);
  EXPECT_EQ(locked, 'y');
  EXPECT_EQ(Acquire(milliseconds(150)).status().code(), absl::StatusCode::kDeadlineExceeded);
  auto waiting = std::async(std::launch::async, [&] { return Acquire().status(); });
  kill(child, SIGKILL);
  EXPECT_TRUE(waiting.get().ok());
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace halograph
