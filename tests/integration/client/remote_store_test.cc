// What only the remote stores have: message limits, metadata, the choice of a server, ctl's table.
#include <map>
#include <mutex>
#include <set>

#include "client/ctl/status_table.h"
#include "halograph/v1/graph.pb.h"
#include "tests/integration/client/loopback_socket.h"
#include "tests/integration/client/remote_fixture.h"
#include "tests/support/one_call.h"

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
using RemoteRowStoreTest = RemoteStoreTest;
using StatusTableTest = RemoteStoreTest;

// The server takes 4 MiB messages and cannot know that this client takes 4 KiB: three hubs at once
// are too many, which only the client sees.
TEST_F(RemoteGraphStoreTest, RepliesBeyondTheClientsLimitAreAskedForInHalves) {
  const auto server = Serve(WriteGraph(HubGraph(3, 900)), {});
  RemoteOptions small = Options({server->address()});
  small.max_message_bytes = 4096;
  const Stores few = Open(small);
  const Stores many = Open(Options({server->address()}));
  const std::vector<int64_t> seeds = {5, 0, 1, 2, 6};
  const auto expected = Sample(*many.graph, seeds, kFullNeighborhood);
  const auto found = Sample(*few.graph, seeds, kFullNeighborhood);
  ASSERT_TRUE(found.ok()) << ToString(found.status());
  EXPECT_EQ(found->sampled_edges, 2700);
  EXPECT_TRUE(*found == *expected);
}

// Of the server's messages, of this client's, and with what lies beside the sources.
TEST_F(RemoteGraphStoreTest, ANodeWhoseEdgesDoNotFitAMessageIsAnsweredInPieces) {
  const auto graph = WriteGraph(HubGraph(2, 50000));
  server::ServerOptions options;
  options.max_message_bytes = 65536;
  const auto narrow = Serve(graph, {}, options);
  const auto wide = Serve(graph, {});
  RemoteOptions small = Options({wide->address()});
  small.max_message_bytes = 2 * 65536;
  const Stores whole = Open(Options({wide->address()}));
  const std::vector<int64_t> seeds = {5, 0, 6, 1, 0};
  const Stores by_server = Open(Options({narrow->address()}));
  const Stores by_client = Open(small);
  for (const Stores* cut : {&by_server, &by_client}) {
    for (const int32_t fanout : {kFullNeighborhood, 45000}) {
      const auto expected = Sample(*whole.graph, seeds, fanout);
      const auto found = Sample(*cut->graph, seeds, fanout);
      ASSERT_TRUE(found.ok()) << ToString(found.status());
      EXPECT_TRUE(*found == *expected);
    }
    const LayerGroup group{.relation = 0,
                           .rule = {.fanout = kFullNeighborhood},
                           .edge_ids = true,
                           .degrees = true,
                           .destinations = seeds};
    CallContext context;
    std::vector<NeighborPicks> found;
    std::vector<NeighborPicks> expected;
    const Status status = AskForDraws(*cut->graph, {&group, 1}, context, &found);
    ASSERT_TRUE(status.ok()) << ToString(status);
    ASSERT_TRUE(AskForDraws(*whole.graph, {&group, 1}, context, &expected).ok());
    EXPECT_EQ(found[0].offsets, expected[0].offsets);
    EXPECT_EQ(found[0].sources, expected[0].sources);
    EXPECT_EQ(found[0].edge_ids, expected[0].edge_ids);
    EXPECT_EQ(found[0].degrees, expected[0].degrees);
    for (size_t i = 0; i < seeds.size(); ++i) {
      EXPECT_EQ(found[0].degrees[i], found[0].offsets[i + 1] - found[0].offsets[i]);
    }
  }
}

