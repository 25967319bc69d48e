// Mutable tensors over servers that go, come back, and answer late.
#include <atomic>
#include <thread>

#include "client/ctl/status_table.h"
#include "client/ctl/tensor_files.h"
#include "common/graph/manifest.h"
#include "common/storage/npy.h"
#include "tests/integration/client/remote_fixture.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class StateTest : public RemoteStoreTest {
 protected:
  static inline const TensorRef kEmb{false, "node", "emb"};

  static MutableTensorSpec Spec(int64_t dim = 1) {
    return {.ref = kEmb,
            .dim = dim,
            .initializer = {},
            .optimizer = {.kind = RowOptimizer::Kind::kSgd, .learning_rate = 1}};
  }
  server::ServerOptions WithState(const std::string& listen = "127.0.0.1:0") const {
    server::ServerOptions options;
    options.state.folder = folder_.path() / "state";
    options.listen = listen;
    options.state.segment_bytes = 4 << 20;
    options.threads = 1;
    return options;
  }
  static Status Create(KVStore& store, const MutableTensorSpec& spec = Spec()) {
    CallContext context;
    return store.CreateTensor(spec, context);
  }
  static StatusOr<PushMark> Push(KVStore& store, const std::vector<int64_t>& ids,
                                 const std::vector<float>& rows,
                                 std::optional<SyncStep> step = {}) {
    CallContext context;
    return store.Push(
        {.tensor = kEmb, .step = step, .ids = ids, .rows = std::as_bytes(std::span(rows))},
        context);
  }
  static StatusOr<std::vector<float>> PullRows(KVStore& store, const std::vector<int64_t>& ids,
                                               const PushMark& after = {}, int64_t dim = 1) {
    std::vector<float> rows(ids.size() * static_cast<size_t>(dim));
    CallContext context;
    const Status status = store.Pull({.tensor = kEmb,
                                      .ids = ids,
                                      .out = std::as_writable_bytes(std::span(rows)),
                                      .after = after},
                                     context);
    if (!status.ok()) return status;
    return rows;
  }

  const std::filesystem::path graph_ = WriteGraph();
};

TEST_F(StateTest, AcknowledgedPushesSurviveTheServersEnd) {
  PushMark mark;
  {
    const auto server = Serve(graph_, {}, WithState());
    const RemoteStores stores = Open(Options({server->address()}));
    ASSERT_TRUE(Create(*stores.kv).ok());
    const auto pushed = Push(*stores.kv, {0, 199, 0}, {1, 2, 4});
    ASSERT_TRUE(pushed.ok()) << ToString(pushed.status());
    mark = *pushed;
  }
  const auto server = Serve(graph_, {}, WithState());
  const RemoteStores stores = Open(Options({server->address()}));
  const auto rows = PullRows(*stores.kv, {0, 199, 1}, mark);
  ASSERT_TRUE(rows.ok()) << ToString(rows.status());
  EXPECT_THAT(*rows, ElementsAre(-5, -2, 0));
}

TEST_F(StateTest, APushWaitsForItsServerToComeBack) {
  auto server = Serve(graph_, {}, WithState());
  const std::string address = server->address();
  const RemoteStores stores = Open(Options({address}));
  ASSERT_TRUE(Create(*stores.kv).ok());
  ASSERT_TRUE(Push(*stores.kv, {3}, {1}).ok());
  server.reset();
  StatusOr<PushMark> pushed = Internal("not called");
  std::thread pushes([&] { pushed = Push(*stores.kv, {3, 150}, {2, 3}); });
  server = Serve(graph_, {}, WithState(address));
  pushes.join();
  ASSERT_TRUE(pushed.ok()) << ToString(pushed.status());
  EXPECT_THAT(*PullRows(*stores.kv, {3, 150}, *pushed), ElementsAre(-3, -3));
}

// The server applied it, and its answer was lost: with and without a restart in between.
TEST_F(StateTest, APushWhoseAnswerIsLostIsAppliedOnce) {
  for (const bool restarted : {false, true}) {
    const TestFolder state;
    server::ServerOptions options = WithState();
    options.state.folder = state.path() / "state";
    auto server = Serve(graph_, {}, options);
    std::atomic<int> pushes = 0;
    const FakeServer between([&](const FakeCall& call) {
      FakeAnswer answer = Forward(server->address(), call);
      if (call.method != "KVService/Push" || ++pushes > 2) return answer;
      if (restarted && pushes == 2) {
        server.reset();
        server = Serve(graph_, {}, options);
      }
      return FakeAnswer{
          .status = Unavailable("the answer is lost"), .bytes = {}, .pushback_ms = {}};
    });
    RemoteOptions remote = Options({between.address()});
    remote.calls_in_flight = 1;
    const RemoteStores stores = Open(remote);
    ASSERT_TRUE(Create(*stores.kv).ok());
    const auto pushed = Push(*stores.kv, {7}, {1});
    ASSERT_TRUE(pushed.ok()) << ToString(pushed.status());
    EXPECT_EQ(pushes, 3);
    EXPECT_THAT(*PullRows(*stores.kv, {7}, *pushed), ElementsAre(-1)) << restarted;
  }
}

