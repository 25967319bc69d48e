#include "common/http/http_server.h"

#include <atomic>
#include <fstream>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "common/http/operator_pages.h"
#include "common/storage/file.h"
#include "common/storage/json.h"
#include "tests/support/captured_log.h"
#include "tests/support/raw_http_client.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* kSecret = "0123456789abcdef-secret";
constexpr std::string_view kScript = "poll();\n";
constexpr const char* kAnywhere = "0.0.0.0:0";

// Bounds of time that no test meets by itself, however slow the machine is.
HttpBounds Patient() {
  HttpBounds bounds;
  bounds.idle = std::chrono::hours(1);
  bounds.sweep.longest = std::chrono::hours(1);
  bounds.sweep.longest_if_crowded = std::chrono::hours(1);
  bounds.token.pace = milliseconds(1);
  return bounds;
}

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    pages_.metrics = [this] {
      ++made_;
      return "a_total 1\n" + more_;
    };
    pages_.why_not_ready = [this] { return ready_ ? "" : "it recovers"; };
    pages_.status = [this](const HttpRequest& request) {
      seen_ = request;
      if (request.Has("fail")) throw std::runtime_error("the \x1b[1mtable is gone");
      return std::string(R"({"parts": 2})");
    };
    pages_.status_flags = {"cluster", "fail"};
    pages_.assets = {{"/ui", "text/html; charset=utf-8", "<!doctype html>"},
                     {"/ui/app.js", "text/javascript", kScript}};
  }
  ~HttpServerTest() override { server_.reset(); }

  void Start(HttpBounds bounds = Patient(), const std::string& listen = "127.0.0.1:0") {
    options_.listen = listen;
    StatusOr<std::unique_ptr<HttpServer>> server =
        HttpServer::Start(options_, OperatorRoutes(pages_), std::move(bounds));
    ASSERT_TRUE(server.ok()) << Message(server.status());
    server_ = *std::move(server);
    const int port = ParseHostPort(server_->address())->port;
    at_ = listen.starts_with('[') ? server_->address() : "127.0.0.1:" + std::to_string(port);
  }
  void WriteToken(const std::string& token = kSecret) {
    options_.token_file = folder_.path() / "token";
    std::ofstream(options_.token_file, std::ios::trunc) << token << "\n";
    ASSERT_EQ(chmod(options_.token_file.c_str(), 0600), 0);
  }
  [[nodiscard]] Status StartError() const {
    return HttpServer::Start(options_, OperatorRoutes(pages_)).status();
  }
  [[nodiscard]] RawReply Get(const std::string& target, const std::string& headers = "") const {
    return halograph::Get(at_, target, headers);
  }

  TestFolder folder_;
  OperatorPages pages_;
  HttpOptions options_;
  std::atomic<int> made_ = 0;
  std::atomic<bool> ready_ = true;
  std::string more_;  // of the metrics
  HttpRequest seen_;  // by /status
  std::string at_;    // where a test connects to
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, ServesThePagesOfAnOperator) {
  Start();
  const RawReply metrics = Get("/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_EQ(metrics.body, "a_total 1\n");
  EXPECT_EQ(metrics.Header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(Get("/livez").body, "ok\n");
  EXPECT_EQ(Get("/readyz").status, 200);
  ready_ = false;
  EXPECT_EQ(Get("/readyz").status, 503);
  EXPECT_EQ(Get("/readyz").body, "it recovers\n");
  EXPECT_EQ(Get("/livez").status, 200) << "not ready is alive";
  EXPECT_EQ(Get("/status").body, R"({"parts": 2})");
  EXPECT_EQ(Get("/status").Header("Content-Type"), "application/json");
  EXPECT_FALSE(seen_.Has("cluster"));
  EXPECT_EQ(Get("/status?cluster&x=%41").status, 200);
  EXPECT_TRUE(seen_.Has("cluster"));
  EXPECT_FALSE(seen_.Has("x")) << "it tells nothing apart";
  EXPECT_EQ(Get("/ui").Header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(Get("/ui/app.js").body, kScript);
  EXPECT_EQ(Get("/").status, 302);
  EXPECT_EQ(Get("/").Header("Location"), "/ui");
}

TEST_F(HttpServerTest, OnlyAPageThatReadsTheQuerySeesIt) {
  std::promise<HttpRequest> seen;
  HttpRoute route{
      .path = "/plain", .access = HttpAccess::kOpen, .handler = [&](const HttpRequest& r) {
        seen.set_value(r);
        return HttpText(200, "ok");
      }};
  options_.listen = "127.0.0.1:0";
  const auto server = HttpServer::Start(options_, {route});
  ASSERT_TRUE(server.ok());
  EXPECT_EQ(halograph::Get((*server)->address(), "/plain?a=1").status, 200);
  EXPECT_THAT(seen.get_future().get().query, IsEmpty());
}

TEST_F(HttpServerTest, WithoutAPageTheEntranceListsTheOthers) {
  pages_.assets.clear();
  pages_.status = nullptr;
  Start();
  EXPECT_EQ(Get("/").body, "/metrics\n/livez\n/readyz\n");
  EXPECT_EQ(Get("/status").status, 404);
}

TEST_F(HttpServerTest, EveryReplyIsNotStoredAndLoadsNothing) {
  Start();
  for (const char* target : {"/ui", "/metrics", "/none", "/status?fail", "/status?token=x"}) {
    const RawReply reply = Get(target);
    EXPECT_EQ(reply.Header("Cache-Control"), "no-store") << target;
    EXPECT_EQ(reply.Header("X-Content-Type-Options"), "nosniff") << target;
    EXPECT_EQ(reply.Header("Content-Security-Policy"),
              "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self'; "
              "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
        << target;
    EXPECT_EQ(reply.Header("Connection"), "close") << target;
  }
}

TEST_F(HttpServerTest, HeadHasTheLengthAndNoBody) {
  Start();
  for (const char* target : {"/metrics", "/ui/app.js"}) {
    const RawReply reply = halograph::Get(at_, target, "", "HEAD");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, "");
    EXPECT_EQ(reply.Header("Content-Length"), std::to_string(Get(target).body.size()));
  }
}

TEST_F(HttpServerTest, OtherMethodsAreRefused) {
  Start();
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get", "PRI"}) {
    const RawReply reply = halograph::Get(at_, "/metrics", "Content-Length: 0\r\n", method);
    EXPECT_EQ(reply.status, 405) << method;
    EXPECT_EQ(reply.Header("Allow"), "GET, HEAD") << method;
  }
  const RawReply post = Ask(at_,
                            "POST /status HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
                            "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(post.status, 405);
  EXPECT_EQ(
      Ask(at_, "GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nabcd").status,
      400);
  EXPECT_EQ(Ask(at_,
                "GET /livez HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                "0\r\n\r\n")
                .status,
            400);
  EXPECT_EQ(made_, 0);
}

TEST_F(HttpServerTest, OtherPathsAreNoPages) {
  Start();
  for (const char* target :
       {"/none", "/livez/", "//livez", "/ui/../livez", "/../../etc/passwd", "/%2e%2e/etc/passwd",
        "/ui/..%2f..%2fetc/passwd", "/%6civez", "/livez%00", "/livez%00.js", "/livez;x", "/LIVEZ",
        "*", "http://localhost/livez", "/ui/app.js/", "/etc/passwd", "/livez#x", "/ui/%"}) {
    const RawReply reply = Get(target);
    EXPECT_THAT(reply.status, AnyOf(400, 404)) << target;
    EXPECT_THAT(reply.body, Not(HasSubstr("root:"))) << target;
  }
  EXPECT_THAT(Get("/none\x1b[1m").body, HasSubstr("/none\\x1b[1m; there are /metrics, /livez"));
}

TEST_F(HttpServerTest, WhatIsNoRequestGetsNoPage) {
  Start();
  const std::string host = " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const std::string& request :
       {"GET  " + host, "\x16\x03\x01\x02" + host, std::string("GET /livez HTTP/1.1\r\n\r\n"),
        std::string("GET /livez HTTP/9.9\r\nHost: localhost\r\n\r\n"),
        std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        std::string("GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")}) {
    const RawReply reply = Ask(at_, request);
    EXPECT_NE(reply.status, 200) << request << reply.all;
  }
  // A NUL ends the path, for the page as for who may read it.
  EXPECT_EQ(Ask(at_, std::string("GET /livez\0/../x", 16) + host).body, "ok\n");
  EXPECT_EQ(Get("/livez").status, 200) << "the server goes on";
}

TEST_F(HttpServerTest, WhatIsTooLongIsRefused) {
  Start();
  EXPECT_EQ(Get("/" + std::string(5000, 'a')).status, 414);
  EXPECT_EQ(Get("/livez?" + std::string(5000, 'a')).status, 414);
  // The server may close before all of it is sent: the reply may be lost.
  EXPECT_THAT(Get("/" + std::string(100000, 'a')).status, AnyOf(0, 414));
  EXPECT_THAT(Get("/livez", "X: " + std::string(100000, 'a') + "\r\n").status, AnyOf(0, 431, 413));
  EXPECT_EQ(Get("/livez", "Cookie: " + std::string(6000, 'a') + "\r\n").status, 200);
}

TEST_F(HttpServerTest, AHandlerThatThrowsIsStatus500AndNoEnd) {
  Start();
  CapturedLog log;
  for (int time = 0; time < 3; ++time) {
    const RawReply reply = Get("/status?fail");
    EXPECT_EQ(reply.status, 500);
    EXPECT_EQ(reply.body, "/status cannot be made: the \\x1b[1mtable is gone\n");
  }
  EXPECT_EQ(Get("/status").status, 200);
  EXPECT_EQ(log.End(), "HTTP page /status: the \\x1b[1mtable is gone\n") << "once";
}

TEST_F(HttpServerTest, AStatusThatCannotBeHadIsStatus500AsJson) {
  pages_.status = [](const HttpRequest&) { return Internal("the \"table\" is gone"); };
  Start();
  CapturedLog log;
  const RawReply reply = Get("/status");
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.Header("Content-Type"), "application/json");
  EXPECT_EQ(Json::parse(reply.body).at("error"), "the \"table\" is gone");
  EXPECT_THAT(log.End(), HasSubstr("/status: the \"table\" is gone"));
}

TEST_F(HttpServerTest, QueriesMakeNoMorePages) {
  std::promise<void> begun, go_on;
  std::atomic<int> pages = 0;
  pages_.status = [&](const HttpRequest&) {
    if (pages++ == 0) {
      begun.set_value();
      go_on.get_future().wait();
    }
    return std::string("{}");
  };
  Start();
  const auto request = [](const std::string& query) {
    return "GET /status?" + query + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  };
  std::vector<RawClient> clients;
  const auto send = [&](const std::string& query) {
    clients.emplace_back(at_);
    EXPECT_TRUE(clients.back().Send(request(query)));
  };
  send("first");
  begun.get_future().wait();
  for (int i = 0; i < 50; ++i) {
    send(std::to_string(i));
    send("cluster=" + std::to_string(i));
    send(std::to_string(i) + "&cluster");
  }
  while (server_->waiting() + 1 < clients.size()) std::this_thread::yield();
  go_on.set_value();
  for (const RawClient& client : clients) EXPECT_EQ(ParseReply(client.ReadAll()).status, 200);
  EXPECT_EQ(pages, 3) << "that which was being made, one with the flag and one without";
}

TEST_F(HttpServerTest, AtLoopbackOtherHostsAreRefused) {
  Start();
  const auto status = [&](const std::string& host) {
    return Ask(at_, "GET /metrics HTTP/1.1\r\nHost: " + host + "\r\n\r\n").status;
  };
  EXPECT_EQ(status("localhost:8080"), 200) << "a tunnel has another port";
  EXPECT_EQ(status("127.evil.example"), 403);
  EXPECT_EQ(status("rebound.example"), 403);
  EXPECT_EQ(Ask(at_, "GET /metrics HTTP/1.0\r\n\r\n").status, 200);
}

TEST_F(HttpServerTest, BeyondLoopbackGuardedPagesWantATokenFile) {
  Start(Patient(), kAnywhere);
  for (const char* target : {"/metrics", "/livez", "/readyz"}) {
    EXPECT_EQ(Ask(at_, std::string("GET ") + target + " HTTP/1.1\r\nHost: node7\r\n\r\n").status,
              200);
  }
  for (const char* target : {"/status", "/ui", "/ui/app.js", "/status?cluster"}) {
    const RawReply reply = Get(target, std::string("Authorization: Bearer ") + kSecret + "\r\n");
    EXPECT_EQ(reply.status, 403) << target;
    EXPECT_THAT(reply.body, HasSubstr("--http-token-file")) << target;
  }
  EXPECT_EQ(Ask(at_, std::string("GET /status\0/livez HTTP/1.1\r\nHost: node7\r\n\r\n", 44)).status,
            403);
  EXPECT_EQ(seen_.path, "") << "a refused page was made";
}

TEST_F(HttpServerTest, TheTokenOpensGuardedPages) {
  WriteToken();
  Start(Patient(), kAnywhere);
  EXPECT_EQ(Get("/metrics").status, 200);
  const RawReply without = Get("/status");
  EXPECT_EQ(without.status, 401);
  EXPECT_EQ(without.Header("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(Get("/status", "Authorization: Bearer 0123456789abcdef-secreT\r\n").status, 401);
  EXPECT_EQ(Get("/status", "Authorization: Bearer 0123456789abcdef-secret\r\n").status, 200);
  // "any:0123456789abcdef-secret", as a browser sends it
  EXPECT_EQ(Get("/ui", "Authorization: Basic YW55OjAxMjM0NTY3ODlhYmNkZWYtc2VjcmV0\r\n").status,
            200);
  EXPECT_EQ(Get("/ui", "Authorization: Basic YW55Ondyb25n\r\n").status, 401);
  EXPECT_EQ(Get("/ui", "Cookie: token=0123456789abcdef-secret\r\n").status, 401);
  WriteToken("the-token-after-that");
  while (Get("/status", "Authorization: Bearer 0123456789abcdef-secret\r\n").status == 200)
    continue;
  EXPECT_EQ(Get("/status", "Authorization: Bearer 0123456789abcdef-secret\r\n").status, 401);
  EXPECT_EQ(Get("/status", "Authorization: Bearer the-token-after-that\r\n").status, 200);
}

TEST_F(HttpServerTest, ATokenFileIsAskedForAtLoopbackToo) {
  WriteToken();
  Start();
  EXPECT_EQ(Get("/status").status, 401);
}

TEST_F(HttpServerTest, ATokenInTheQueryIsRefusedAndNowhereLogged) {
  WriteToken();
  const spdlog::level::level_enum level = spdlog::get_level();
  CapturedLog log;
  spdlog::set_level(spdlog::level::trace);
  Start(Patient(), kAnywhere);
  for (const std::string target : {"/status?token=", "/metrics?x=", "/none?", "/?access_token="}) {
    const RawReply reply = Get(target + kSecret);
    EXPECT_EQ(reply.status, 400) << target;
    EXPECT_THAT(reply.body, HasSubstr("Authorization: Bearer TOKEN"));
    EXPECT_THAT(reply.all, Not(HasSubstr(kSecret)));
  }
  server_.reset();
  spdlog::set_level(level);
  EXPECT_THAT(log.End(), Not(HasSubstr(kSecret)));
}

TEST_F(HttpServerTest, NobodyWaitsForASlowTokenFile) {
  WriteToken();
  HttpBounds bounds = Patient();
  std::promise<void> hung, go_on;
  bounds.token.read = [&, reads = 0](const std::filesystem::path& path) mutable {
    if (reads++ == 1) {  // the first is that of the start
      hung.set_value();
      go_on.get_future().wait();
    }
    return ReadToken(path);
  };
  Start(std::move(bounds), kAnywhere);
  hung.get_future().wait();
  EXPECT_EQ(Get("/livez").status, 200);
  EXPECT_EQ(Get("/livez?x=1").status, 200);
  EXPECT_EQ(Get("/status").status, 401);
  EXPECT_EQ(Get("/status", "Authorization: Bearer 0123456789abcdef-secret\r\n").status, 200);
  go_on.set_value();
}

TEST_F(HttpServerTest, ATokenFileThatIsBadEndsTheStart) {
  options_.listen = "127.0.0.1:0";
  options_.token_file = folder_.path() / "none";
  EXPECT_TRUE(absl::IsNotFound(StartError()));
  EXPECT_THAT(Message(StartError()), StartsWith("--http-token-file: "));
  WriteToken("short");
  EXPECT_TRUE(absl::IsInvalidArgument(StartError()));
}

TEST_F(HttpServerTest, APortThatIsTakenNamesTheOption) {
  for (const char* listen : {"127.0.0.1:0", "[::1]:0"}) {
    Start(Patient(), listen);
    options_.listen = server_->address();
    const Status taken = StartError();
    EXPECT_TRUE(absl::IsFailedPrecondition(taken));
    EXPECT_THAT(Message(taken), StartsWith("--http-listen: cannot listen at " + options_.listen));
    EXPECT_THAT(Message(taken), HasSubstr("EADDRINUSE"));
  }
  options_.listen = "192.0.2.1:0";  // of documentation only: no machine has it
  EXPECT_THAT(Message(StartError()), HasSubstr("EADDRNOTAVAIL"));
  options_.listen = "name.invalid:0";
  EXPECT_TRUE(absl::IsFailedPrecondition(StartError()));
}

TEST_F(HttpServerTest, Ipv6IsServed) {
  Start(Patient(), "[::1]:0");
  EXPECT_THAT(server_->address(), StartsWith("[::1]:"));
  EXPECT_EQ(Get("/status").status, 200);
  Start(Patient(), "[::]:0");
  EXPECT_EQ(halograph::Get("127.0.0.1:" + server_->address().substr(5), "/livez").status, 200);
  EXPECT_EQ(halograph::Get("[::1]:" + server_->address().substr(5), "/ui").status, 403);
}

TEST_F(HttpServerTest, TheAddressFileHasTheBoundPort) {
  options_.address_file = folder_.path() / "address";
  Start();
  EXPECT_EQ(ReadTextFile(options_.address_file).value_or(""), at_);
  EXPECT_THAT(at_, Not(testing::EndsWith(":0")));
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(options_.address_file));
  Start(Patient(), kAnywhere);
  EXPECT_EQ(ReadTextFile(options_.address_file).value_or(""), server_->called());
  EXPECT_THAT(server_->called(), Not(StartsWith("0.0.0.0")));
}

TEST_F(HttpServerTest, WithoutTheOptionThereIsNone) {
  const auto server = HttpServer::Start({}, OperatorRoutes(pages_));
  ASSERT_TRUE(server.ok());
  EXPECT_EQ(*server, nullptr);
}

// Slow clients.

std::vector<RawClient> Many(const std::string& at, int count, const std::string& request) {
  std::vector<RawClient> clients;
  for (int i = 0; i < count; ++i) {
    clients.emplace_back(at);
    clients.back().Send(request);
  }
  return clients;
}

TEST_F(HttpServerTest, ProbesAreAnsweredWhileOthersDrip) {
  Start();
  const std::vector<RawClient> silent = Many(at_, 100, "");
  const std::vector<RawClient> dripping = Many(at_, 200, "GET /metrics HTTP/1.1\r\nHos");
  EXPECT_EQ(Get("/livez").status, 200);
  for (const RawClient& client : dripping) EXPECT_TRUE(client.Send("t"));
  EXPECT_EQ(Get("/metrics").status, 200);
  int answered = 0;  // none was closed for the probe
  for (const RawClient& client : dripping) {
    client.Send(": localhost\r\n\r\n");
    answered += ParseReply(client.ReadAll()).status == 200 ? 1 : 0;
  }
  for (const RawClient& client : silent) {
    client.Send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    answered += ParseReply(client.ReadAll()).status == 200 ? 1 : 0;
  }
  EXPECT_EQ(answered, 300);
}

TEST_F(HttpServerTest, ProbesAreAnsweredWhileOthersDoNotRead) {
  more_.assign(8 << 20, 'x');
  HttpBounds bounds = Patient();
  bounds.reply_bytes = int64_t{1} << 40;
  Start(bounds);
  const std::vector<RawClient> unread =
      Many(at_, 20, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(unread.back().ReadSome(), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(Get("/livez").status, 200);
  EXPECT_EQ(Get("/metrics").body.size(), (8 << 20) + 10);
}

TEST_F(HttpServerTest, UnreadRepliesHaveABound) {
  more_.assign(16 << 20, 'x');
  HttpBounds bounds = Patient();
  bounds.reply_bytes = 40 << 20;
  Start(bounds);
  std::vector<RawClient> unread;
  for (int i = 0; i < 3; ++i) {
    unread.emplace_back(at_);
    unread.back().Send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_THAT(unread.back().ReadSome(), StartsWith("HTTP/1.1 200"));
  }
  const RawReply refused = Get("/metrics");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.Header("Retry-After"), "1");
  EXPECT_EQ(Get("/livez").status, 200);
  EXPECT_GT(unread.front().ReadAll().size(), size_t{15} << 20);
  while (Get("/metrics").status != 200) continue;  // as soon as one was read
}

TEST_F(HttpServerTest, AThousandScrapersGetTheirPage) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 2000) GTEST_SKIP() << "needs 2,000 descriptors";
  more_.assign(200000, 'x');
  Start();
  const std::vector<RawClient> scrapers =
      Many(at_, 1000, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(Get("/livez").status, 200);
  int whole = 0;
  for (const RawClient& client : scrapers)
    whole += ParseReply(client.ReadAll()).body.size() == 200010;
  EXPECT_EQ(whole, 1000);
}

TEST_F(HttpServerTest, ProbesAreAnsweredWhileAPageIsMade) {
  std::promise<void> begun, go_on;
  pages_.metrics = [&] {
    if (made_++ == 0) {
      begun.set_value();
      go_on.get_future().wait();
    }
    return std::string("a_total 1\n");
  };
  Start();
  const RawClient scraper(at_);
  scraper.Send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  begun.get_future().wait();
  EXPECT_EQ(Get("/livez").status, 200);
  go_on.set_value();
  EXPECT_EQ(ParseReply(scraper.ReadAll()).status, 200);
}

TEST_F(HttpServerTest, ConnectionsThatLastTooLongAreEnded) {
  std::atomic<int64_t> now = 0;
  HttpBounds bounds = Patient();
  bounds.sweep = {.pace = milliseconds(1), .now = [&] {
                    return std::chrono::steady_clock::time_point(seconds(now.load()));
                  }};
  more_.assign(16 << 20, 'x');
  Start(bounds);
  const RawClient dripping(at_), unread(at_);
  dripping.Send("GET /livez HTTP/1.1\r\nHost:");
  unread.Send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(unread.ReadSome(), StartsWith("HTTP/1.1 200"));
  now = 9;
  EXPECT_EQ(Get("/livez").status, 200);
  EXPECT_TRUE(dripping.Send(" localhost\r\n"));
  now = 10;
  EXPECT_EQ(dripping.ReadAll(), "") << "it was answered";
  EXPECT_LT(unread.ReadAll().size(), more_.size());
  EXPECT_EQ(Get("/livez").status, 200);
  server_.reset();  // before its clock
}

TEST_F(HttpServerTest, WhoComesWhenAllConnectionsAreTakenGetsInSoon) {
  std::atomic<int64_t> now = 0;
  HttpBounds bounds = Patient();
  bounds.connections = 40;
  // Only that the server is crowded ends a connection.
  bounds.sweep = {.longest = std::chrono::hours(100000), .pace = milliseconds(1), .now = [&] {
                    return std::chrono::steady_clock::time_point(seconds(now.load()));
                  }};
  Start(bounds);
  const std::vector<RawClient> dripping = Many(at_, 100, "GET /");
  // A second ends those that are connected, and those that wait get in: a probe that comes last
  // does not wait for the ten seconds of each. One that itself waits for a second may be ended: it
  // comes again, as probes do.
  int status = 0;
  while (status != 200) {
    std::future<RawReply> reply =
        std::async(std::launch::async, [this] { return halograph::Get(at_, "/livez"); });
    while (reply.wait_for(milliseconds(1)) != std::future_status::ready) ++now;
    status = reply.get().status;
  }
  server_.reset();
}

TEST_F(HttpServerTest, IdleConnectionsAreClosed) {
  HttpBounds bounds = Patient();
  bounds.idle = seconds(1);
  Start(bounds);
  const RawClient client(at_);
  client.Send("GET /livez HTTP/1.1\r\n");
  EXPECT_EQ(ParseReply(client.ReadAll()).status, 0);
}

TEST_F(HttpServerTest, ItsEndLeavesNobodyWaiting) {
  std::promise<void> begun, go_on;
  pages_.metrics = [&] {
    if (made_++ == 0) {
      begun.set_value();
      go_on.get_future().wait();
    }
    return std::string("a_total 1\n");
  };
  Start();
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const RawClient first(at_), second(at_), silent(at_);
  first.Send(request);
  begun.get_future().wait();
  second.Send(request);
  EXPECT_EQ(Get("/livez").status, 200);  // second's was taken before
  std::thread end([this] { server_.reset(); });
  go_on.set_value();
  end.join();
  EXPECT_THAT(ParseReply(first.ReadAll()).status, AnyOf(0, 200));
  EXPECT_THAT(ParseReply(second.ReadAll()).status, AnyOf(0, 200, 503));
  EXPECT_EQ(silent.ReadAll(), "");
}

}  // namespace
}  // namespace halograph
