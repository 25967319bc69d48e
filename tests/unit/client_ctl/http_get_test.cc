// The small HTTP client against ports that say what a test wants, whole or not, and against what
// trainers tell.
#include "client/ctl/http_get.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/ctl/trainer_ports.h"
#include "client/name_lookup.h"
#include "tests/support/test_folder.h"

namespace halograph::ctl {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds kPatience{100};

// The port that it got.
int BindToLoopback(int fd) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

// Takes one connection, reads its request and says `answer`; then closes, or with `stays` keeps it
// until the test ends.
class OnePage {
 public:
  explicit OnePage(std::string answer, bool stays = false) : answer_(std::move(answer)) {
    listening_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    port_ = BindToLoopback(listening_);
    EXPECT_EQ(listen(listening_, 4), 0);
    thread_ = std::thread([this, stays] { Serve(stays); });
  }
  ~OnePage() {
    shutdown(listening_, SHUT_RDWR);  // ends an accept that waits
    if (thread_.joinable()) thread_.join();
    if (open_ >= 0) close(open_);
    close(listening_);
  }
  [[nodiscard]] HostPort address() const { return {"127.0.0.1", port_}; }
  [[nodiscard]] std::string Request() {
    thread_.join();
    return request_;
  }

 private:
  void Serve(bool stays) {
    open_ = accept(listening_, nullptr, nullptr);
    if (open_ < 0) return;
    char piece[4096];
    while (request_.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = recv(open_, piece, sizeof(piece), 0);
      if (got <= 0) break;
      request_.append(piece, static_cast<size_t>(got));
    }
    std::string_view left = answer_;
    while (!left.empty()) {
      const ssize_t sent = send(open_, left.data(), left.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      left.remove_prefix(static_cast<size_t>(sent));
    }
    if (stays) return;
    close(open_);
    open_ = -1;
  }

  const std::string answer_;
  int listening_ = -1;
  int open_ = -1;
  int port_ = 0;
  std::string request_;
  std::thread thread_;
};

StatusOr<std::string> Get(const std::string& answer) {
  OnePage page(answer);
  return HttpGet(page.address(), "/status", "", kPatience);
}

TEST(HttpGetTest, GivesTheBodyAndSendsTheToken) {
  OnePage page("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  const auto body = HttpGet(page.address(), "/status", "secret", kPatience);
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_EQ(*body, "hello");
  const std::string request = page.Request();
  EXPECT_THAT(request, testing::StartsWith("GET /status HTTP/1.0\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nAuthorization: Bearer secret\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nHost: 127.0.0.1:"));
}

TEST(HttpGetTest, BodyWithoutALengthEndsWithTheConnection) {
  EXPECT_EQ(Get("HTTP/1.1 200 OK\r\n\r\nall of it").value_or(""), "all of it");
}

TEST(HttpGetTest, BodyThatIsCutShortIsNoBody) {
  const auto body = Get("HTTP/1.1 200 OK\r\ncontent-LENGTH: 10\r\n\r\nhalf");
  EXPECT_EQ(body.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(body.status()), HasSubstr("4 of 10 bytes"));
}

TEST(HttpGetTest, RefusalSaysWhatThePortSaid) {
  const auto body = Get("HTTP/1.1 401 Unauthorized\r\n\r\nshow a token\n");
  EXPECT_EQ(body.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(body.status()), HasSubstr("401: show a token"));
  EXPECT_THAT(Message(body.status()), HasSubstr("--trainer-token-file"));
  EXPECT_EQ(Get("HTTP/1.1 404 Not Found\r\n\r\n").status().code(), absl::StatusCode::kNotFound);
}

TEST(HttpGetTest, GarbageIsNoHttp) {
  EXPECT_EQ(Get("SSH-2.0-x\r\n\r\n").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Get("").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Get("HTTP/1.\r\n\r\n").status().code(), absl::StatusCode::kDataLoss);
}

TEST(HttpGetTest, TooMuchIsRefused) {
  const auto body = Get("HTTP/1.1 200 OK\r\n\r\n" + std::string(kMostPageBytes + (128 << 10), 'x'));
  EXPECT_EQ(body.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(HttpGetTest, PortThatNeverAnswersEndsWithTheTime) {
  OnePage page("HTTP/1.1 200 OK\r\n", /*stays=*/true);
  const auto body = HttpGet(page.address(), "/status", "", std::chrono::milliseconds(50));
  EXPECT_EQ(body.status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(HttpGetTest, NobodyThereIsUnavailable) {
  // A port that is taken, so that no other program gets it, and at which nobody listens.
  const int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const HostPort address{"127.0.0.1", BindToLoopback(taken)};
  const auto body = HttpGet(address, "/status", "", kPatience);
  EXPECT_EQ(body.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(TryToConnect(AskSystem(address).value(), kPatience).ok());
  close(taken);
}

// A port at which connections wait for ever: its queue of those that nobody accepts is full.
class FullPort {
 public:
  FullPort() : listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const HostPort address{"127.0.0.1", BindToLoopback(listening_)};
    EXPECT_EQ(listen(listening_, 0), 0);
    addresses_ = AskSystem(address).value();
    for (bool taken = true; taken && waiting_.size() < 16;) {
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      waiting_.push_back(fd);
      const auto* const bytes = reinterpret_cast<const sockaddr*>(&addresses_[0].bytes);
      taken = connect(fd, bytes, addresses_[0].size) == 0 || IsConnected(fd);
    }
  }
  ~FullPort() {
    for (const int fd : waiting_) close(fd);
    close(listening_);
  }
  [[nodiscard]] const HostAddresses& addresses() const { return addresses_; }

 private:
  static bool IsConnected(int fd) {
    pollfd polled{.fd = fd, .events = POLLOUT, .revents = 0};
    return poll(&polled, 1, /*timeout=*/20) > 0;
  }

  const int listening_;
  HostAddresses addresses_;
  std::vector<int> waiting_;
};

TEST(HttpGetTest, AddressThatSaysNothingLeavesTimeForTheNext) {
  const FullPort full;
  const OnePage page("");
  HostAddresses addresses = full.addresses();
  addresses.push_back(AskSystem(page.address()).value()[0]);
  // More time on a machine that is slow.
  Status connected = DeadlineExceeded("not tried");
  for (int64_t ms = 60; ms < 60'000 && !connected.ok(); ms *= 4) {
    EXPECT_EQ(connected.code(), absl::StatusCode::kDeadlineExceeded);
    connected = TryToConnect(addresses, std::chrono::milliseconds(ms));
  }
  EXPECT_TRUE(connected.ok()) << ToString(connected);
  const Status nobody = TryToConnect(full.addresses(), std::chrono::milliseconds(30));
  EXPECT_EQ(nobody.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(NameLookupTest, AsksTheSystem) {
  const auto found = LookUp({"127.0.0.1", 7}, std::chrono::steady_clock::time_point()).value();
  ASSERT_EQ(found.size(), 1U) << "a number comes at once";
  EXPECT_EQ(found[0].number, "127.0.0.1");
  EXPECT_EQ(AskSystem({"no such host", 7}).status().code(), absl::StatusCode::kNotFound);
}

// A name service that answers when a test says so.
struct SlowNames {
  std::promise<void> answer;
  std::shared_future<void> answered{answer.get_future()};
  std::atomic<int> asked{0};

  static std::function<StatusOr<HostAddresses>(const HostPort&)> Of(
      const std::shared_ptr<SlowNames>& names) {
    return [names](const HostPort& host) -> StatusOr<HostAddresses> {
      if (++names->asked == 3) names->answer.set_value();
      names->answered.wait();
      if (host.host == "none") return NotFound("none");
      return HostAddresses{{.number = host.host}};
    };
  }
};

// Nobody gets an answer before all three have asked.
TEST(NameLookupTest, AllAreAskedAtOnceAndEachGetsItsOwn) {
  const auto names = std::make_shared<SlowNames>();
  const auto found = LookUpAll({{"a", 1}, {"none", 2}, {"b", 3}},
                               std::chrono::steady_clock::now() + kPatience, SlowNames::Of(names));
  ASSERT_EQ(found.size(), 3U);
  ASSERT_TRUE(found[0].ok()) << found[0].status();
  EXPECT_EQ(found[0]->at(0).number, "a");
  EXPECT_EQ(found[1].status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(found[2].ok()) << found[2].status();
  EXPECT_EQ(found[2]->at(0).number, "b");
}

TEST(NameLookupTest, NameThatTakesTooLongIsToldAndItsThreadLeftBehind) {
  const auto names = std::make_shared<SlowNames>();
  const auto found = LookUpAll({{"a", 1}, {"b", 2}}, std::chrono::steady_clock::time_point(),
                               SlowNames::Of(names));
  ASSERT_EQ(found.size(), 2U);
  for (const auto& one : found) {
    EXPECT_EQ(one.status().code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_THAT(Message(one.status()), HasSubstr("name service"));
  }
  names->answer.set_value();  // they end now, with nobody waiting
}

TEST(BearerTokenTest, IsOneLineOfVisibleAscii) {
  const TestFolder folder;
  const auto read = [&](const std::string& text) {
    std::ofstream(folder.path() / "token", std::ios::binary) << text;
    return ReadBearerToken(folder.path() / "token");
  };
  EXPECT_EQ(read(" abcDEF-1 \r\nmore").value(), "abcDEF-1");
  for (const std::string& text :
       {std::string(""), std::string("two words"), std::string("a\x01"), std::string(5000, 'a')}) {
    EXPECT_EQ(read(text).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(ReadBearerToken(folder.path() / "none").status().code(),
            absl::StatusCode::kInvalidArgument);
}

std::string Page(const std::string& json) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(json.size()) + "\r\n\r\n" + json;
}

TEST(TrainerPortsTest, EachIsReadAndErrorsAreItsOwn) {
  OnePage well(Page(R"({"program": "halograph-train", "rank": 1, "world_size": 2,
      "phase": "training", "step": 7, "uptime_seconds": 3.5, "metrics": []})"));
  OnePage other(Page(R"({"program": "halograph-server", "metrics": []})"));
  const TrainerPorts ports{.addresses = {ToString(well.address()), ToString(other.address())}};
  const auto readings = AskTrainers(ports, kPatience);
  ASSERT_TRUE(readings.ok());
  ASSERT_EQ(readings->size(), 2U);
  EXPECT_TRUE(readings->at(0).error.ok()) << readings->at(0).error;
  EXPECT_EQ(readings->at(0).rank, 1);
  EXPECT_EQ(readings->at(0).step, 7);
  EXPECT_GT(readings->at(0).at_seconds, 0);
  EXPECT_THAT(Message(readings->at(1).error), HasSubstr("the port of halograph-server"));
}

}  // namespace
}  // namespace halograph::ctl