// Which does not know of pieces.
TEST_F(RemoteGraphStoreTest, ANodeBeyondTheLimitOfAnOlderServerIsResourceExhausted) {
  server::ServerOptions options;
  options.max_message_bytes = 65536;
  const auto server = Serve(WriteGraph(HubGraph(1, 20000)), {}, options);
  FakeServer fake([&](const FakeCall& call) {
    FakeAnswer answer = Forward(server->address(), call);
    if (call.method != "GraphService/Describe") return answer;
    v1::DescribeReply reply;
    EXPECT_TRUE(reply.ParseFromString(answer.bytes));
    reply.clear_capabilities();
    answer.bytes = reply.SerializeAsString();
    return answer;
  });
  const Stores stores = Open(Options({fake.address()}));
  EXPECT_TRUE(Sample(*stores.graph, {0, 1}, 5).ok());
  ExpectError(Sample(*stores.graph, {0, 1}, kFullNeighborhood).status(),
              absl::StatusCode::kResourceExhausted,
              {fake.address() + ": GraphService/Sample", "global id 0 alone draws 20000 edges",
               "--max-message-bytes"});
}

TEST_F(RemoteRowStoreTest, ARowBeyondTheLimitIsResourceExhaustedNamingBoth) {
  TestGraphSpec spec = HubGraph(1, 1);
  spec.node_types[0].owners = {0, 0};
  spec.relations[0].edges = {{0, 1}};
  spec.node_types[0].features = {MakeTensor("wide", std::vector<float>(4000, 1.5F), 2000)};
  const auto server = Serve(WriteGraph(spec), {});
  RemoteOptions small = Options({server->address()});
  small.max_message_bytes = 8192;
  std::vector<std::byte> rows(16000);
  ExpectError(PullOne(*Open(small).rows, {false, "node", "wide"}, std::vector<int64_t>{1, 0}, rows,
                      nullptr),
              absl::StatusCode::kResourceExhausted,
              {"KVService/Pull", "node / wide", "8000 bytes", "4096"});
  const std::vector<int64_t> none;  // asks whether rows can be pulled at all
  ExpectError(PullOne(*Open(small).rows, {false, "node", "wide"}, none, {}, nullptr),
              absl::StatusCode::kResourceExhausted, {"node / wide", "8000 bytes"});
}

TEST_F(RemoteRowStoreTest, CountsHowLongEachServerWasAsked) {
  const auto path = WriteGraph();
  const auto first = Serve(path, {0});
  const auto second = Serve(path, {1});
  const Stores stores = Open(Options({second->address(), first->address()}));
  const int64_t boundary = stores.graph->info().book.NodeBoundaries(0)[1];
  std::vector<std::byte> row(4 * sizeof(float));
  CallContext context;
  const std::vector<int64_t> of_first = {boundary - 1};
  const RowRequest request{.tensor = {false, "node", "feat"}, .ids = of_first, .out = row};
  const auto before = std::chrono::steady_clock::now();
  ASSERT_TRUE(stores.rows->Pull(request, context).ok());
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - before;
  ASSERT_EQ(context.stats.server_seconds.size(), 2U);
  EXPECT_EQ(context.stats.server_seconds[0], 0) << "it was not asked";
  EXPECT_GT(context.stats.server_seconds[1], 0);
  EXPECT_LE(context.stats.server_seconds[1], passed.count());
}