// A pool full of pulls that wait could not run the push that they wait for.
TEST_F(StateTest, PushesGoOnWhileMorePullsWaitThanThereAreThreads) {
  const auto server = Serve(graph_, {}, WithState());
  const RemoteStores stores = Open(Options({server->address()}));
  ASSERT_TRUE(Create(*stores.kv).ok());
  const auto first = Push(*stores.kv, {0, 199}, {1, 1}, SyncStep{.rank = 0, .world_size = 2});
  ASSERT_TRUE(first.ok()) << ToString(first.status());
  std::vector<StatusOr<std::vector<float>>> pulled(8, Internal("not called"));
  std::vector<std::thread> threads;
  for (auto& rows : pulled) {
    threads.emplace_back([&] { rows = PullRows(*stores.kv, {0, 199}, *first); });
  }
  // They are seen to be in flight before the push comes.
  for (int64_t in_flight = 0; in_flight < 16;) {
    const auto status = AskStatus(Options({server->address()}));
    for (const Json& method : status[0].methods) {
      if (method["method"] == "KVService/Pull") in_flight = method["in_flight"].get<int64_t>();
    }
  }
  const auto second = Push(*stores.kv, {0}, {1}, SyncStep{.rank = 1, .world_size = 2});
  EXPECT_TRUE(second.ok()) << ToString(second.status());
  for (std::thread& thread : threads) thread.join();
  for (const auto& rows : pulled) {
    ASSERT_TRUE(rows.ok()) << ToString(rows.status());
    EXPECT_THAT(*rows, ElementsAre(-2, -1));
  }
}

TEST_F(StateTest, PullsThatWaitEndWithTheServer) {
  auto server = Serve(graph_, {}, WithState());
  const RemoteStores stores = Open(Options({server->address()}, std::chrono::seconds(5)));
  ASSERT_TRUE(Create(*stores.kv).ok());
  const auto mark = Push(*stores.kv, {0}, {1}, SyncStep{.rank = 0, .world_size = 2});
  ASSERT_TRUE(mark.ok()) << ToString(mark.status());
  StatusOr<std::vector<float>> rows = Internal("not called");
  std::thread pulls([&] { rows = PullRows(*stores.kv, {0}, *mark); });
  EXPECT_TRUE(server->Drain(std::chrono::seconds(60)));
  server.reset();
  pulls.join();
  EXPECT_TRUE(absl::IsUnavailable(rows.status())) << ToString(rows.status());
}

TEST_F(StateTest, WhatAnotherClientCreatesOrReplacesIsFound) {
  const auto server = Serve(graph_, {}, WithState());
  const RemoteStores one = Open(Options({server->address()}));
  const RemoteStores other = Open(Options({server->address()}));
  ExpectError(PullRows(*other.kv, {0}).status(), absl::StatusCode::kNotFound, {"emb"});
  ASSERT_TRUE(Create(*one.kv).ok());
  EXPECT_THAT(*PullRows(*other.kv, {0}), ElementsAre(0));
  CallContext context;
  ASSERT_TRUE(one.kv->DropTensor(kEmb, context).ok());
  ASSERT_TRUE(Create(*one.kv, Spec(2)).ok());
  EXPECT_FALSE(PullRows(*other.kv, {0}).ok()) << "the rows have another size";
  EXPECT_THAT(*PullRows(*other.kv, {0}, {}, 2), ElementsAre(0, 0));
}

TEST_F(StateTest, AServerWithoutAStateFolderSaysWhatToStartItWith) {
  const auto server = Serve(graph_, {});
  const RemoteStores stores = Open(Options({server->address()}));
  ExpectError(Create(*stores.kv), absl::StatusCode::kFailedPrecondition,
              {"--state DIR", server->address()});
  ExpectError(Push(*stores.kv, {0}, {1}).status(), absl::StatusCode::kFailedPrecondition,
              {"--state DIR"});
  ExpectError(PullRows(*stores.kv, {0}).status(), absl::StatusCode::kNotFound, {"emb"});
}

TEST_F(StateTest, APartHasOneOwner) {
  const auto first = Serve(graph_, {0, 1}, WithState());
  server::ServerOptions options = WithState();
  options.state.folder = folder_.path() / "other";
  const auto second = Serve(graph_, {1}, options);
  const RemoteStores stores = Open(Options({first->address(), second->address()}));
  ExpectError(Create(*stores.kv), absl::StatusCode::kFailedPrecondition,
              {first->address(), second->address(), "part 1", "--state"});
}

