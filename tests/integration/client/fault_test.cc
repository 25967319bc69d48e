// Servers that are not there, die, hang, or serve something else: every call ends within its
// timeout, and the error names the server and the call.
#include <limits>
#include <new>

#include "client/ctl/status_table.h"
#include "common/graph/manifest.h"
#include "halograph/v1/graph.pb.h"
#include "tests/integration/client/loopback_socket.h"
#include "tests/integration/client/remote_fixture.h"
#include "tests/support/one_call.h"

namespace halograph {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr milliseconds kShort{300};  // where nothing answers

class RemoteFaultTest : public RemoteStoreTest {
 protected:
  // A fake that answers as the server at `address` but for one method.
  static std::function<FakeAnswer(const FakeCall&)> AllBut(
      const std::string& address, const std::string& method,
      const std::function<FakeAnswer(const FakeCall&)>& answer) {
    return [=](const FakeCall& call) {
      return call.method == method ? answer(call) : Forward(address, call);
    };
  }
  static FakeAnswer Never(const FakeCall&) {
    return {.status = {}, .bytes = {}, .pushback_ms = {}, .never = true};
  }
};

TEST_F(RemoteFaultTest, NothingListeningIsUnavailableNamingServerCallAndCause) {
  const LoopbackSocket socket(LoopbackSocket::Kind::kRefuses);
  ExpectError(
      OpenRemoteStores(Hasty({socket.address()})).status(), absl::StatusCode::kUnavailable,
      {socket.address() + ": GraphService/Describe: no answer within ", "attempts", "refused"});
}

TEST_F(RemoteFaultTest, AListenerThatNeverAnswersIsDeadlineExceeded) {
  const LoopbackSocket socket(LoopbackSocket::Kind::kAcceptsAndNeverAnswers);
  const Stopwatch watch;
  const Status status = OpenRemoteStores(Options({socket.address()}, kShort)).status();
  EXPECT_GE(watch.elapsed(), kShort);
  ExpectError(status, absl::StatusCode::kDeadlineExceeded,
              {socket.address() + ": GraphService/Describe: no answer within 0.3 s"});
}

TEST_F(RemoteFaultTest, ACallThatHangsIsDeadlineExceededNamingIt) {
  const auto server = Serve(WriteGraph(), {});
  FakeServer fake(AllBut(server->address(), "GraphService/Sample", Never));
  const Stores stores = Open(Options({fake.address()}, kShort));
  ASSERT_NE(stores.graph, nullptr);
  ExpectError(Sample(*stores.graph, {1, 2}).status(), absl::StatusCode::kDeadlineExceeded,
              {fake.address() + ": GraphService/Sample: no answer within 0.3 s"});
}

TEST_F(RemoteFaultTest, AServerKilledBetweenCallsIsUnavailableNamingItAlone) {
  const auto graph = WriteGraph();
  const auto first = Serve(graph, {0});
  auto second = Serve(graph, {1});
  const std::string dead = second->address();
  const Stores stores = Open(Hasty({first->address(), dead}));
  const std::vector<int64_t> all = {0, 50, 100, 150, 199};
  ASSERT_TRUE(Sample(*stores.graph, all).ok());
  second.reset();
  for (const auto& [status, call] :
       {std::pair{Sample(*stores.graph, all).status(), "GraphService/Sample"},
        std::pair{Pull(*stores.rows, all), "KVService/Pull"},
        std::pair{ReadWholeTaskSet(stores, {"node_classification", "train", "node"}).status(),
                  "KVService/ReadTaskSet"}}) {
    ExpectError(status, absl::StatusCode::kUnavailable, {dead + ": " + call});
    EXPECT_THAT(Message(status), testing::Not(testing::HasSubstr(first->address())));
  }
}

TEST_F(RemoteFaultTest, AServerThatRestartsWithinTheTimeoutIsFoundAgain) {
  const auto graph = WriteGraph();
  auto server = Serve(graph, {});
  const std::string address = server->address();
  const Stores stores = Open(Options({address}, seconds(60)));
  const auto before = Sample(*stores.graph, {1, 2, 3});
  server.reset();
  auto after = std::async(std::launch::async, [&] { return Sample(*stores.graph, {1, 2, 3}); });
  server::ServerOptions options;
  options.listen = address;
  server = Serve(graph, {}, options);
  const auto found = after.get();
  ASSERT_TRUE(found.ok()) << ToString(found.status());
  EXPECT_TRUE(*found == *before);
}

TEST_F(RemoteFaultTest, AServerThatWentAwayIsWaitedForAsLongAsTheServerTimeoutSays) {
  const auto graph = WriteGraph();
  auto server = Serve(graph, {});
  const std::string address = server->address();
  constexpr milliseconds kTimeout{700};  // in which the connection is refused
  RemoteOptions longer = Options({address}, kTimeout);
  longer.server_timeout = seconds(60);
  RemoteOptions shorter = Options({address}, minutes(5));
  shorter.server_timeout = kShort;
  const Stores patient = Open(longer);
  const Stores hasty = Open(shorter);
  const auto before = Sample(*hasty.graph, {1, 2, 3});
  server.reset();
  ExpectError(Sample(*hasty.graph, {1, 2, 3}).status(), absl::StatusCode::kUnavailable,
              {address + ": GraphService/Sample: no answer within "});
  auto after = std::async(std::launch::async, [&] { return Sample(*patient.graph, {1, 2, 3}); });
  EXPECT_EQ(after.wait_for(2 * kTimeout), std::future_status::timeout) << "it waits on";
  server::ServerOptions options;
  options.listen = address;
  server = Serve(graph, {}, options);
  const auto found = after.get();
  ASSERT_TRUE(found.ok()) << ToString(found.status());
  EXPECT_TRUE(*found == *before);
}

// Another graph, and another partitioning of the same one: the ids would fit, and mean other nodes.
TEST_F(RemoteFaultTest, AServerThatComesBackWithAnotherGraphEndsEveryCallNamingBoth) {
  const auto identity = [](const std::filesystem::path& graph) {
    return ReadGraphManifest(graph)->identity;
  };
  const auto graph = WriteGraph();
  for (const auto& other : {WriteGraph(2), WriteGraph(1, 4)}) {
    auto server = Serve(graph, {});
    const std::string address = server->address();
    const Stores stores = Open(Options({address}, minutes(5)));
    ASSERT_TRUE(Sample(*stores.graph, {1, 2}).ok());
    server.reset();
    server::ServerOptions options;
    options.listen = address;
    server = Serve(other, {}, options);
    const Stopwatch watch;
    for (const auto& [status, call] :
         {std::pair{Sample(*stores.graph, {1, 2}).status(), "GraphService/Sample"},
          std::pair{Pull(*stores.rows, {1, 2}), "KVService/Pull"},
          std::pair{ReadWholeTaskSet(stores, {"node_classification", "train", "node"}).status(),
                    "KVService/ReadTaskSet"}}) {
      ExpectError(status, absl::StatusCode::kFailedPrecondition,
                  {address + ": " + call + ": this server serves graph " + identity(other),
                   "for graph " + identity(graph), "restart the trainer"});
    }
    EXPECT_LT(watch.elapsed(), seconds(30)) << "retried";
  }
}

TEST_F(RemoteFaultTest, ForeignIdentityIsRefusedNamingBothServers) {
  const auto first = Serve(WriteGraph(1), {0});
  const auto second = Serve(WriteGraph(2), {1});
  ExpectError(OpenRemoteStores(Options({first->address(), second->address()})).status(),
              absl::StatusCode::kFailedPrecondition,
              {"different graphs", first->address(), second->address(), "identity"});
}

TEST_F(RemoteFaultTest, MissingPartitionsAreNamed) {
  const auto graph = WriteGraph(1, 4);
  const auto first = Serve(graph, {1});
  const auto second = Serve(graph, {3});
  ExpectError(
      OpenRemoteStores(Options({first->address(), second->address()})).status(),
      absl::StatusCode::kFailedPrecondition,
      {"partition 0,2 of 4", first->address() + " serves 1", second->address() + " serves 3"});
}

TEST_F(RemoteFaultTest, AnotherSamplingContractIsRefused) {
  const auto server = Serve(WriteGraph(), {});
  FakeServer fake([&](const FakeCall& call) {
    FakeAnswer answer = Forward(server->address(), call);
    v1::DescribeReply reply;
    EXPECT_TRUE(reply.ParseFromString(answer.bytes));
    reply.set_sampling_contract(99);
    answer.bytes = reply.SerializeAsString();
    return answer;
  });
  ExpectError(OpenRemoteStores(Options({fake.address()})).status(),
              absl::StatusCode::kFailedPrecondition, {fake.address(), "version 99", "version 1"});
}

// It goes out again as metadata, where gRPC ends the process over what it does not allow.
TEST_F(RemoteFaultTest, AnIdentityThatIsNoneIsDataLossNamingTheServer) {
  const auto server = Serve(WriteGraph(), {});
  for (const std::string& identity : {std::string(), std::string(31, 'a') + "\n"}) {
    FakeServer fake([&](const FakeCall& call) {
      FakeAnswer answer = Forward(server->address(), call);
      v1::DescribeReply reply;
      EXPECT_TRUE(reply.ParseFromString(answer.bytes));
      reply.set_identity(identity);
      answer.bytes = reply.SerializeAsString();
      return answer;
    });
    ExpectError(OpenRemoteStores(Options({fake.address()})).status(), absl::StatusCode::kDataLoss,
                {fake.address(), "Describe", "no 32 hex digits"});
  }
}

TEST_F(RemoteFaultTest, SameIdentityWithAnotherSchemaIsRefused) {
  const auto server = Serve(WriteGraph(), {});
  FakeServer fake([&](const FakeCall& call) {
    FakeAnswer answer = Forward(server->address(), call);
    v1::DescribeReply reply;
    EXPECT_TRUE(reply.ParseFromString(answer.bytes));
    reply.mutable_schema()->mutable_node_types(0)->mutable_features(0)->set_dim(5);
    answer.bytes = reply.SerializeAsString();
    return answer;
  });
  ExpectError(OpenRemoteStores(Options({server->address(), fake.address()})).status(),
              absl::StatusCode::kFailedPrecondition,
              {fake.address(), server->address(), "schemas"});
}

TEST_F(RemoteFaultTest, ClustersThatAreNotThoseOfAPartAreDataLossNamingTheServer) {
  TestGraphSpec spec = RandomGraph({.parts = 2, .nodes = 60, .mean_degree = 4});
  for (int v = 0; v < 60; ++v) spec.node_types[0].owners[static_cast<size_t>(v)] = v / 30;
  spec.cluster_nodes = {{10, 20}, {15, 15}};
  const auto server = Serve(WriteGraph(spec), {});
  const std::vector<std::pair<std::string, std::function<void(v1::DescribeReply*)>>> faults = {
      {"cluster 1 has 21 nodes, of 20 that are left",
       [](v1::DescribeReply* reply) { reply->mutable_clusters(0)->set_nodes(1, 21); }},
      {"cluster 0 has 0 nodes",
       [](v1::DescribeReply* reply) { reply->mutable_clusters(1)->set_nodes(0, 0); }},
      {"its clusters have 15 nodes of 30",
       [](v1::DescribeReply* reply) { reply->mutable_clusters(1)->mutable_nodes()->RemoveLast(); }},
      {"partition 2 of 2",
       [](v1::DescribeReply* reply) { reply->mutable_clusters(1)->set_part(2); }}};
  for (const auto& [text, damage] : faults) {
    FakeServer fake([&](const FakeCall& call) {
      FakeAnswer answer = Forward(server->address(), call);
      v1::DescribeReply reply;
      EXPECT_TRUE(reply.ParseFromString(answer.bytes));
      damage(&reply);
      answer.bytes = reply.SerializeAsString();
      return answer;
    });
    ExpectError(OpenRemoteStores(Options({fake.address()})).status(), absl::StatusCode::kDataLoss,
                {fake.address(), text});
  }
}

TEST_F(RemoteFaultTest, UnavailableIsRetriedNotBeforeThePushback) {
  const auto server = Serve(WriteGraph(), {});
  std::atomic<int> attempts = 0;
  FakeServer fake(AllBut(server->address(), "GraphService/Sample", [&](const FakeCall& call) {
    if (++attempts > 2) return Forward(server->address(), call);
    return FakeAnswer{
        .status = Unavailable("busy"), .bytes = {}, .pushback_ms = 150, .never = false};
  }));
  const Stores stores = Open(Options({fake.address()}));
  const Stopwatch watch;
  const auto sample = Sample(*stores.graph, {1, 2});
  EXPECT_TRUE(sample.ok()) << ToString(sample.status());
  EXPECT_EQ(attempts, 3);
  EXPECT_GE(watch.elapsed(), milliseconds(300));
}

TEST_F(RemoteFaultTest, APushbackBeyondTheTimeoutEndsTheCallWithItsCause) {
  const auto server = Serve(WriteGraph(), {});
  constexpr int64_t kHour = 3'600'000;  // milliseconds
  for (const int64_t pushback : {kHour, std::numeric_limits<int64_t>::max()}) {
    std::atomic<int> calls = 0;
    FakeServer fake(AllBut(server->address(), "KVService/Pull", [&](const FakeCall&) {
      ++calls;
      return FakeAnswer{.status = Unavailable("queue full"),
                        .bytes = {},
                        .pushback_ms = pushback,
                        .never = false};
    }));
    // Who waits, if only until the timeout, waits longer than a test may take.
    const Stores stores = Open(Options({fake.address()}, minutes(30)));
    ExpectError(Pull(*stores.rows, {1}), absl::StatusCode::kUnavailable,
                {fake.address() + ": KVService/Pull", "queue full"});
    EXPECT_EQ(calls, 1);
  }
}

TEST_F(RemoteFaultTest, ResourceExhaustedAndOtherErrorsAreNotRetried) {
  const auto server = Serve(WriteGraph(), {});
  for (const Status& error : {ResourceExhausted("too large"), Internal("broken"),
                              InvalidArgument("malformed"), FailedPrecondition("another graph")}) {
    std::atomic<int> attempts = 0;
    FakeServer fake(AllBut(server->address(), "KVService/Pull", [&](const FakeCall&) {
      ++attempts;
      return FakeAnswer{.status = error, .bytes = {}, .pushback_ms = 1, .never = false};
    }));
    const Stores stores = Open(Options({fake.address()}));
    ExpectError(Pull(*stores.rows, {1}), error.code(),
                {fake.address() + ": KVService/Pull: " + Message(error)});
    EXPECT_EQ(attempts, 1);
  }
}

// One thread and one place in the queue: most of what comes at once is turned away at first.
TEST_F(RemoteFaultTest, AFullPoolIsRetriedUntilItTakesTheCall) {
  server::ServerOptions options;
  options.threads = 1;
  options.queue = 1;
  const auto server = Serve(WriteGraph(), {}, options);
  RemoteOptions remote = Options({server->address()}, seconds(60));
  remote.calls_in_flight = 16;
  const Stores stores = Open(remote);
  const std::vector<int64_t> ids(400000, 7);  // 6.4 MB: many messages
  std::vector<std::future<Status>> pulls;
  for (int i = 0; i < 4; ++i) {
    pulls.push_back(std::async(std::launch::async, [&] { return Pull(*stores.rows, ids); }));
  }
  for (auto& pull : pulls) {
    const Status status = pull.get();
    EXPECT_TRUE(status.ok()) << ToString(status);
  }
  const auto seen = AskStatus({.servers = {server->address()}, .timeout = seconds(20)});
  EXPECT_GT(seen[0].total.errors, 0) << "no call was turned away: the test shows nothing";
}

TEST_F(RemoteFaultTest, RepliesThatAreGarbageAreDataLossNamingServerAndCall) {
  const auto server = Serve(WriteGraph(), {});
  for (const std::string method : {"GraphService/Describe", "GraphService/Sample",
                                   "KVService/ReadTaskSet", "KVService/Pull"}) {
    for (const std::string& bytes : {std::string(), std::string(100, '\xff')}) {
      FakeServer fake(AllBut(server->address(), method, [&](const FakeCall&) {
        return FakeAnswer{.status = {}, .bytes = bytes, .pushback_ms = {}, .never = false};
      }));
      auto stores = OpenRemoteStores(Options({fake.address()}));
      Status status = stores.status();
      if (status.ok() && method == "GraphService/Sample") {
        status = Sample(*stores->graph, {1}).status();
      } else if (status.ok() && method == "KVService/Pull") {
        status = Pull(*stores->rows, {1});
      } else if (status.ok()) {
        status = ReadWholeTaskSet(*stores, {"node_classification", "train", "node"}).status();
      }
      ExpectError(status, absl::StatusCode::kDataLoss, {fake.address() + ": " + method});
    }
  }
}

TEST_F(RemoteFaultTest, CancellingEndsACallThatHangs) {
  const auto server = Serve(WriteGraph(), {});
  std::promise<void> hanging;
  std::once_flag once;
  const auto hang = [&](const FakeCall& call) {
    std::call_once(once, [&] { hanging.set_value(); });
    return Never(call);
  };
  FakeServer fake(AllBut(server->address(), "GraphService/Sample", hang));
  const Stores stores = Open(Options({fake.address()}, minutes(10)));
  CancelToken token;
  auto sample =
      std::async(std::launch::async, [&] { return Sample(*stores.graph, {1}, 3, &token); });
  hanging.get_future().wait();
  token.Cancel();
  EXPECT_EQ(sample.get().status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(Pull(*stores.rows, {1}).ok());  // a call without the token
}

TEST_F(RemoteFaultTest, CancellingEndsACallThatWaitsToBeRetried) {
  auto server = Serve(WriteGraph(), {});
  const Stores stores = Open(Options({server->address()}, minutes(10)));
  server.reset();
  CancelToken token;
  auto pull = std::async(std::launch::async, [&] { return Pull(*stores.rows, {1}, &token); });
  token.Cancel();
  EXPECT_EQ(pull.get().code(), absl::StatusCode::kCancelled);
}

TEST_F(RemoteFaultTest, CancellingEndsTheWaitForServersThatAreNotThere) {
  const LoopbackSocket socket(LoopbackSocket::Kind::kAcceptsAndNeverAnswers);
  CancelToken token;
  auto opening = std::async(std::launch::async, [&] {
    return OpenRemoteStores(Options({socket.address()}, minutes(10)), &token).status();
  });
  token.Cancel();
  EXPECT_EQ(opening.get().code(), absl::StatusCode::kCancelled);
}

TEST_F(RemoteFaultTest, TheContextsDeadlineEndsACallBeforeTheStoresTimeout) {
  const auto server = Serve(WriteGraph(), {});
  FakeServer fake(AllBut(server->address(), "GraphService/Sample", Never));
  const Stores stores = Open(Options({fake.address()}, minutes(10)));
  const SamplingSpec spec =
      SamplingSpec::Uniform(stores.graph->info().schema, std::vector<int32_t>{3});
  const std::vector<int64_t> seeds = {1};
  CallContext context{.deadline = std::chrono::steady_clock::now() + kShort};
  Minibatch minibatch;
  ExpectError(stores.graph->Sample({.seeds = {{.type = 0, .ids = seeds}}, .spec = &spec}, context,
                                   &minibatch),
              absl::StatusCode::kDeadlineExceeded,
              {fake.address() + ": GraphService/Sample: no answer within"});
  EXPECT_TRUE(Pull(*stores.rows, {1, 2}).ok());  // the others still work
}

// ---- which server, and how often -------------------------------------------------------------

// Two servers of which the first is never able to take a call.
class CandidatesTest : public RemoteFaultTest {
 protected:
  CandidatesTest()
      : busy_([this](const FakeCall&) {
          ++busy_calls_;
          return FakeAnswer{
              .status = Unavailable("busy"), .bytes = {}, .pushback_ms = pushback_, .never = false};
        }),
        ready_([this](const FakeCall&) {
          ++ready_calls_;
          return FakeAnswer{.status = {}, .bytes = {}, .pushback_ms = {}, .never = false};
        }),
        client_(Options({busy_.address(), ready_.address()})) {}

  // `method`: what is retried of it is the method's.
  Status Run(std::vector<int> servers, int tries_a_server, Method method = Method::kPull,
             CallContext context = {}) {
    Rpc rpc;
    rpc.servers = std::move(servers);
    rpc.method = method;
    rpc.tries_a_server = tries_a_server;
    rpc.make_request = [] { return std::string(); };
    rpc.on_reply = [](ReplyPieces, std::vector<Rpc>*) { return OkStatus(); };
    std::vector<Rpc> calls;
    calls.push_back(std::move(rpc));
    return client_.Run(context, std::move(calls));
  }

  std::atomic<int> busy_calls_ = 0;
  std::atomic<int> ready_calls_ = 0;
  std::optional<int> pushback_;
  FakeServer busy_;
  FakeServer ready_;
  RpcClient client_;
};

TEST_F(CandidatesTest, TheNextServerIsAskedAfterSoManyTriesAtOne) {
  const Status status = Run({0, 1}, 3);
  EXPECT_TRUE(status.ok()) << ToString(status);
  EXPECT_EQ(busy_calls_, 3);
  EXPECT_EQ(ready_calls_, 1);
}

TEST_F(CandidatesTest, TheOnlyServerIsAskedUntilTheDeadline) {
  Status status;
  for (const int ms : {500, 3000}) {  // a busy machine does not come to three in the first
    busy_calls_ = 0;
    const auto deadline = std::chrono::steady_clock::now() + milliseconds(ms);
    status = Run({0}, 1, Method::kPull, {.deadline = deadline});
    if (busy_calls_ > 2) break;
  }
  ExpectError(status, absl::StatusCode::kUnavailable,
              {busy_.address() + ": KVService/Pull", "attempts", "busy"});
  EXPECT_GT(busy_calls_, 2);
}

TEST_F(CandidatesTest, AMethodThatIsNotRepeatableIsTriedOnce) {
  ExpectError(Run({0, 1}, 1, Method::kSnapshotTensors), absl::StatusCode::kUnavailable,
              {busy_.address() + ": KVService/SnapshotTensors: busy"});
  EXPECT_EQ(busy_calls_, 1);
  EXPECT_EQ(ready_calls_, 0);
}

class ThrowingTest : public RemoteFaultTest {
 protected:
  static Rpc Call(std::function<std::string()> make_request,
                  std::function<Status(ReplyPieces, std::vector<Rpc>*)> on_reply) {
    Rpc rpc;
    rpc.servers = {0};
    rpc.method = Method::kPull;
    rpc.make_request = std::move(make_request);
    rpc.on_reply = std::move(on_reply);
    return rpc;
  }
};

TEST_F(ThrowingTest, NoMemoryToReadAReplyEndsTheCallWithItsName) {
  FakeServer fake([](const FakeCall&) {
    return FakeAnswer{.status = {}, .bytes = "reply", .pushback_ms = {}, .never = false};
  });
  RpcClient client(Options({fake.address()}));
  std::vector<Rpc> calls;
  calls.push_back(Call([] { return std::string(); },
                       [](ReplyPieces, std::vector<Rpc>*) -> Status { throw std::bad_alloc(); }));
  CallContext context;
  ExpectError(client.Run(context, std::move(calls)), absl::StatusCode::kResourceExhausted,
              {fake.address() + ": KVService/Pull", "no memory to read a reply of 5 bytes"});
}

TEST_F(ThrowingTest, NoMemoryForARequestWaitsForTheCallsUnderWay) {
  FakeServer fake(Never);
  RpcClient client(Options({fake.address()}, minutes(5)));
  const auto read = [](ReplyPieces, std::vector<Rpc>*) { return OkStatus(); };
  std::vector<Rpc> calls;
  calls.push_back(Call([] { return std::string(1000, 'x'); }, read));
  calls.push_back(Call([]() -> std::string { throw std::bad_alloc(); }, read));
  CallContext context;
  const Stopwatch watch;
  EXPECT_THROW((void)client.Run(context, std::move(calls)), std::bad_alloc);
  EXPECT_LT(watch.elapsed(), minutes(1)) << "the call under way was not cancelled";
}

TEST_F(CandidatesTest, WhatAServerRefusedIsTriedAgainThoughNotRepeatable) {
  pushback_ = 1;
  const Status status = Run({0, 1}, 2, Method::kSnapshotTensors);
  EXPECT_TRUE(status.ok()) << ToString(status);
  EXPECT_EQ(busy_calls_, 2);
  EXPECT_EQ(ready_calls_, 1);
}

TEST_F(RemoteFaultTest, AWarningSaysForWhomAndWhichCallItWaits) {
  const LoopbackSocket socket(LoopbackSocket::Kind::kAcceptsAndNeverAnswers);
  CapturedLog log;
  EXPECT_FALSE(OpenRemoteStores(Options({socket.address()}, milliseconds(3300))).ok());
  EXPECT_THAT(log.End(), testing::HasSubstr("waiting for " + socket.address() +
                                            ": GraphService/Describe has taken 3.0 s of 3.3 s"));
}

}  // namespace
}  // namespace halograph
