#include "server/handlers/describe.h"

#include "common/sampling/request.h"
#include "tests/unit/server/served_fixture.h"

namespace halograph::server {
namespace {

class DescribeTest : public ServedTest {};

TEST_F(DescribeTest, SaysWhatIsServed) {
  const auto served = Open({2, 0});
  const Description description = Describe(*served, 12345);
  EXPECT_EQ(description.parts, (std::vector<int>{0, 2}));
  EXPECT_EQ(description.identity, all_->identity());
  EXPECT_EQ(description.format_version, static_cast<uint32_t>(kFormatVersion));
  EXPECT_EQ(description.sampling_contract, kSamplingContract);
  EXPECT_EQ(description.max_message_bytes, 12345);
  EXPECT_EQ(*description.schema, TestSchema(spec_));
  EXPECT_EQ(description.book->num_parts(), 3);
  EXPECT_EQ(description.serving, (std::vector<std::string>{"topology", "features", "tasks"}));
  EXPECT_THAT(description.capabilities,
              testing::IsSupersetOf({"sample-group-keys", "sample-edge-ids", "sample-weights",
                                     "sample-edge-pieces", "sample-rule", "sample-degrees",
                                     "sample-columns", "sample-delta-ids", "task-set-rows"}));
  EXPECT_EQ(description.task_rows.size(), RowsOfTaskSets(*served).size());
}

TEST_F(DescribeTest, ServerOfFeaturesSaysThatItHasNoTopology) {
  const auto served = Open({1}, {.topology = false});
  const Description description = Describe(*served, 12345);
  EXPECT_EQ(description.serving, (std::vector<std::string>{"features", "tasks"}));
  EXPECT_EQ(description.identity, all_->identity());
  MetricRegistry metrics;
  const CallMetrics calls(&metrics);
  const ServerStats stats(&calls);
  Dispatcher dispatcher({.threads = 1, .queue = 1});
  EXPECT_EQ(TakeSnapshot(*served, stats, dispatcher, 0).serving, "features,tasks");
}

TEST_F(DescribeTest, TellsTheClustersOfItsPartsIfItServesTheirTopology) {
  TestFolder folder;
  TestGraphSpec spec = RandomGraph({.parts = 2, .nodes = 20});
  for (int v = 0; v < 20; ++v) spec.node_types[0].owners[static_cast<size_t>(v)] = v / 10;
  spec.cluster_nodes = {{4, 6}, {10}};
  const auto path = WriteTestGraph(spec, folder.path() / "graph");
  ASSERT_TRUE(path.ok()) << path.status();
  using Bounds = std::vector<std::vector<int64_t>>;
  const auto told = [&](const std::vector<int>& parts, bool topology) {
    auto set = PartitionSet::Open(*path, parts, VerifyLevel::kHeaders, {.topology = topology});
    return set.ok() ? Describe(ServedGraph(*std::move(set)), 12345).cluster_bounds : Bounds{{-1}};
  };
  EXPECT_EQ(told({}, true), (Bounds{{0, 4, 10}, {10, 20}}));
  EXPECT_EQ(told({1}, true), (Bounds{{}, {10, 20}}));
  EXPECT_EQ(told({}, false), Bounds());
}

TEST_F(DescribeTest, SnapshotShowsPoolMethodsAndDraining) {
  MetricRegistry metrics;
  CallMetrics calls(&metrics);
  const ServerStats stats(&calls);
  Dispatcher dispatcher({.threads = 2, .queue = 9});
  calls.Begin(Method::kSample);
  ServerSnapshot snapshot = TakeSnapshot(*all_, stats, dispatcher, 4);
  EXPECT_EQ(snapshot.clients, 4);
  EXPECT_EQ(snapshot.num_parts, 3);
  EXPECT_EQ(snapshot.graph_name, "random-typed");
  EXPECT_EQ(snapshot.serving, "topology,features,tasks");
  EXPECT_EQ(snapshot.pool_threads, 2);
  EXPECT_EQ(snapshot.pool_queue_capacity, 9);
  EXPECT_FALSE(snapshot.draining);
  EXPECT_GE(snapshot.uptime_seconds, 0);
  ASSERT_EQ(snapshot.methods.size(), kNumMethods);
  EXPECT_EQ(snapshot.methods[static_cast<size_t>(Method::kSample)].in_flight, 1);
  EXPECT_EQ(MethodName(Method::kSample), "GraphService/Sample");
  dispatcher.CloseGate();
  EXPECT_TRUE(TakeSnapshot(*all_, stats, dispatcher, 0).draining);
}

}  // namespace
}  // namespace halograph::server