TEST_F(StateTest, AStateFolderBelongsToOneServerOneGraphAndOnePart) {
  server::ServerOptions options = WithState();
  options.graph = graph_;
  const auto start = [&](const std::filesystem::path& graph) {
    options.graph = graph;
    return server::Server::Start(options).status();
  };
  {
    const auto server = Serve(graph_, {}, options);
    ExpectError(start(graph_), absl::StatusCode::kFailedPrecondition,
                {(options.state.folder / PartFolderName(0)).string()});
  }
  const std::filesystem::path other = WriteGraph(2);
  const auto identity = [](const std::filesystem::path& graph) {
    return PartitionSet::Open(graph, {}, VerifyLevel::kHeaders).value()->identity();
  };
  ExpectError(start(other), absl::StatusCode::kFailedPrecondition,
              {identity(graph_), identity(other)});
  std::filesystem::remove_all(options.state.folder / PartFolderName(0));
  std::filesystem::rename(options.state.folder / PartFolderName(1),
                          options.state.folder / PartFolderName(0));
  ExpectError(start(graph_), absl::StatusCode::kFailedPrecondition, {"1", "0"});
}

TEST_F(StateTest, StatusShowsWhatEachPartHas) {
  const auto server = Serve(graph_, {}, WithState());
  const RemoteStores stores = Open(Options({server->address()}));
  ASSERT_TRUE(Create(*stores.kv, Spec(4)).ok());
  ASSERT_TRUE(Push(*stores.kv, {0}, {1, 1, 1, 1}).ok());
  const auto statuses = AskStatus(Options({server->address()}));
  ASSERT_EQ(statuses[0].state.size(), 2U);
  const StateStats& first = statuses[0].state.at(0);
  ASSERT_EQ(first.tensors.size(), 1U);
  EXPECT_EQ(first.tensors[0].spec, Spec(4));
  EXPECT_EQ(first.tensors[0].pushes, 1);
  EXPECT_EQ(first.tensors[0].pushed_rows, 1);
  EXPECT_EQ(first.lsn, 1);
  EXPECT_EQ(statuses[0].state.at(1).lsn, 0);
  EXPECT_EQ(statuses[0].serving, "topology,features,tasks,state");
  EXPECT_THAT(FormatTable(statuses), HasSubstr("node node / emb"));
  EXPECT_EQ(ToJson(statuses)[0]["state"][0]["tensors"][0]["pushes"], 1);
}

// A tensor goes to another partitioning of its graph by way of files under original ids.
TEST_F(StateTest, ExportAndImportKeepEveryRowUnderItsOriginalId) {
  const TestGraphSpec two = RandomGraph({.seed = 1, .parts = 2, .nodes = 200, .feature_dim = 4});
  TestGraphSpec three = two;
  three.parts = 3;
  for (size_t i = 0; i < three.node_types[0].owners.size(); ++i) {
    three.node_types[0].owners[i] = static_cast<int>(i % 3);
  }
  const std::filesystem::path files = folder_.path() / "files";
  std::vector<float> expected;
  for (int64_t i = 0; i < 200; ++i) expected.push_back(static_cast<float>(i));
  {
    const auto server = Serve(WriteGraph(two), {}, WithState());
    const RemoteStores stores = Open(Options({server->address()}));
    ASSERT_TRUE(Create(*stores.kv).ok());
    std::vector<float> gradients;
    for (const float value : expected) gradients.push_back(-value);
    ASSERT_TRUE(Push(*stores.kv, GlobalNodeIds(two, "node"), gradients).ok());
    CallContext context;
    const auto rows = ExportTensor(*stores.kv, Spec(), files, context);
    ASSERT_TRUE(rows.ok()) << ToString(rows.status());
    EXPECT_EQ(*rows, 200);
    ExpectError(ExportTensor(*stores.kv, Spec(), files, context).status(),
                absl::StatusCode::kAlreadyExists, {files.string()});
  }
  const auto ids = NpyArray::Open(files / "ids.npy");
  ASSERT_TRUE(ids.ok()) << ToString(ids.status());
  EXPECT_EQ(ids->As<int64_t>().value()[199], 199);
  server::ServerOptions options = WithState();
  options.state.folder = folder_.path() / "of-three";
  const auto server = Serve(WriteGraph(three), {}, options);
  const RemoteStores stores = Open(Options({server->address()}));
  CallContext context;
  const auto rows = ImportTensor(*stores.kv, files, context);
  ASSERT_TRUE(rows.ok()) << ToString(rows.status());
  EXPECT_EQ(*PullRows(*stores.kv, GlobalNodeIds(three, "node")), expected);
}

}  // namespace
}  // namespace halograph
