// Starting, being busy, and stopping.
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>

#include "common/base/log.h"
#include "halograph/v1/admin.pb.h"
#include "server/call_log.h"
#include "tests/integration/server/server_fixture.h"

namespace halograph::server {
namespace {

using grpc::StatusCode;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr char kHealth[] = "/grpc.health.v1.Health/Check";
// PullRequest: no ids of type paper, name feat.
constexpr char kEmptyPull[] =
    "\x12\x05paper\x1a\x04"
    "feat";

class LifecycleTest : public ServerTest {};

TEST_F(LifecycleTest, HealthAndReflectionAnswer) {
  Start(Options());
  EXPECT_EQ(RawCall(channel_, kHealth, "").bytes, "\x08\x01");  // SERVING
  EXPECT_EQ(RawCall(channel_, kHealth, "\x0a\x16halograph.v1.KVService").bytes.size(), 2U);
  const RawReply services =
      RawStream(channel_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                std::string("\x3a\x00", 2));  // list_services
  for (const char* name : {"GraphService", "KVService", "AdminService"}) {
    EXPECT_THAT(services.bytes, HasSubstr(std::string("halograph.v1.") + name));
  }
  const RawReply file =
      RawStream(channel_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                "\x22\x16halograph.v1.KVService");  // file_containing_symbol
  EXPECT_THAT(file.bytes, HasSubstr("PullRequest"));
}

TEST_F(LifecycleTest, FullQueueIsUnavailableWithPushback) {
  ServerOptions options = Options();
  options.threads = 1;
  options.queue = 1;
  Start(options);
  Blocker blocker(server_->dispatcher());
  ASSERT_TRUE(server_->dispatcher().Run([] {}).ok());  // fills the queue
  const RawReply refused = RawCall(channel_, kPull, kEmptyPull);
  EXPECT_EQ(refused.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(refused.status.error_message(), HasSubstr("queue of 1"));
  ASSERT_EQ(refused.trailers.count("grpc-retry-pushback-ms"), 1U);
  EXPECT_GT(std::stoi(refused.trailers.at("grpc-retry-pushback-ms")), 0);
  EXPECT_TRUE(RawCall(channel_, kStats, "").status.ok());  // an operator can still look
  EXPECT_TRUE(RawCall(channel_, kDescribe, "").status.ok());
  blocker.Release();
}

TEST_F(LifecycleTest, DrainLetsCallsFinishAndRefusesNewOnes) {
  ServerOptions options = Options();
  options.threads = 1;
  Start(options);
  Blocker blocker(server_->dispatcher());
  RawReply in_flight;
  std::thread caller([&] { in_flight = RawCall(channel_, kPull, kEmptyPull); });
  while (server_->dispatcher().in_flight() < 1) std::this_thread::yield();
  bool drained = false;
  std::thread drainer([&] { drained = server_->Drain(seconds(60)); });
  while (!server_->dispatcher().draining()) std::this_thread::yield();
  for (const char* method : {kPull, kDescribe, kSample, kReadTaskSet, kGraphReadTaskSet}) {
    const RawReply refused = RawCall(channel_, method, kEmptyPull);
    EXPECT_EQ(refused.status.error_code(), StatusCode::UNAVAILABLE) << method;
    EXPECT_EQ(refused.trailers.count("grpc-retry-pushback-ms"), 1U);
  }
  EXPECT_EQ(RawCall(channel_, kHealth, "").bytes, "\x08\x02");  // NOT_SERVING
  EXPECT_TRUE(RawCall(channel_, kStats, "").status.ok());
  blocker.Release();
  caller.join();
  drainer.join();
  EXPECT_TRUE(in_flight.status.ok()) << in_flight.status.error_message();
  EXPECT_TRUE(drained);
  EXPECT_FALSE(RawCall(Connect(server_->address()), kStats, "").status.ok());
}

TEST_F(LifecycleTest, AnUnhealthyServerStillTakesCalls) {
  Start(Options());
  server_->TurnUnhealthy();
  EXPECT_EQ(RawCall(channel_, kHealth, "").bytes, "\x08\x02");  // NOT_SERVING
  EXPECT_EQ(RawCall(channel_, kHealth, "\x0a\x16halograph.v1.KVService").bytes, "\x08\x02");
  EXPECT_TRUE(RawCall(Connect(server_->address()), kPull, kEmptyPull).status.ok());
  EXPECT_TRUE(server_->Drain(seconds(60)));
}

TEST_F(LifecycleTest, CallsThatOutlastTheDrainAreCancelled) {
  ServerOptions options = Options();
  options.threads = 1;
  Start(options);
  Blocker blocker(server_->dispatcher());
  RawReply in_flight;
  std::thread caller([&] {
    in_flight = RawCall(channel_, kPull, kEmptyPull);
    blocker.Release();  // the worker is stuck until the caller has its answer
  });
  while (server_->dispatcher().in_flight() < 1) std::this_thread::yield();
  EXPECT_FALSE(server_->Drain(milliseconds(1)));
  caller.join();
  EXPECT_FALSE(in_flight.status.ok());
}

// Generated code keeps fields that it does not know, at 30 times their size.
TEST_F(LifecycleTest, LargeRequestsOfMethodsWithoutIdsAreRefused) {
  Start(Options());
  const std::string unknown("\xa2\x06\x00", 3);  // field 100, empty
  std::string request;
  while (request.size() + unknown.size() <= 64 << 10) request += unknown;
  for (const char* method : {kStats, kDescribe, kReadTaskSet, kGraphReadTaskSet, kReadTopology}) {
    const RawReply reply = RawCall(channel_, method, request + unknown);
    EXPECT_EQ(reply.status.error_code(), StatusCode::RESOURCE_EXHAUSTED) << method;
    EXPECT_THAT(reply.status.error_message(), HasSubstr("at most 65536")) << method;
  }
  EXPECT_TRUE(RawCall(channel_, kStats, request).status.ok());
  EXPECT_TRUE(RawCall(channel_, kDescribe, request).status.ok());
}

TEST_F(LifecycleTest, PortInUseIsAClearError) {
  Start(Options());
  ServerOptions second = Options();
  second.listen = server_->address();
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const Status status = Server::Start(second).status();
  const std::string logged =
      testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr(server_->address()));
  EXPECT_THAT(Message(status), HasSubstr("in use"));
  EXPECT_THAT(Message(status), HasSubstr("--listen"));
  EXPECT_THAT(Message(status), HasSubstr("another program has the port"));
  EXPECT_THAT(logged, testing::Not(HasSubstr("gRPC"))) << "said twice";
}

TEST_F(LifecycleTest, AddressThatIsNotOursIsAClearError) {
  ServerOptions options = Options();
  options.listen = "192.0.2.1:0";  // reserved for documentation
  options.insecure = true;
  const Status status = Server::Start(options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("192.0.2.1:0"));
}

TEST_F(LifecycleTest, MissingPartAndFolderAreNotFound) {
  ServerOptions options = Options();
  options.parts = {7};
  EXPECT_TRUE(absl::IsNotFound(Server::Start(options).status()));
  options = Options();
  options.graph /= "nothing-here";
  EXPECT_TRUE(absl::IsNotFound(Server::Start(options).status()));
}

TEST_F(LifecycleTest, LogNamesRequestAndRank) {
  Start(Options());
  std::ostringstream text;
  const auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text);
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", sink));
  spdlog::set_level(spdlog::level::debug);
  const std::multimap<std::string, std::string> metadata = {
      {"halograph-request-id", "r-17"},
      {"halograph-rank", "3"},
      {"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}};
  EXPECT_TRUE(RawCall(channel_, kPull, kEmptyPull, metadata).status.ok());
  EXPECT_FALSE(RawCall(channel_, kPull, "\x12\x03xyz", metadata).status.ok());
  v1::StatsReply stats;
  EXPECT_TRUE(stats.ParseFromString(RawCall(channel_, kStats, "").bytes));
  EXPECT_EQ(stats.clients(), 1) << "by host and rank; calls of Stats are none";
  server_.reset();
  spdlog::set_default_logger(before);
  EXPECT_THAT(text.str(), HasSubstr("client 127.0.0.1 rank 3: first call"));
  EXPECT_THAT(text.str(), HasSubstr("KVService/Pull request r-17 rank 3 trace "
                                    "4bf92f3577b34da6a3ce929d0e0e4736 from"));
  EXPECT_THAT(text.str(), HasSubstr("NOT_FOUND"));
}

TEST_F(LifecycleTest, SlowRequestsNameTheirTraceByTraceparentElseByTheKeyOfOlderClients) {
  constexpr char kTraceparent[] = "traceparent";
  constexpr char kOlderKey[] = "halograph-trace-id";
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const std::string good = "00-" + trace + "-00f067aa0ba902b7-01";
  const std::string bad = "00-" + trace + "-0000000000000000-01";
  using Metadata = std::multimap<std::string, std::string>;
  const std::vector<std::pair<Metadata, std::string>> cases = {
      {{{kTraceparent, good}}, trace},
      {{{kOlderKey, "rank0-step3"}}, "rank0-step3"},
      {{{kTraceparent, good}, {kOlderKey, "rank0-step3"}}, trace},
      {{{kTraceparent, bad}, {kOlderKey, "rank0-step3"}}, "rank0-step3"},
      {{{kTraceparent, bad}}, "-"},
      {{{kTraceparent, good}, {kTraceparent, good}}, "-"},
      {{}, "-"},
  };
  ServerOptions options = Options();
  options.threads = 1;
  Start(options);
  Blocker blocker(server_->dispatcher());
  std::map<std::string, std::string> expected;
  std::vector<std::future<RawReply>> calls;
  for (const auto& [metadata, text] : cases) {
    const std::string request = "r-" + std::to_string(expected.size());
    expected[request] = text;
    Metadata sent = metadata;
    sent.emplace("halograph-request-id", request);
    calls.push_back(std::async(std::launch::async, [this, sent] {
      return RawCall(Connect(server_->address()), kSample, "", sent);
    }));
  }
  ASSERT_NO_FATAL_FAILURE(
      Await([&] { return server_->dispatcher().pool().queued() == cases.size(); }));
  // All have come in: they are slow from now on, if they are answered a second later or after that.
  EXPECT_EQ(calls[0].wait_for(CallLog::kSlow), std::future_status::timeout);
  blocker.Release();
  for (auto& call : calls) EXPECT_TRUE(call.get().status.ok());
  v1::StatsRequest with_lists;
  with_lists.set_metrics(true);
  v1::StatsReply stats;
  ASSERT_NO_FATAL_FAILURE(Await([&] {  // a reply comes before its call has ended
    const RawReply reply = RawCall(channel_, kStats, with_lists.SerializeAsString());
    return stats.ParseFromString(reply.bytes) && stats.slow_calls_size() == std::ssize(cases);
  }));
  std::map<std::string, std::string> found;
  for (const v1::SlowCall& call : stats.slow_calls()) {
    EXPECT_EQ(call.method(), "GraphService/Sample");
    found[call.request_id()] = call.trace_id();
  }
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace halograph::server
