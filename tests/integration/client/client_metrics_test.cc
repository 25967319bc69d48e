// What a client counts of its calls (client/remote/client_metrics.h), over real calls.
#include "client/remote/client_metrics.h"

#include <atomic>

#include "common/metrics/buckets.h"
#include "tests/integration/client/remote_fixture.h"

namespace halograph {
namespace {

constexpr char kStarted[] = "grpc_client_attempt_started_total";
constexpr char kSeconds[] = "grpc_client_attempt_duration_seconds";
constexpr char kRetries[] = "halograph_client_retries_total";
constexpr char kFailovers[] = "halograph_client_failovers_total";

std::string FullName(const std::string& method) { return "halograph.v1." + method; }

class ClientMetricsTest : public RemoteStoreTest {
 protected:
  Stores OpenCounted(RemoteOptions options) {
    options.metrics = &metrics_;
    return Open(options);
  }

  [[nodiscard]] double Started(const std::string& method, const std::string& target) const {
    return metrics_.Take().Value(
        kStarted, Labels{{"grpc_method", FullName(method)}, {"grpc_target", target}});
  }
  // How many attempts ended so.
  [[nodiscard]] int64_t Ended(const std::string& method, const std::string& target,
                              const std::string& status) const {
    return metrics_.Take()
        .Histogram(kSeconds, Labels{{"grpc_method", FullName(method)},
                                    {"grpc_target", target},
                                    {"grpc_status", status}})
        .count;
  }
  [[nodiscard]] int64_t AllEnded(const std::string& method) const {
    return metrics_.Take().Histogram(kSeconds, Labels{{"grpc_method", FullName(method)}}).count;
  }
  [[nodiscard]] double Retries(const std::string& method) const {
    return metrics_.Take().Value(kRetries, Labels{{"grpc_method", FullName(method)}});
  }
  [[nodiscard]] double Failovers() const { return metrics_.Take().Value(kFailovers); }