TEST_F(RemoteRowStoreTest, TellsOfEachCallThatHasEndedUnderTheIdsThatTheServerGets) {
  const auto server = Serve(WriteGraph(), {});
  std::mutex mutex;
  std::string given;
  std::string given_trace;
  bool broken = false;
  FakeServer fake([&](const FakeCall& call) {
    if (call.method != "KVService/Pull") return Forward(server->address(), call);
    const std::lock_guard lock(mutex);
    given = call.metadata.at("halograph-request-id");
    given_trace = call.metadata.at("traceparent");
    if (!broken) return Forward(server->address(), call);
    return FakeAnswer{.status = Internal("broken"), .bytes = {}, .pushback_ms = {}, .never = false};
  });
  RemoteOptions options = Options({fake.address()});
  std::string told;
  TraceContext trace;
  bool answered = false;
  int times = 0;
  options.on_call_ended = [&](const CallRecord& call) {
    if (call.method != "KVService/Pull") return;
    EXPECT_EQ(call.server, fake.address());
    EXPECT_LE(call.begin, call.end);
    EXPECT_EQ(call.attempts, 1);
    told = call.request_id;
    trace = call.trace;
    answered = call.answered;
    ++times;
  };
  const Stores stores = Open(options);
  const std::vector<int64_t> ids = {1};
  std::vector<std::byte> row(4 * sizeof(float));
  const RowRequest request{.tensor = {false, "node", "feat"}, .ids = ids, .out = row};
  CallContext context{.trace_id = {.high = 3, .low = 4}};
  ASSERT_TRUE(stores.rows->Pull(request, context).ok());
  EXPECT_EQ(told, given);
  EXPECT_EQ(ToString(trace.trace), "00000000000000030000000000000004");
  EXPECT_EQ(ToTraceparent(trace), given_trace);
  EXPECT_TRUE(answered);
  EXPECT_EQ(times, 1);
  broken = true;
  EXPECT_FALSE(stores.rows->Pull(request, context).ok());
  EXPECT_EQ(told, given);
  EXPECT_EQ(ToTraceparent(trace), given_trace);
  EXPECT_FALSE(answered);
  EXPECT_EQ(times, 2);
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
  const Stores without = Open(options);
  EXPECT_EQ(ranks, std::set<std::string>{"none"});
  ranks.clear();
  options.rank = 3;
  const Stores with = Open(options);
  EXPECT_TRUE(Sample(*with.graph, {1, 2}).ok());
  EXPECT_TRUE(Pull(*with.rows, {1, 2}).ok());
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
  const Stores stores = Open(Options({fake.address()}));
  EXPECT_TRUE(Sample(*stores.graph, {1, 2}).ok());
  EXPECT_TRUE(Pull(*stores.rows, {1, 2}).ok());
  EXPECT_TRUE(ReadWholeTaskSet(stores, {"node_classification", "train", "node"}).ok());
  const std::set<std::string> ours = {stores.graph->info().identity};
  EXPECT_EQ(graphs,
            (std::map<std::string, std::set<std::string>>{{"GraphService/Describe", {"none"}},
                                                          {"GraphService/Sample", ours},
                                                          {"KVService/ReadTaskSet", ours},
                                                          {"KVService/Pull", ours}}));
}

