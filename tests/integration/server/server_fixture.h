// A server in this process on a free loopback port, over a typed random graph in three parts.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "common/graph/partition.h"
#include "halograph/v1/admin.pb.h"
#include "server/server.h"
#include "tests/integration/server/raw_channel.h"
#include "tests/support/random_graph.h"
#include "tests/support/written_graph.h"

namespace halograph::server {

inline constexpr char kDescribe[] = "/halograph.v1.GraphService/Describe";
inline constexpr char kSample[] = "/halograph.v1.GraphService/Sample";
inline constexpr char kGraphReadTaskSet[] = "/halograph.v1.GraphService/ReadTaskSet";
inline constexpr char kColumnSums[] = "/halograph.v1.GraphService/ColumnSums";
inline constexpr char kExtract[] = "/halograph.v1.GraphService/Extract";
inline constexpr char kReadTopology[] = "/halograph.v1.GraphService/ReadTopology";
inline constexpr char kPull[] = "/halograph.v1.KVService/Pull";
inline constexpr char kPush[] = "/halograph.v1.KVService/Push";
inline constexpr char kCreateTensor[] = "/halograph.v1.KVService/CreateTensor";
inline constexpr char kReadTaskSet[] = "/halograph.v1.KVService/ReadTaskSet";
inline constexpr char kStats[] = "/halograph.v1.AdminService/Stats";

class ServerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    graph_folder_ = WriteGraphInto(&folder_, spec_);
    ASSERT_FALSE(graph_folder_.empty());
    auto set = PartitionSet::Open(graph_folder_, {}, VerifyLevel::kHeaders);
    ASSERT_TRUE(set.ok()) << set.status();
    local_ = std::move(set).value();
  }
  static void TearDownTestSuite() {
    local_.reset();
    folder_.reset();
  }

  static ServerOptions Options() {
    ServerOptions options;
    options.graph = graph_folder_;
    options.threads = 2;
    return options;
  }
  void Start(const ServerOptions& options) {
    auto started = Server::Start(options);
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = std::move(started).value();
    channel_ = Connect(server_->address());
  }
  static void Await(const std::function<bool()>& done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!done()) {
      ASSERT_LT(std::chrono::steady_clock::now(), until);
      std::this_thread::yield();
    }
  }

  // The reply of Stats, with all metrics.
  static v1::StatsReply StatsOf(const std::shared_ptr<grpc::Channel>& channel,
                                const std::multimap<std::string, std::string>& metadata = {}) {
    v1::StatsRequest request;
    request.set_metrics(true);
    const RawReply reply = RawCall(channel, kStats, request.SerializeAsString(), metadata);
    EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
    v1::StatsReply stats;
    EXPECT_TRUE(stats.ParseFromString(reply.bytes));
    return stats;
  }
  // The sum of a metric's series with that label, or of all; -1: there is none.
  static double Metric(const v1::StatsReply& stats, const std::string& name,
                       const std::string& label = "") {
    double sum = -1;
    for (const v1::Metric& metric : stats.metrics()) {
      if (metric.name() != name) continue;
      for (const v1::Series& series : metric.series()) {
        const bool has =
            label.empty() || std::any_of(series.labels().begin(), series.labels().end(),
                                         [&](const auto& one) { return one.value() == label; });
        if (has) sum = std::max(sum, 0.0) + series.value();
      }
    }
    return sum;
  }
  // The same of the server that was started, which must have it.
  double Metric(const std::string& name) const {
    const double sum = Metric(StatsOf(channel_), name);
    EXPECT_NE(sum, -1) << "the server has no " << name;
    return sum;
  }

  static inline const TestGraphSpec spec_ =
      RandomTypedGraph({.seed = 3, .parts = 3, .nodes = 200, .feature_dim = 100});
  static inline std::unique_ptr<TestFolder> folder_;
  static inline std::filesystem::path graph_folder_;
  static inline std::unique_ptr<PartitionSet> local_;  // all parts
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

// Holds one thread of a dispatcher, of one lane, until Release, which the destructor calls too.
class Blocker {
 public:
  explicit Blocker(Dispatcher& dispatcher, Lane lane = Lane::kWork) {
    EXPECT_TRUE(dispatcher
                    .Run(
                        [this, released = release_.get_future().share()] {
                          started_.set_value();
                          released.wait();
                        },
                        lane)
                    .ok());
    started_.get_future().wait();
  }
  ~Blocker() { Release(); }
  void Release() {
    if (!std::exchange(done_, true)) release_.set_value();
  }

 private:
  std::promise<void> started_;
  std::promise<void> release_;
  bool done_ = false;
};

}  // namespace halograph::server
