// What only the remote stores have: message limits, metadata, the choice of a server, ctl's table.
#include <map>
#include <mutex>
#include <set>

#include "client/ctl/status_table.h"
#include "tests/integration/client/loopback_socket.h"
#include "tests/integration/client/remote_fixture.h"

namespace halograph {
namespace {

// `hubs` nodes with `degree` in-edges each, and 2,000 without any.
TestGraphSpec HubGraph(int hubs, int64_t degree) {
  TestGraphSpec spec;
  spec.node_types = {{.name = "node", .owners = std::vector<int>(2000, 0), .features = {}}};
  TestRelation relation;
  for (int64_t hub = 0; hub < hubs; ++hub) {
    for (int64_t i = 0; i < degree; ++i) relation.edges.emplace_back(i % 2000, hub);
  }
  spec.relations = {relation};
  return spec;
}

using RemoteGraphStoreTest = RemoteStoreTest;
using RemoteKVStoreTest = RemoteStoreTest;
using StatusTableTest = RemoteStoreTest;

// The server takes 4 MiB messages and cannot know that this client takes 4 KiB: three hubs at once
// are too many, which only the client sees.
TEST_F(RemoteGraphStoreTest, RepliesBeyondTheClientsLimitAreAskedForInHalves) {
  const auto server = Serve(WriteGraph(HubGraph(3, 900)), {});
  RemoteOptions small = Options({server->address()});
  small.max_message_bytes = 4096;
  const RemoteStores few = Open(small);
  const RemoteStores many = Open(Options({server->address()}));
  const std::vector<int64_t> seeds = {5, 0, 1, 2, 6};
  const auto expected = Sample(*many.graph, seeds, kFullNeighborhood);
  const auto found = Sample(*few.graph, seeds, kFullNeighborhood);
  ASSERT_TRUE(found.ok()) << ToString(found.status());
  EXPECT_EQ(found->sampled_edges, 2700);
  EXPECT_TRUE(*found == *expected);
}

TEST_F(RemoteGraphStoreTest, OneDestinationBeyondTheLimitIsResourceExhausted) {
  server::ServerOptions options;
  options.max_message_bytes = 65536;
  const auto server = Serve(WriteGraph(HubGraph(1, 20000)), {}, options);
  const RemoteStores stores = Open(Options({server->address()}));
  EXPECT_TRUE(Sample(*stores.graph, {0, 1}, 5).ok());
  ExpectError(Sample(*stores.graph, {0, 1}, kFullNeighborhood).status(),
              absl::StatusCode::kResourceExhausted,
              {server->address() + ": GraphService/Sample", "--max-message-bytes"});
}

TEST_F(RemoteGraphStoreTest, OneDestinationBeyondTheClientsLimitIsResourceExhausted) {
  const auto server = Serve(WriteGraph(HubGraph(1, 2000)), {});
  RemoteOptions small = Options({server->address()});
  small.max_message_bytes = 4096;
  ExpectError(Sample(*Open(small).graph, {0, 1, 2}, kFullNeighborhood).status(),
              absl::StatusCode::kResourceExhausted,
              {server->address() + ": GraphService/Sample", "4096", "--max-message-bytes"});
}

TEST_F(RemoteKVStoreTest, ARowBeyondTheLimitIsResourceExhaustedNamingBoth) {
  TestGraphSpec spec = HubGraph(1, 1);
  spec.node_types[0].owners = {0, 0};
  spec.relations[0].edges = {{0, 1}};
  spec.node_types[0].features = {MakeTensor("wide", std::vector<float>(4000, 1.5F), 2000)};
  const auto server = Serve(WriteGraph(spec), {});
  RemoteOptions small = Options({server->address()});
  small.max_message_bytes = 8192;
  std::vector<std::byte> rows(16000);
  ExpectError(
      Open(small).kv->Pull({false, "node", "wide"}, std::vector<int64_t>{1, 0}, rows, nullptr),
      absl::StatusCode::kResourceExhausted,
      {"KVService/Pull", "node / wide", "8000 bytes", "4096"});
}

TEST_F(RemoteGraphStoreTest, RequestsCarryAnIdEachAndTheRank) {
  const auto server = Serve(WriteGraph(), {});
  std::mutex mutex;
  std::multiset<std::string> ids;
  std::set<std::string> ranks;
  FakeServer fake([&](const FakeCall& call) {
    {
      std::lock_guard lock(mutex);
      ids.insert(call.metadata.at("halograph-request-id"));
      ranks.insert(call.metadata.count("halograph-rank") > 0 ? call.metadata.at("halograph-rank")
                                                             : "none");
    }
    return Forward(server->address(), call);
  });
  RemoteOptions options = Options({fake.address()});
  const RemoteStores without = Open(options);
  EXPECT_EQ(ranks, std::set<std::string>{"none"});
  ranks.clear();
  options.rank = 3;
  const RemoteStores with = Open(options);
  EXPECT_TRUE(Sample(*with.graph, {1, 2}).ok());
  EXPECT_TRUE(Pull(*with.kv, {1, 2}).ok());
  EXPECT_EQ(ranks, std::set<std::string>{"3"});
  EXPECT_EQ(ids.size(), 4U);
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 4U);
}

TEST_F(RemoteGraphStoreTest, EveryCallButDescribeNamesTheGraph) {
  // One part, so one call at a time: of several, forwarding would block all of gRPC's threads.
  const auto server = Serve(WriteGraph(1, 1), {});
  std::mutex mutex;
  std::map<std::string, std::set<std::string>> graphs;  // by method
  FakeServer fake([&](const FakeCall& call) {
    {
      std::lock_guard lock(mutex);
      const auto graph = call.metadata.find("halograph-graph");
      graphs[call.method].insert(graph == call.metadata.end() ? "none" : graph->second);
    }
    return Forward(server->address(), call);
  });
  const RemoteStores stores = Open(Options({fake.address()}));
  EXPECT_TRUE(Sample(*stores.graph, {1, 2}).ok());
  EXPECT_TRUE(Pull(*stores.kv, {1, 2}).ok());
  EXPECT_TRUE(stores.kv->ReadTaskSet("node_classification", "train", "node").ok());
  const std::set<std::string> ours = {stores.graph->info().identity};
  EXPECT_EQ(graphs,
            (std::map<std::string, std::set<std::string>>{{"GraphService/Describe", {"none"}},
                                                          {"GraphService/ReadTaskSet", ours},
                                                          {"GraphService/Sample", ours},
                                                          {"KVService/Pull", ours}}));
}

TEST_F(RemoteGraphStoreTest, NothingToAskSendsNothing) {
  const auto server = Serve(WriteGraph(), {});
  std::atomic<int> calls = 0;
  FakeServer fake([&](const FakeCall& call) {
    ++calls;
    return Forward(server->address(), call);
  });
  const RemoteStores stores = Open(Options({fake.address()}));
  EXPECT_EQ(calls, 1);  // Describe
  EXPECT_TRUE(Sample(*stores.graph, {}).ok());
  EXPECT_TRUE(Sample(*stores.graph, {1, 2}, 0).ok());
  EXPECT_TRUE(Pull(*stores.kv, {}).ok());
  EXPECT_EQ(calls, 1);
}

// Calls that the server has counted.
int64_t SampleCalls(const std::string& address) {
  const ServerStatus status = AskStatus({address}, std::chrono::seconds(20)).front();
  EXPECT_TRUE(status.reachable.ok()) << ToString(status.reachable);
  int64_t calls = 0;
  for (const Json& method : status.methods) {
    if (method["method"] == "GraphService/Sample") calls += method["calls"].get<int64_t>();
  }
  return calls;
}

TEST_F(StatusTableTest, APartServedTwiceIsAskedAtTheFirstListed) {
  const auto graph = WriteGraph();
  const auto first = Serve(graph, {});
  const auto second = Serve(graph, {});
  const RemoteStores stores = Open(Options({first->address(), second->address()}));
  EXPECT_TRUE(Sample(*stores.graph, {0, 100, 199}).ok());
  // A server counts a call when it has left: maybe after the caller has its reply.
  for (int attempt = 0; attempt < 1000 && SampleCalls(first->address()) == 0; ++attempt) {
  }
  EXPECT_EQ(SampleCalls(first->address()), 1);
  EXPECT_EQ(SampleCalls(second->address()), 0);
}

TEST_F(StatusTableTest, ShowsWhatIsServedAndNamesWhatIsDown) {
  const auto server = Serve(WriteGraph(), {1});
  const LoopbackSocket socket(LoopbackSocket::Kind::kRefuses);
  const auto full = Serve(WriteGraph(2), {});
  const RemoteStores stores = Open(Options({full->address()}));
  EXPECT_TRUE(Sample(*stores.graph, {1}).ok());
  EXPECT_TRUE(Pull(*stores.kv, {1}).ok());
  // A server counts a call when it has left: maybe after the caller has its reply.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (AskStatus({full->address()}, std::chrono::seconds(5))[0].calls >= 3) break;
  }