// A server of the first version of the protocol says nothing of capabilities and rows, and ignores
// the fields of later ones.
TEST_F(RemoteGraphStoreTest, AnOlderServerIsAskedInItsOwnWords) {
  const auto server = Serve(WriteGraph(1, 1), {});
  std::mutex mutex;
  std::set<std::string> methods;
  FakeServer fake([&](const FakeCall& call) {
    {
      std::lock_guard lock(mutex);
      methods.insert(call.method);
    }
    FakeAnswer answer = Forward(server->address(), call);
    if (call.method == "GraphService/Sample") {
      v1::SampleRequest request;
      EXPECT_TRUE(request.ParseFromString(call.request));
      for (const v1::SampleGroup& group : request.groups()) EXPECT_FALSE(group.has_batch_seed());
    }
    if (call.method != "GraphService/Describe") return answer;
    v1::DescribeReply reply;
    EXPECT_TRUE(reply.ParseFromString(answer.bytes));
    reply.clear_capabilities();
    reply.clear_task_rows();
    answer.bytes = reply.SerializeAsString();
    return answer;
  });
  RemoteOptions one_call = Options({fake.address()});
  one_call.calls_in_flight = 1;  // of several, forwarding would block all of gRPC's threads
  const Stores older = Open(one_call);
  const Stores newer = Open(Options({server->address()}));
  EXPECT_EQ(older.graph->info().task_rows, newer.graph->info().task_rows);
  const TaskSetRef train{"node_classification", "train", "node"};
  CallContext context;
  const auto rows = older.tasks->Read(train, {3, 9}, context);
  const auto expected = newer.tasks->Read(train, {3, 9}, context);
  ASSERT_TRUE(rows.ok() && expected.ok()) << ToString(rows.status());
  EXPECT_TRUE(rows->arrays.front().data == expected->arrays.front().data);
  EXPECT_EQ(methods, (std::set<std::string>{"GraphService/Describe", "GraphService/ReadTaskSet"}));

  // Two minibatches in one call.
  const SamplingSpec spec =
      SamplingSpec::Uniform(older.graph->info().schema, std::vector<int32_t>{3});
  const SamplingSpec replaced =
      SamplingSpec::Uniform(older.graph->info().schema, std::vector<int32_t>{7}, true);
  const std::vector<int64_t> seeds = {1, 2, 3};
  std::vector<SampleRequest> requests(3, {.seeds = {{.type = 0, .ids = seeds}}, .spec = &spec});
  requests[1].batch_seed = 9;
  requests[2].spec = &replaced;
  std::vector<Minibatch> found(3);
  std::vector<Minibatch> wanted(3);
  ASSERT_TRUE(older.graph->Sample(requests, context, found).ok());
  ASSERT_TRUE(newer.graph->Sample(requests, context, wanted).ok());
  EXPECT_TRUE(found == wanted);

  // What it would silently leave out is refused.
  const LayerGroup with_ids{
      .relation = 0, .rule = {.fanout = 2}, .edge_ids = true, .destinations = seeds};
  std::vector<NeighborPicks> picks;
  ExpectError(AskForDraws(*older.graph, {&with_ids, 1}, context, &picks),
              absl::StatusCode::kFailedPrecondition, {fake.address(), "older version"});
  const LayerGroup with_degrees{.relation = 0, .rule = {}, .degrees = true, .destinations = seeds};
  ExpectError(AskForDraws(*older.graph, {&with_degrees, 1}, context, &picks),
              absl::StatusCode::kFailedPrecondition, {fake.address(), "in-degrees"});
  // As it would draw neighbours, whatever the rule.
  const LayerGroup otherwise{
      .relation = 0, .rule = {.kind = DrawKind::kLabor, .fanout = 2}, .destinations = seeds};
  ExpectError(AskForDraws(*older.graph, {&otherwise, 1}, context, &picks),
              absl::StatusCode::kFailedPrecondition, {fake.address(), "other than of neighbours"});
}