  MetricRegistry metrics_;
};

TEST_F(ClientMetricsTest, AttemptsAreCountedByMethodStatusAndServerAndSoAreRetries) {
  const auto server = Serve(WriteGraph(1, 1), {});
  std::atomic<int> samples = 0;
  FakeServer fake([&](const FakeCall& call) {
    if (call.method == "GraphService/Sample" && ++samples <= 2) {
      return FakeAnswer{
          .status = Unavailable("full"), .bytes = {}, .pushback_ms = 1, .never = false};
    }
    if (call.method == "KVService/Pull") {
      return FakeAnswer{
          .status = Internal("broken"), .bytes = {}, .pushback_ms = {}, .never = false};
    }
    return Forward(server->address(), call);
  });
  const Stores stores = OpenCounted(Options({fake.address()}));
  ASSERT_TRUE(metrics_.status().ok()) << ToString(metrics_.status());
  EXPECT_EQ(Started("GraphService/Describe", fake.address()), 1);
  EXPECT_EQ(Ended("GraphService/Describe", fake.address(), "OK"), 1);
  ASSERT_TRUE(Sample(*stores.graph, {1}).ok());
  EXPECT_FALSE(Pull(*stores.rows, {1}).ok());

  EXPECT_EQ(Started("GraphService/Sample", fake.address()), 3);
  EXPECT_EQ(Ended("GraphService/Sample", fake.address(), "UNAVAILABLE"), 2);
  EXPECT_EQ(Ended("GraphService/Sample", fake.address(), "OK"), 1);
  EXPECT_EQ(AllEnded("GraphService/Sample"), 3);
  EXPECT_EQ(Retries("GraphService/Sample"), 2);
  EXPECT_EQ(Started("KVService/Pull", fake.address()), 1);
  EXPECT_EQ(Ended("KVService/Pull", fake.address(), "INTERNAL"), 1);
  EXPECT_EQ(Retries("KVService/Pull"), 0);
  EXPECT_EQ(Failovers(), 0);
}

TEST_F(ClientMetricsTest, AReplyThatCannotBeReadWasAnAnswer) {
  const auto server = Serve(WriteGraph(1, 1), {});
  FakeServer fake([&](const FakeCall& call) {
    if (call.method != "GraphService/Sample") return Forward(server->address(), call);
    return FakeAnswer{.status = {}, .bytes = "\xff", .pushback_ms = {}, .never = false};
  });
  const Stores stores = OpenCounted(Options({fake.address()}));
  EXPECT_FALSE(Sample(*stores.graph, {1}).ok());
  EXPECT_EQ(Ended("GraphService/Sample", fake.address(), "OK"), 1);
  EXPECT_EQ(AllEnded("GraphService/Sample"), 1);
}

TEST_F(ClientMetricsTest, ACallThatGoesOnAtAnotherServerOfThePartIsAFailover) {
  const auto server = Serve(WriteGraph(1, 1), {});
  std::atomic<bool> broken = false;
  FakeServer fake([&](const FakeCall& call) {
    if (!broken) return Forward(server->address(), call);
    return FakeAnswer{
        .status = Unavailable("gone"), .bytes = {}, .pushback_ms = {}, .never = false};
  });
  const Stores stores = OpenCounted(Options({fake.address(), server->address()}));
  broken = true;
  CallStats stats;
  const SamplingSpec spec =
      SamplingSpec::Uniform(stores.graph->info().schema, std::vector<int32_t>{3});
  for (int i = 0; i < 2; ++i) {  // they are asked in turn
    ASSERT_TRUE(SampleOne(*stores.graph,
                          {.seeds = {{.type = 0, .ids = std::vector<int64_t>{1}}}, .spec = &spec},
                          &stats)
                    .ok());
  }
  EXPECT_EQ(stats.failovers, 1);
  EXPECT_EQ(Failovers(), 1);
  EXPECT_EQ(Retries("GraphService/Sample"), 1);
  EXPECT_EQ(Started("GraphService/Sample", fake.address()), 1);
  EXPECT_EQ(Ended("GraphService/Sample", fake.address(), "UNAVAILABLE"), 1);
  EXPECT_EQ(Started("GraphService/Sample", server->address()), 2);
  EXPECT_EQ(Ended("GraphService/Sample", server->address(), "OK"), 2);
}

TEST_F(ClientMetricsTest, ASilentServerIsOutOfTimeAndOneThatIsGivenUpIsCancelled) {
  const auto server = Serve(WriteGraph(1, 1), {});
  CancelToken cancel;
  std::atomic<bool> gives_up = false;
  FakeServer fake([&](const FakeCall& call) {
    if (call.method != "GraphService/Sample") return Forward(server->address(), call);
    if (gives_up) cancel.Cancel();
    return FakeAnswer{.status = {}, .bytes = {}, .pushback_ms = {}, .never = true};
  });
  const Stores hasty = OpenCounted(Options({fake.address()}, std::chrono::milliseconds(100)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Sample(*hasty.graph, {1}).status()));
  EXPECT_GE(Ended("GraphService/Sample", fake.address(), "DEADLINE_EXCEEDED"), 1);
  const int64_t silent = AllEnded("GraphService/Sample");
  EXPECT_EQ(Ended("GraphService/Sample", fake.address(), "DEADLINE_EXCEEDED"), silent);

  const Stores patient = OpenCounted(Options({fake.address()}, std::chrono::minutes(30)));
  gives_up = true;
  EXPECT_TRUE(absl::IsCancelled(Sample(*patient.graph, {1}, 3, &cancel).status()));
  EXPECT_EQ(Ended("GraphService/Sample", fake.address(), "CANCELLED"), 1);
  EXPECT_EQ(AllEnded("GraphService/Sample"), silent + 1);
}

TEST_F(ClientMetricsTest, CallsAboutStateAreCountedToo) {
  server::ServerOptions options;
  options.state.folder = folder_.path() / "state";
  const auto server = Serve(WriteGraph(1, 1), {}, options);
  const Stores stores = OpenCounted(Options({server->address()}));
  CallContext context;
  ASSERT_TRUE(stores.admin->List(context).ok());
  ASSERT_TRUE(stores.admin->Snapshot("kept", {}, context).ok());
  EXPECT_EQ(Ended("KVService/ListTensors", server->address(), "OK"), 1);
  EXPECT_EQ(Ended("KVService/SnapshotTensors", server->address(), "OK"), 1);
}

TEST(CountedCallsTest, WhatIsKnownAtTheStartIsThereAndServersAreBounded) {
  MetricRegistry metrics;
  std::vector<std::string> servers;
  for (size_t i = 0; i < kMostFound + 6; ++i) servers.push_back(fmt::format("server{}:1", i));
  ClientMetrics client(&metrics, servers);
  ASSERT_TRUE(metrics.status().ok()) << ToString(metrics.status());
  MetricsSnapshot snapshot = metrics.Take();
  ASSERT_NE(snapshot.Find(kRetries), nullptr);
  EXPECT_EQ(snapshot.Find(kRetries)->series.size(), kNumMethods);
  EXPECT_NE(snapshot.FindSeries(kFailovers, {}), nullptr);
  EXPECT_EQ(snapshot.Find(kStarted), nullptr);

  // Another client of the same servers counts in the same series.
  ClientMetrics again(&metrics, servers);
  for (ClientMetrics* const one : {&client, &again}) {
    for (int server = 0; server < static_cast<int>(servers.size()); ++server) {
      for (int times = 0; times < 2; ++times) one->Began(server, Method::kPull);
      one->Ended(server, Method::kPull, absl::StatusCode::kOk, std::chrono::milliseconds(3));
      one->Ended(server, Method::kPull, absl::StatusCode::kUnavailable, std::chrono::seconds(2));
    }
  }
  snapshot = metrics.Take();
  const Labels pull{{"grpc_method", "halograph.v1.KVService/Pull"}};
  ASSERT_EQ(snapshot.Find(kStarted)->series.size(), kMostFound + 1);
  EXPECT_EQ(snapshot.Value(kStarted, pull), 4 * std::ssize(servers));
  EXPECT_EQ(snapshot.Value(kStarted, Labels{{"grpc_target", "server0:1"}}), 4);
  EXPECT_EQ(snapshot.Value(kStarted, Labels{{"grpc_target", "other"}}), 4 * 6);
  const HistogramSnapshot ok = snapshot.Histogram(
      kSeconds, Labels{{"grpc_status", "OK"}, {"grpc_target", "server0:1"}, pull[0]});
  EXPECT_EQ(ok.count, 2);
  EXPECT_DOUBLE_EQ(ok.sum, 0.006);
  EXPECT_EQ(std::ssize(ok.counts), std::ssize(LatencyBounds()) + 1);
  EXPECT_EQ(snapshot.Histogram(kSeconds, pull).count, 4 * std::ssize(servers));
}

}  // namespace
}  // namespace halograph