  const auto statuses = AskStatus({server->address(), socket.address(), full->address()},
                                  std::chrono::milliseconds(1500));
  ASSERT_EQ(statuses.size(), 3U);
  ASSERT_TRUE(statuses[0].reachable.ok()) << ToString(statuses[0].reachable);
  EXPECT_EQ(statuses[0].parts, std::vector<int>{1});
  EXPECT_EQ(statuses[1].reachable.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(statuses[1].reachable), testing::HasSubstr(socket.address()));
  ASSERT_TRUE(statuses[2].reachable.ok()) << ToString(statuses[2].reachable);
  EXPECT_EQ(statuses[2].identity, stores.graph->info().identity);
  EXPECT_GE(statuses[2].calls, 3);
  EXPECT_EQ(statuses[2].errors, 0);
  EXPECT_GT(statuses[2].p50_seconds, 0);
  EXPECT_GE(statuses[2].p99_seconds, statuses[2].p50_seconds);
  EXPECT_GT(statuses[2].sent_bytes, 0);

  const std::string table = FormatTable(statuses);
  EXPECT_THAT(table, testing::HasSubstr("SERVER"));
  EXPECT_THAT(table, testing::ContainsRegex(socket.address() + " +down"));
  EXPECT_THAT(table, testing::ContainsRegex(full->address() + " +up "));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 4);
  const Json json = ToJson(statuses);
  EXPECT_EQ(json[1]["reachable"], false);
  EXPECT_EQ(json[2]["parts"], Json::array({0, 1}));
}

}  // namespace
}  // namespace halograph