TEST_F(RemoteGraphStoreTest, RequestAndTraceIdsGivenTravelAndAreInErrors) {
  const auto server = Serve(WriteGraph(1, 1), {});
  std::mutex mutex;
  std::vector<FakeCall> calls;
  FakeServer fake([&](const FakeCall& call) {
    if (call.method != "GraphService/Sample") return Forward(server->address(), call);
    std::lock_guard lock(mutex);
    calls.push_back(call);
    // It is tried again, as the same call.
    const bool full = calls.size() % 2 == 1;
    return FakeAnswer{.status = full ? Unavailable("full") : Internal("broken"),
                      .bytes = {},
                      .pushback_ms = full ? std::optional<int64_t>(1) : std::nullopt,
                      .never = false};
  });
  const Stores stores = Open(Options({fake.address()}));
  const SamplingSpec spec =
      SamplingSpec::Uniform(stores.graph->info().schema, std::vector<int32_t>{3});
  const std::vector<int64_t> seeds = {1};
  const SampleRequest request{.seeds = {{.type = 0, .ids = seeds}}, .spec = &spec};
  Minibatch minibatch;
  const TraceId trace = {.high = 0x4bf92f3577b34da6, .low = 0xa3ce929d0e0e4736};
  CallContext context{.request_id = "call7", .trace_id = trace};
  std::set<std::string> request_ids;
  std::set<uint64_t> spans;
  for (int exchange = 0; exchange < 2; ++exchange) {
    calls.clear();
    const Status status = stores.graph->Sample(request, context, &minibatch);
    ASSERT_EQ(calls.size(), 2U);
    for (const FakeCall& call : calls) {
      const std::string request_id = call.metadata.at("halograph-request-id");
      EXPECT_THAT(request_id, testing::StartsWith("call7-"));
      const auto sent = ParseTraceparent(call.metadata.at("traceparent"));
      ASSERT_TRUE(sent.has_value()) << call.metadata.at("traceparent");
      EXPECT_EQ(sent->trace, trace);
      EXPECT_EQ(call.metadata.count("halograph-trace-id"), 0U);
      ExpectError(
          status, absl::StatusCode::kInternal,
          {fmt::format("broken (request {}, trace 4bf92f3577b34da6a3ce929d0e0e4736)", request_id)});
      request_ids.insert(request_id);
      spans.insert(sent->span);
    }
  }
  EXPECT_EQ(request_ids.size(), 2U) << "two exchanges have one request id";
  EXPECT_EQ(spans.size(), 2U) << "two exchanges are one span";

  calls.clear();
  context.trace_id = {};
  ExpectError(stores.graph->Sample(request, context, &minibatch), absl::StatusCode::kInternal,
              {"broken (request call7-"});
  EXPECT_EQ(calls.front().metadata.count("traceparent"), 0U);
  context.request_id = "two\nlines";
  ExpectError(stores.graph->Sample(request, context, &minibatch),
              absl::StatusCode::kInvalidArgument, {"request id", "printable"});
}

TEST_F(RemoteGraphStoreTest, NothingToAskSendsNothing) {
  const auto server = Serve(WriteGraph(), {});
  std::atomic<int> calls = 0;
  FakeServer fake([&](const FakeCall& call) {
    ++calls;
    return Forward(server->address(), call);
  });
  const Stores stores = Open(Options({fake.address()}));
  EXPECT_EQ(calls, 1);  // Describe
  EXPECT_TRUE(Sample(*stores.graph, {}).ok());
  EXPECT_TRUE(Sample(*stores.graph, {1, 2}, 0).ok());
  EXPECT_TRUE(Pull(*stores.rows, {}).ok());
  EXPECT_EQ(calls, 1);
}

TEST_F(StatusTableTest, ShowsWhatIsServedAndNamesWhatIsDown) {
  const auto server = Serve(WriteGraph(), {1});
  const LoopbackSocket socket(LoopbackSocket::Kind::kRefuses);
  const auto full = Serve(WriteGraph(2), {});
  const Stores stores = Open(Options({full->address()}));
  EXPECT_TRUE(Sample(*stores.graph, {1}).ok());
  EXPECT_TRUE(Pull(*stores.rows, {1}).ok());
  // A server counts a call when it has left: maybe after the caller has its reply.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (AskStatus({.servers = {full->address()}, .timeout = std::chrono::seconds(5)})[0]
            .total.calls >= 3)
      break;
  }

  const auto statuses = AskStatus(Hasty({server->address(), socket.address(), full->address()}));
  ASSERT_EQ(statuses.size(), 3U);
  ASSERT_TRUE(statuses[0].reachable.ok()) << ToString(statuses[0].reachable);
  EXPECT_EQ(statuses[0].parts, std::vector<int>{1});
  EXPECT_EQ(statuses[1].reachable.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(statuses[1].reachable), testing::HasSubstr(socket.address()));
  ASSERT_TRUE(statuses[2].reachable.ok()) << ToString(statuses[2].reachable);
  EXPECT_EQ(statuses[2].identity, stores.graph->info().identity);
  EXPECT_GE(statuses[2].total.calls, 3);
  EXPECT_EQ(statuses[2].total.errors, 0);
  EXPECT_GT(statuses[2].recent.p50_seconds, 0);
  EXPECT_GE(statuses[2].recent.p99_seconds, statuses[2].recent.p50_seconds);
  EXPECT_GE(statuses[2].recent.calls, 3);
  EXPECT_GT(statuses[2].recent.seconds, 0);
  EXPECT_EQ(statuses[2].clients, 1);
  EXPECT_EQ(statuses[2].num_parts, 2);
  EXPECT_GT(statuses[2].total.sent_bytes, 0);

  const std::string table = FormatTable(statuses);
  EXPECT_THAT(table, testing::HasSubstr("SERVER"));
  EXPECT_THAT(table, testing::ContainsRegex(socket.address() + " +down \\(gone\\)"));
  EXPECT_THAT(table, testing::ContainsRegex(full->address() + " +up "));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 4);
  const Json json = ToJson(statuses);
  EXPECT_EQ(json[1]["reachable"], false);
  EXPECT_EQ(json[1]["down"], "gone");
  EXPECT_EQ(json[2]["parts"], Json::array({0, 1}));
  EXPECT_EQ(json[2]["calls"], statuses[2].total.calls);
  const std::vector<std::string> problems = Problems(statuses);
  ASSERT_FALSE(problems.empty());
  EXPECT_THAT(problems[0], testing::HasSubstr(socket.address() + " is down (gone)"));
}

