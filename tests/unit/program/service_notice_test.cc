#include "common/program/service_notice.h"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/captured_log.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The service manager's end.
class Manager {
 public:
  explicit Manager(std::string name)
      : name_(std::move(name)), fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name_.data(), name_.size());
    if (name_[0] == '@') address.sun_path[0] = '\0';
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), bytes), 0)
        << std::strerror(errno);
  }
  ~Manager() { close(fd_); }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // What has come by now.
  [[nodiscard]] std::vector<std::string> Read() const {
    std::vector<std::string> messages;
    for (char buffer[4096];;) {
      const ssize_t bytes = recv(fd_, buffer, sizeof buffer, 0);
      if (bytes < 0) return messages;
      messages.emplace_back(buffer, static_cast<size_t>(bytes));
    }
  }

 private:
  const std::string name_;
  const int fd_;
};

class ServiceNoticeTest : public testing::Test {
 protected:
  static std::unique_ptr<ServiceNotice> Opened(const std::string& socket,
                                               nanoseconds watchdog = {}) {
    StatusOr<std::unique_ptr<ServiceNotice>> notice = ServiceNotice::Open(socket, watchdog);
    EXPECT_TRUE(notice.ok()) << Message(notice.status());
    return *std::move(notice);
  }
  // One that binding takes, whatever the folder of tests is.
  [[nodiscard]] std::string Path() const {
    const std::string path = folder_.path() / "notify";
    if (path.size() > ServiceNotice::kLongestSocket) ADD_FAILURE() << path << " is too long";
    return path;
  }

  TestFolder folder_;
};

TEST_F(ServiceNoticeTest, EachIsOneDatagramInTheWordsOfSystemd) {
  const Manager manager(Path());
  const auto notice = Opened(Path(), seconds(30));
  EXPECT_EQ(notice->watchdog(), seconds(30));
  notice->Doing("opening");
  notice->Ready("serving part 0");
  notice->Alive();
  notice->Stopping("draining");
  EXPECT_THAT(manager.Read(), ElementsAre("STATUS=opening", "READY=1\nSTATUS=serving part 0",
                                          "WATCHDOG=1", "STOPPING=1\nSTATUS=draining"));
}

TEST_F(ServiceNoticeTest, ANameAfterAnAtIsOfTheAbstractSpace) {
  const std::string name = "@halograph-test-" + std::to_string(getpid());
  const Manager manager(name);
  Opened(name)->Alive();
  EXPECT_THAT(manager.Read(), ElementsAre("WATCHDOG=1"));
}

TEST_F(ServiceNoticeTest, AStatusCannotSayMoreThanAStatus) {
  const Manager manager(Path());
  Opened(Path())->Doing("part 0\nSTOPPING=1");
  EXPECT_THAT(manager.Read(), ElementsAre("STATUS=part 0\\x0aSTOPPING=1"));
}

TEST_F(ServiceNoticeTest, WhatIsNoSocketIsRefusedByName) {
  EXPECT_TRUE(Opened("")->watchdog() == nanoseconds(0));
  const std::string long_path = "/" + std::string(ServiceNotice::kLongestSocket, 'x');
  EXPECT_THAT(Message(ServiceNotice::Open(long_path, {}).status()),
              HasSubstr("NOTIFY_SOCKET has 108 bytes, and a socket's name at most 107"));
  for (const char* socket : {"run/notify", "vsock:2:1234", "/", "@"}) {
    EXPECT_THAT(Message(ServiceNotice::Open(socket, {}).status()),
                HasSubstr("expected a path from / on"))
        << socket;
  }
}

TEST_F(ServiceNoticeTest, TheLongestPathIsReached) {
  std::string path = "@";
  path.resize(ServiceNotice::kLongestSocket, 'y');
  const std::string own = std::to_string(getpid());
  path.replace(1, own.size(), own);
  const Manager manager(path);
  Opened(path)->Alive();
  EXPECT_THAT(manager.Read(), ElementsAre("WATCHDOG=1"));
}

TEST_F(ServiceNoticeTest, NobodyThereIsToldOnceAndNotWaitedFor) {
  const auto notice = Opened(Path());
  CapturedLog captured;
  notice->Alive();
  notice->Alive();
  const std::string log = captured.End();
  EXPECT_THAT(log, HasSubstr("the service manager was not told 'WATCHDOG=1' at NOTIFY_SOCKET"));
  EXPECT_EQ(log.find("not told"), log.rfind("not told")) << log;
}

// A manager that is busy has a full queue.
TEST_F(ServiceNoticeTest, ThatItIsReadyIsSaidAgainWhereItWasLost) {
  const Manager manager(Path());
  const auto notice = Opened(Path());
  constexpr int kMoreThanFit = 100000;
  int sent = 0;
  const CapturedLog captured;
  while (!captured.Has("not told") && sent < kMoreThanFit) {
    notice->Alive();
    ++sent;
  }
  ASSERT_LT(sent, kMoreThanFit);
  notice->Ready("serving");
  notice->Alive();
  EXPECT_EQ(manager.Read().size(), static_cast<size_t>(sent) - 1);
  notice->Alive();
  notice->Alive();
  EXPECT_THAT(manager.Read(), ElementsAre("READY=1\nWATCHDOG=1", "WATCHDOG=1"));
}

TEST_F(ServiceNoticeTest, TheEnvironmentSaysWhere) {
  const Manager manager(Path());
  setenv("NOTIFY_SOCKET", Path().c_str(), 1);
  setenv("WATCHDOG_USEC", "2000000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  auto notice = ServiceNotice::OfEnvironment();
  EXPECT_EQ(notice->watchdog(), seconds(2));
  notice->Alive();
  EXPECT_THAT(manager.Read(), ElementsAre("WATCHDOG=1"));
  setenv("NOTIFY_SOCKET", "elsewhere", 1);
  CapturedLog captured;
  notice = ServiceNotice::OfEnvironment();
  EXPECT_THAT(captured.End(), HasSubstr("NOTIFY_SOCKET is 'elsewhere'"));
  notice->Alive();
  unsetenv("NOTIFY_SOCKET");
  notice = ServiceNotice::OfEnvironment();
  notice->Ready("serving");
  EXPECT_THAT(manager.Read(), IsEmpty());
  unsetenv("WATCHDOG_USEC");
  unsetenv("WATCHDOG_PID");
}

TEST(WatchdogAskedForTest, IsOfThisProcessAndAPositiveNumber) {
  EXPECT_EQ(WatchdogAskedFor("30000000", std::nullopt, 7), seconds(30));
  EXPECT_EQ(WatchdogAskedFor("30000000", "7", 7), seconds(30));
  EXPECT_EQ(WatchdogAskedFor("30000000", "8", 7), nanoseconds(0));
  EXPECT_EQ(WatchdogAskedFor(std::nullopt, "7", 7), nanoseconds(0));
  for (const char* none : {"", "0", "-1", "3s", "99999999999999999999", "9223372036854775807"}) {
    EXPECT_EQ(WatchdogAskedFor(none, std::nullopt, 7), nanoseconds(0)) << none;
  }
}

}  // namespace
}  // namespace halograph
