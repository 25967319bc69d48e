#include "server/listener/accept_loop.h"

#include <atomic>
#include <memory>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "common/base/log.h"
#include "server/listener/descriptor_limit.h"
#include "tests/unit/server_listener/loopback.h"

namespace halograph::server {
namespace {

class AcceptLoopTest : public testing::Test {
 protected:
  AcceptLoopTest() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~AcceptLoopTest() override {
    setrlimit(RLIMIT_NOFILE, &before_);
    loop_.reset();
    for (const int fd : taken_) close(fd);
  }
  void Start() {
    loop_ = std::make_unique<AcceptLoop>(std::vector<int>{listening_.fd}, &table_,
                                         [this](int socket, int fd) {
                                           EXPECT_EQ(socket, listening_.fd);
                                           taken_.push_back(fd);
                                           ++count_;
                                         });
  }
  void SetSoftLimit(rlim_t limit) const {
    const rlimit changed{limit, before_.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &changed), 0);
  }
  void Await(int count) const {
    while (count_ < count) std::this_thread::yield();
  }

  rlimit before_{};
  const ListeningSocket listening_;
  ConnectionTable table_{{}};
  std::vector<int> taken_;
  std::atomic<int> count_ = 0;
  std::unique_ptr<AcceptLoop> loop_;
};

TEST_F(AcceptLoopTest, HandsOverAllThatComeAndRefusesWhenItHasEnded) {
  Start();
  const LoopbackClient one(listening_.port), two(listening_.port), three(listening_.port);
  Await(3);
  loop_.reset();
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(listening_.port));
  EXPECT_NE(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  close(fd);
}

TEST_F(AcceptLoopTest, ServesAgainOnceThereAreDescriptors) {
  // A sanitizer looks at the type of an object that it does not know by a pipe, which needs
  // descriptors: it gets to know the log while there are some.
  spdlog::warn("{} descriptors are left from here on", 0);
  Start();
  const LoopbackClient one(listening_.port);
  Await(1);
  const LoopbackClient two(listening_.port, "127.0.0.2");
  Await(2);
  // No new descriptor can be had: those that connect wait. A socket made before connects later.
  std::vector<int> sockets;
  for (int i = 0; i < 3; ++i) sockets.push_back(socket(AF_INET, SOCK_STREAM, 0));
  SetSoftLimit(3);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(listening_.port));
  for (const int fd : sockets) {
    ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  while (table_.counts().no_descriptors < 2) std::this_thread::yield();
  EXPECT_EQ(count_, 2);
  SetSoftLimit(before_.rlim_cur);
  Await(5);
  for (const int fd : sockets) close(fd);
}

TEST_F(AcceptLoopTest, TheLimitIsRaisedToTheHardOne) {
  SetSoftLimit(before_.rlim_max / 2);
  EXPECT_EQ(DescriptorLimit(), static_cast<int64_t>(before_.rlim_max / 2));
  EXPECT_EQ(RaiseDescriptorLimit(), static_cast<int64_t>(before_.rlim_max));
  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  EXPECT_EQ(now.rlim_cur, before_.rlim_max);
}

}  // namespace
}  // namespace halograph::server