TEST_F(StatusTableTest, HungIsToldFromGoneAndAMissingPartIsNamed) {
  const auto server = Serve(WriteGraph(), {1});
  const LoopbackSocket hung(LoopbackSocket::Kind::kAcceptsAndNeverAnswers);
  std::vector<ServerStatus> statuses;
  for (const int ms : {500, 5000, 20000}) {  // a busy server needs some time
    statuses = AskStatus(
        {.servers = {server->address(), hung.address()}, .timeout = std::chrono::milliseconds(ms)});
    if (statuses[0].reachable.ok()) break;
  }
  EXPECT_EQ(statuses[1].reachable.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(FormatTable(statuses), testing::ContainsRegex(hung.address() + " +down \\(hung\\)"));
  const std::vector<std::string> problems = Problems(statuses);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_THAT(problems[0], testing::HasSubstr(hung.address() + " is down (hung)"));
  EXPECT_THAT(problems[1], testing::HasSubstr("serves part 0 of 2 of graph "));
}

TEST(StatusTablePartsTest, ServersOfAPartAreShownWhereSeveralServeItOrOneIsDown) {
  const auto server = [](const std::string& address, std::vector<int> parts) {
    ServerStatus status;
    status.address = address;
    status.graph_name = "g";
    status.parts = std::move(parts);
    status.num_parts = 2;
    return status;
  };
  std::vector<ServerStatus> servers = {server("a:1", {0}), server("b:1", {1})};
  EXPECT_EQ(FormatParts(servers), "");
  servers.push_back(server("c:1", {0}));
  servers[2].draining = true;
  EXPECT_EQ(FormatParts(servers),
            "GRAPH  PART  SERVERS\n"
            "g      0     a:1, c:1 (draining)\n"
            "g      1     b:1\n");
  servers[1].reachable = Unavailable("gone");
  EXPECT_EQ(FormatParts(servers),
            "GRAPH  PART  SERVERS\n"
            "g      0     a:1, c:1 (draining)\n"
            "g      1     none\n"
            "not known, since down: what b:1 serves\n");
}

TEST(StatusTableNamesTest, NamesOfOthersCannotDriveTheTerminal) {
  std::vector<ServerStatus> statuses(1);
  statuses[0].address = "a:1";
  statuses[0].graph_name = "g\x1b[2J" + std::string(1000, 'x');
  statuses[0].serving = "\n\n";
  const std::string table = FormatTable(statuses);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2);
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
  EXPECT_THAT(table, testing::HasSubstr("g\\x1b[2Jxxx"));
  EXPECT_LT(table.size(), 800U);
}

}  // namespace
}  // namespace halograph
