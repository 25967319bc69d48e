// Servers of features alone beside servers of everything: who is asked for what.
#include <thread>

#include "client/ctl/status_table.h"
#include "client/topology_copy/fetch_topology.h"
#include "tests/integration/client/remote_fixture.h"
#include "tests/support/one_call.h"

namespace halograph {
namespace {

class ServingTest : public RemoteStoreTest {
 protected:
  std::unique_ptr<server::Server> ServeFeatures(const std::vector<int>& parts) const {
    server::ServerOptions options;
    options.contents.topology = false;
    return Serve(graph_, parts, options);
  }
  static int64_t Calls(const server::Server& server, const std::string& method) {
    const auto statuses =
        AskStatus({.servers = {server.address()}, .timeout = std::chrono::seconds(20)});
    for (const Json& stats : statuses[0].methods) {
      if (stats["method"] == method) {
        return stats["calls"].get<int64_t>() + stats["in_flight"].get<int64_t>();
      }
    }
    return -1;
  }
  const std::filesystem::path graph_ = WriteGraph();
  const std::vector<int64_t> seeds_ = {0, 50, 100, 150, 199};
};

TEST_F(ServingTest, HybridTrainersNeedServersOfFeaturesOnly) {
  const auto first = ServeFeatures({0});
  const auto second = ServeFeatures({1});
  RemoteOptions options = Options({first->address(), second->address()});
  ExpectError(OpenRemoteStores(options).status(), absl::StatusCode::kFailedPrecondition,
              {first->address() + " serves 0 (features only)", "partition 0,1 of 2", "--serve all",
               "--topology DIR"});
  options.needs_topology = false;
  const Stores stores = Open(options);
  ASSERT_NE(stores.rows, nullptr);
  EXPECT_TRUE(Pull(*stores.rows, seeds_).ok());
  EXPECT_TRUE(ReadWholeTaskSet(stores, {"node_classification", "train", "node"}).ok());
  ExpectError(Sample(*stores.graph, seeds_).status(), absl::StatusCode::kFailedPrecondition,
              {"topology of partition 0 of 2", "--serve all"});
}

TEST_F(ServingTest, EachIsAskedForWhatItServes) {
  const auto features = ServeFeatures({0, 1});
  const auto all = Serve(graph_, {});
  const Stores stores = Open(Options({features->address(), all->address()}));
  ASSERT_NE(stores.graph, nullptr);
  EXPECT_TRUE(Sample(*stores.graph, seeds_).ok());
  EXPECT_TRUE(Pull(*stores.rows, seeds_).ok());
  EXPECT_EQ(Calls(*features, "GraphService/Sample"), 0);
  EXPECT_GT(Calls(*all, "GraphService/Sample"), 0);
  EXPECT_TRUE(Pull(*stores.rows, seeds_).ok());  // each has a turn
  EXPECT_GT(Calls(*features, "KVService/Pull"), 0);
  EXPECT_GT(Calls(*all, "KVService/Pull"), 0);
}

TEST_F(ServingTest, StatusShowsWhatIsServed) {
  const auto features = ServeFeatures({1});
  const auto all = Serve(graph_, {0});
  const auto statuses = AskStatus(
      {.servers = {features->address(), all->address()}, .timeout = std::chrono::seconds(20)});
  EXPECT_EQ(statuses[0].serving, "features,tasks");
  EXPECT_EQ(statuses[1].serving, "topology,features,tasks");
  EXPECT_THAT(FormatTable(statuses), testing::HasSubstr("  features,tasks  "));
}

TEST_F(ServingTest, OneServerServesPartitionedTrainersWhileOthersFetchTheTopology) {
  const auto server = Serve(graph_, {});
  const RemoteOptions options = Options({server->address()});
  const Stores stores = Open(options);
  ASSERT_NE(stores.graph, nullptr);
  const auto expected = Sample(*stores.graph, seeds_);
  ASSERT_TRUE(expected.ok()) << ToString(expected.status());
  std::vector<Status> fetched(3);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < fetched.size(); ++i) {
      threads.emplace_back([&, i] {
        fetched[i] =
            FetchTopology(options, folder_.path() / ("cache" + std::to_string(i))).status();
      });
    }
    for (int i = 0; i < 50; ++i) {
      const auto minibatch = Sample(*stores.graph, seeds_);
      ASSERT_TRUE(minibatch.ok()) << ToString(minibatch.status());
      EXPECT_EQ(*minibatch, *expected);
      EXPECT_TRUE(Pull(*stores.rows, seeds_).ok());
    }
  }
  for (const Status& status : fetched) EXPECT_TRUE(status.ok()) << ToString(status);
}

}  // namespace
}  // namespace halograph
