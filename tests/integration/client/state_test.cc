// Mutable tensors over servers that go, come back, and answer late.
#include <atomic>
#include <fstream>
#include <numeric>
#include <thread>

#include "client/ctl/status_table.h"
#include "client/ctl/tensor_files.h"
#include "common/graph/manifest.h"
#include "common/state/import_mark.h"
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
  static Status Create(TensorAdmin& admin, const MutableTensorSpec& spec = Spec()) {
    CallContext context;
    return admin.Create(spec, context);
  }
  static StatusOr<PushMark> Push(RowStore& store, const std::vector<int64_t>& ids,
                                 const std::vector<float>& rows,
                                 std::optional<SyncStep> step = {}) {
    CallContext context;
    return PushOne(
        store, {.tensor = kEmb, .step = step, .ids = ids, .rows = std::as_bytes(std::span(rows))},
        context);
  }
  static StatusOr<std::vector<float>> PullRows(RowStore& store, const std::vector<int64_t>& ids,
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
  // Returns once the server has so many pulls that wait.
  static void AwaitPullsInFlight(const server::Server& server, int64_t pulls) {
    for (int64_t in_flight = 0; in_flight < pulls;) {
      const auto status = AskStatus(Options({server.address()}));
      for (const Json& method : status[0].methods) {
        if (method["method"] == "KVService/Pull") in_flight = method["in_flight"].get<int64_t>();
      }
    }
  }

  const std::filesystem::path graph_ = WriteGraph();
};

TEST_F(StateTest, AcknowledgedPushesSurviveTheServersEnd) {
  PushMark mark;
  {
    const auto server = Serve(graph_, {}, WithState());
    const Stores stores = Open(Options({server->address()}));
    ASSERT_TRUE(Create(*stores.admin).ok());
    const auto pushed = Push(*stores.rows, {0, 199, 0}, {1, 2, 4});
    ASSERT_TRUE(pushed.ok()) << ToString(pushed.status());
    mark = *pushed;
  }
  const auto server = Serve(graph_, {}, WithState());
  const Stores stores = Open(Options({server->address()}));
  const auto rows = PullRows(*stores.rows, {0, 199, 1}, mark);
  ASSERT_TRUE(rows.ok()) << ToString(rows.status());
  EXPECT_THAT(*rows, ElementsAre(-5, -2, 0));
}

TEST_F(StateTest, APushWaitsForItsServerToComeBack) {
  auto server = Serve(graph_, {}, WithState());
  const std::string address = server->address();
  const Stores stores = Open(Options({address}));
  ASSERT_TRUE(Create(*stores.admin).ok());
  ASSERT_TRUE(Push(*stores.rows, {3}, {1}).ok());
  server.reset();
  StatusOr<PushMark> pushed = Internal("not called");
  std::thread pushes([&] { pushed = Push(*stores.rows, {3, 150}, {2, 3}); });
  server = Serve(graph_, {}, WithState(address));
  pushes.join();
  ASSERT_TRUE(pushed.ok()) << ToString(pushed.status());
  EXPECT_THAT(*PullRows(*stores.rows, {3, 150}, *pushed), ElementsAre(-3, -3));
}

// The machine lost the last pushes: the state folder is as it was before them.
TEST_F(StateTest, APartThatComesBackWithoutPushesIsNoticed) {
  auto server = Serve(graph_, {}, WithState());
  const std::string address = server->address();
  const Stores stores = Open(Options({address}));
  CallContext context;
  const std::filesystem::path state = folder_.path() / "state";
  const std::filesystem::path copy = folder_.path() / "copy";
  const auto restart = [&](const std::function<void()>& meanwhile) {
    server.reset();
    meanwhile();
    server = Serve(graph_, {}, WithState(address));
  };
  ASSERT_TRUE(Create(*stores.admin).ok());
  ASSERT_TRUE(Push(*stores.rows, {3, 199}, {1, 1}).ok());
  ASSERT_TRUE(stores.admin->Snapshot("kept", std::nullopt, context).ok());
  restart([&] { std::filesystem::copy(state, copy, std::filesystem::copy_options::recursive); });
  ASSERT_TRUE(Push(*stores.rows, {3}, {2}).ok());
  const auto mark = Push(*stores.rows, {3}, {4});
  ASSERT_TRUE(mark.ok()) << ToString(mark.status()) << ": it came back with all";
  EXPECT_EQ(mark->at(0), 4);  // the client is 1
  restart([&] {
    std::filesystem::remove_all(state);
    std::filesystem::rename(copy, state);
  });
  const std::vector<std::string> texts = {"part 0 came back without pushes", "acknowledged LSN 4",
                                          "LSN 3 after that", "snapshot"};
  ExpectError(Push(*stores.rows, {3}, {8}).status(), absl::StatusCode::kDataLoss, texts);
  ExpectError(Push(*stores.rows, {3}, {8}).status(), absl::StatusCode::kDataLoss, texts);
  ExpectError(PullRows(*stores.rows, {3}, *mark).status(), absl::StatusCode::kDataLoss, texts);
  EXPECT_TRUE(Push(*stores.rows, {199}, {1}).ok()) << "part 1 lost nothing";
  ASSERT_TRUE(stores.admin->RestoreSnapshot("kept", context).ok());
  const auto pushed = Push(*stores.rows, {3}, {16});
  ASSERT_TRUE(pushed.ok()) << ToString(pushed.status());
  EXPECT_THAT(*PullRows(*stores.rows, {3, 199}, *pushed), ElementsAre(-17, -1));
}

// A new state folder counts from 1. That matters to who pushed to what is gone.
TEST_F(StateTest, ANewStateFolderIsNoticedUnlessNothingIsMissed) {
  auto server = Serve(graph_, {}, WithState());
  const std::string address = server->address();
  const Stores stores = Open(Options({address}));
  const Stores other = Open(Options({address}));
  CallContext context;
  const auto renew = [&] {
    server.reset();
    std::filesystem::remove_all(folder_.path() / "state");
    server = Serve(graph_, {}, WithState(address));
    EXPECT_TRUE(Create(*other.admin).ok());
  };
  ASSERT_TRUE(Create(*stores.admin).ok());
  ASSERT_TRUE(Push(*stores.rows, {3}, {1}).ok());
  ASSERT_TRUE(Push(*stores.rows, {3}, {1}).ok());
  renew();
  ExpectError(Push(*stores.rows, {3}, {1}).status(), absl::StatusCode::kDataLoss,
              {address, "part 0", "acknowledged LSN 3", "LSN 1 after that"});
  ASSERT_TRUE(stores.admin->Drop(kEmb, context).ok());
  renew();
  EXPECT_TRUE(Push(*stores.rows, {3}, {1}).ok()) << "what it pushed before was dropped";
  EXPECT_TRUE(Push(*stores.rows, {3}, {1}).ok());
}

// Many others must not make a part forget a client that may repeat a push.
TEST_F(StateTest, AClientRegistersWithEachPart) {
  const auto server = Serve(graph_, {}, WithState());
  const Stores stores = Open(Options({server->address()}));
  ASSERT_TRUE(Create(*stores.admin).ok());
  for (int times = 0; times < 3; ++times) {
    ASSERT_TRUE(Push(*stores.rows, {3, 199}, {1, 2}).ok());
  }
  const Status refused = Push(*stores.rows, {3}, {NAN}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  ASSERT_TRUE(Push(*stores.rows, {3}, {1}).ok());
  const auto status = AskStatus(Options({server->address()}));
  for (const Json& method : status[0].methods) {
    if (method["method"] == "KVService/RegisterClient") {
      EXPECT_EQ(method["calls"], 2);
    }
  }
}

TEST_F(StateTest, AClientDrawsItsIdWhereThereIsNoRoomToRegister) {
  server::ServerOptions options = WithState();
  options.state.clients = 1;
  const auto server = Serve(graph_, {}, options);
  const Stores first = Open(Options({server->address()}));
  const Stores second = Open(Options({server->address()}));
  ASSERT_TRUE(Create(*first.admin).ok());
  ASSERT_TRUE(Push(*first.rows, {3}, {1}).ok());
  CapturedLog log;
  ASSERT_TRUE(Push(*second.rows, {3}, {2}).ok());
  EXPECT_THAT(log.End(), testing::HasSubstr("does not register this client, which draws an id"));
  ASSERT_TRUE(Push(*first.rows, {3}, {4}).ok());
  EXPECT_THAT(*PullRows(*first.rows, {3}), ElementsAre(-7));
}

TEST_F(StateTest, RestoresDropsAndRestartsLoseNothing) {
  auto server = Serve(graph_, {}, WithState());
  const std::string address = server->address();
  const Stores stores = Open(Options({address}));
  const Stores other = Open(Options({address}));
  CallContext context;
  const auto push = [&] {
    for (int i = 0; i < 3; ++i) {
      const auto pushed = Push(*stores.rows, {3, 199}, {1, 1});
      ASSERT_TRUE(pushed.ok()) << ToString(pushed.status());
    }
  };
  ASSERT_TRUE(Create(*stores.admin).ok());
  push();
  ASSERT_TRUE(other.admin->Snapshot("s", std::nullopt, context).ok());
  push();
  for (int times = 0; times < 2; ++times) {
    ASSERT_TRUE(other.admin->RestoreSnapshot("s", context).ok());
    push();
    server.reset();
    server = Serve(graph_, {}, WithState(address));
    push();
    ASSERT_TRUE(other.admin->Drop(kEmb, context).ok());
    server.reset();
    server = Serve(graph_, {}, WithState(address));
    ASSERT_TRUE(Create(*other.admin).ok());
    push();
  }
}

// Many threads of one store, whose answers overtake one another.
TEST_F(StateTest, PushesSideBySideLoseNothing) {
  const auto server = Serve(graph_, {}, WithState());
  const Stores stores = Open(Options({server->address()}));
  ASSERT_TRUE(Create(*stores.admin).ok());
  std::vector<Status> pushed(8);
  std::vector<std::thread> threads;
  for (Status& status : pushed) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50 && status.ok(); ++i) status = Push(*stores.rows, {3}, {1}).status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : pushed) EXPECT_TRUE(status.ok()) << ToString(status);
  EXPECT_THAT(*PullRows(*stores.rows, {3}), ElementsAre(-400));
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
    const Stores stores = Open(remote);
    ASSERT_TRUE(Create(*stores.admin).ok());
    const auto pushed = Push(*stores.rows, {7}, {1});
    ASSERT_TRUE(pushed.ok()) << ToString(pushed.status());
    EXPECT_EQ(pushes, 3);
    EXPECT_THAT(*PullRows(*stores.rows, {7}, *pushed), ElementsAre(-1)) << restarted;
  }
}

// Removed, and the answer was lost; or it was refused before anything was done.
TEST_F(StateTest, WhatWasRemovedBeforeAnAnswerWasLostIsNotMissing) {
  const auto server = Serve(graph_, {}, WithState());
  std::atomic<int> lost = 0;  // answers to come
  std::atomic<int> busy = 0;  // calls that are refused
  const FakeServer between([&](const FakeCall& call) {
    const bool removes =
        call.method == "KVService/DropTensor" || call.method == "KVService/DeleteSnapshot";
    if (removes && busy-- > 0) {
      return FakeAnswer{.status = Unavailable("busy"), .bytes = {}, .pushback_ms = 1};
    }
    FakeAnswer answer = Forward(server->address(), call);
    if (!removes || lost-- <= 0) return answer;
    return FakeAnswer{.status = Unavailable("the answer is lost"), .bytes = {}, .pushback_ms = {}};
  });
  const Stores stores = Open(Options({between.address()}));
  CallContext context;
  for (const int answers : {0, 1, 2}) {
    ASSERT_TRUE(Create(*stores.admin).ok());
    ASSERT_TRUE(stores.admin->Snapshot("s", std::nullopt, context).ok());
    busy = 1;
    lost = answers;
    const Status dropped = stores.admin->Drop(kEmb, context);
    EXPECT_TRUE(dropped.ok()) << ToString(dropped);
    lost = answers;
    const Status deleted = stores.admin->DeleteSnapshot("s", context);
    EXPECT_TRUE(deleted.ok()) << ToString(deleted);
    lost = 0;
    for (const int refused : {0, 1}) {
      busy = refused;
      ExpectError(stores.admin->Drop(kEmb, context), absl::StatusCode::kNotFound, {"emb"});
      busy = refused;
      ExpectError(stores.admin->DeleteSnapshot("s", context), absl::StatusCode::kNotFound, {"s"});
    }
  }
}

// A pool full of pulls that wait could not run the push that they wait for.
TEST_F(StateTest, PushesGoOnWhileMorePullsWaitThanThereAreThreads) {
  const auto server = Serve(graph_, {}, WithState());
  const Stores stores = Open(Options({server->address()}));
  ASSERT_TRUE(Create(*stores.admin).ok());
  const auto first = Push(*stores.rows, {0, 199}, {1, 1}, SyncStep{.rank = 0, .world_size = 2});
  ASSERT_TRUE(first.ok()) << ToString(first.status());
  std::vector<StatusOr<std::vector<float>>> pulled(8, Internal("not called"));
  std::vector<std::thread> threads;
  for (auto& rows : pulled) {
    threads.emplace_back([&] { rows = PullRows(*stores.rows, {0, 199}, *first); });
  }
  AwaitPullsInFlight(*server, 16);
  const auto second = Push(*stores.rows, {0}, {1}, SyncStep{.rank = 1, .world_size = 2});
  EXPECT_TRUE(second.ok()) << ToString(second.status());
  for (std::thread& thread : threads) thread.join();
  for (const auto& rows : pulled) {
    ASSERT_TRUE(rows.ok()) << ToString(rows.status());
    EXPECT_THAT(*rows, ElementsAre(-2, -1));
  }
}

// The other rank may be waiting for a server that went away. Its push comes after more than
// --timeout, and after a server's own bound of such a wait.
TEST_F(StateTest, APullWaitsForTheOtherRanksAsLongAsTheyMayWaitForAServer) {
  const auto server = Serve(graph_, {}, WithState());
  std::atomic<bool> complete = false;
  FakeServer gives_up([&](const FakeCall& call) -> FakeAnswer {
    if (call.method != "KVService/Pull" || complete) return Forward(server->address(), call);
    return {.status = DeadlineExceeded("step 0 waits"), .bytes = {}, .pushback_ms = {}};
  });
  constexpr std::chrono::milliseconds kTimeout{700};
  const auto open = [&](const std::string& address, std::chrono::seconds server_timeout,
                        std::chrono::milliseconds timeout) {
    RemoteOptions options = Options({address}, timeout);
    options.server_timeout = server_timeout;
    return Open(options);
  };
  const Stores hasty = open(server->address(), std::chrono::seconds(0), kTimeout);
  const Stores patient = open(server->address(), std::chrono::seconds(60), kTimeout);
  const Stores asks_again = open(gives_up.address(), std::chrono::seconds(60), kTimeout);
  const Stores other = Open(Options({server->address()}));
  ASSERT_TRUE(Create(*other.admin).ok());
  const auto mark = Push(*other.rows, {0}, {1}, SyncStep{.rank = 0, .world_size = 2});
  ASSERT_TRUE(mark.ok()) << ToString(mark.status());
  ExpectError(PullRows(*hasty.rows, {0}, *mark).status(), absl::StatusCode::kDeadlineExceeded,
              {"no answer within 0.7 s"});
  const auto pull = [&](const Stores& stores) { return PullRows(*stores.rows, {0}, *mark); };
  FakeServer says_why_once(
      [&, asked = std::make_shared<std::atomic<bool>>(false)](const FakeCall& call) -> FakeAnswer {
        if (call.method != "KVService/Pull") return Forward(server->address(), call);
        return {.status = DeadlineExceeded("step 0 waits"),
                .bytes = {},
                .pushback_ms = {},
                .never = asked->exchange(true)};
      });
  const Stores told =
      open(says_why_once.address(), std::chrono::seconds(0), std::chrono::milliseconds(1000));
  ExpectError(pull(told).status(), absl::StatusCode::kDeadlineExceeded,
              {"no answer within 1.0 s: step 0 waits"});
  auto first = std::async(std::launch::async, pull, std::cref(patient));
  auto second = std::async(std::launch::async, pull, std::cref(asks_again));
  EXPECT_EQ(first.wait_for(2 * kTimeout), std::future_status::timeout) << "it waits on";
  EXPECT_EQ(second.wait_for(std::chrono::seconds(0)), std::future_status::timeout)
      << "it asks again";
  ASSERT_TRUE(Push(*other.rows, {0}, {1}, SyncStep{.rank = 1, .world_size = 2}).ok());
  complete = true;
  for (auto* pulled : {&first, &second}) {
    const auto rows = pulled->get();
    ASSERT_TRUE(rows.ok()) << ToString(rows.status());
    EXPECT_THAT(*rows, ElementsAre(-2));
  }
}

TEST_F(StateTest, PullsThatWaitEndWithTheServer) {
  auto server = Serve(graph_, {}, WithState());
  const Stores stores = Open(Options({server->address()}, std::chrono::minutes(5)));
  ASSERT_TRUE(Create(*stores.admin).ok());
  const auto mark = Push(*stores.rows, {0}, {1}, SyncStep{.rank = 0, .world_size = 2});
  ASSERT_TRUE(mark.ok()) << ToString(mark.status());
  CancelToken token;
  Status pulled = Internal("not called");
  std::thread pulls([&] {
    const std::vector<int64_t> ids = {0};
    float row = 0;
    CallContext context{.cancel = &token};
    pulled = stores.rows->Pull({.tensor = kEmb,
                                .ids = ids,
                                .out = std::as_writable_bytes(std::span(&row, 1)),
                                .after = *mark},
                               context);
  });
  AwaitPullsInFlight(*server, 1);
  EXPECT_TRUE(server->Drain(std::chrono::seconds(60)));
  server.reset();
  token.Cancel();  // it waits for the server to come back
  pulls.join();
  EXPECT_TRUE(absl::IsCancelled(pulled)) << ToString(pulled);
}

TEST_F(StateTest, WhatAnotherClientCreatesOrReplacesIsFound) {
  const auto server = Serve(graph_, {}, WithState());
  const Stores one = Open(Options({server->address()}));
  const Stores other = Open(Options({server->address()}));
  ExpectError(PullRows(*other.rows, {0}).status(), absl::StatusCode::kNotFound, {"emb"});
  ASSERT_TRUE(Create(*one.admin).ok());
  EXPECT_THAT(*PullRows(*other.rows, {0}), ElementsAre(0));
  CallContext context;
  ASSERT_TRUE(one.admin->Drop(kEmb, context).ok());
  ASSERT_TRUE(Create(*one.admin, Spec(2)).ok());
  EXPECT_FALSE(PullRows(*other.rows, {0}).ok()) << "the rows have another size";
  EXPECT_THAT(*PullRows(*other.rows, {0}, {}, 2), ElementsAre(0, 0));
  // And by who uses it as it is now, after one error.
  ASSERT_TRUE(one.admin->Drop(kEmb, context).ok());
  ASSERT_TRUE(Create(*one.admin, Spec(3)).ok());
  EXPECT_FALSE(Push(*other.rows, {0}, {1, 1, 1}).ok()) << "the rows have another size";
  EXPECT_TRUE(Push(*other.rows, {0}, {1, 1, 1}).ok());
  ASSERT_TRUE(one.admin->Drop(kEmb, context).ok());
  ASSERT_TRUE(Create(*one.admin, Spec(4)).ok());
  EXPECT_FALSE(PullRows(*other.rows, {0}, {}, 4).ok()) << "the rows have another size";
  EXPECT_THAT(*PullRows(*other.rows, {0}, {}, 4), ElementsAre(0, 0, 0, 0));
}

TEST_F(StateTest, AServerWithoutAStateFolderSaysWhatToStartItWith) {
  const auto server = Serve(graph_, {});
  const Stores stores = Open(Options({server->address()}));
  ExpectError(Create(*stores.admin), absl::StatusCode::kFailedPrecondition,
              {"--state DIR", server->address()});
  ExpectError(Push(*stores.rows, {0}, {1}).status(), absl::StatusCode::kFailedPrecondition,
              {"--state DIR"});
  ExpectError(PullRows(*stores.rows, {0}).status(), absl::StatusCode::kNotFound, {"emb"});
}

TEST_F(StateTest, APartHasOneOwner) {
  const auto first = Serve(graph_, {0, 1}, WithState());
  server::ServerOptions options = WithState();
  options.state.folder = folder_.path() / "other";
  const auto second = Serve(graph_, {1}, options);
  const Stores stores = Open(Options({first->address(), second->address()}));
  ExpectError(Create(*stores.admin), absl::StatusCode::kFailedPrecondition,
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
  const Stores stores = Open(Options({server->address()}));
  ASSERT_TRUE(Create(*stores.admin, Spec(4)).ok());
  ASSERT_TRUE(Push(*stores.rows, {0}, {1, 1, 1, 1}).ok());
  const auto statuses = AskStatus(Options({server->address()}));
  ASSERT_EQ(statuses[0].state.size(), 2U);
  const StateStats& first = statuses[0].state.at(0);
  ASSERT_EQ(first.tensors.size(), 1U);
  EXPECT_EQ(first.tensors[0].spec, Spec(4));
  EXPECT_EQ(first.tensors[0].pushes, 1);
  EXPECT_EQ(first.tensors[0].pushed_rows, 1);
  EXPECT_EQ(first.lsn, 2) << "of the client, and of its push";
  EXPECT_EQ(first.registered_clients, 1);
  EXPECT_EQ(statuses[0].state.at(1).lsn, 0) << "nothing was pushed there";
  EXPECT_EQ(statuses[0].serving, "topology,features,tasks,state");
  EXPECT_THAT(FormatTable(statuses), HasSubstr("node node / emb"));
  EXPECT_EQ(ToJson(statuses)[0]["state"][0]["tensors"][0]["pushes"], 1);
}

// More tensors than fit into a message of 64 KiB.
class ManyTensorsTest : public StateTest {
 protected:
  static constexpr int kTensors = 400;

  void SetUp() override {
    server::ServerOptions options = WithState();
    options.max_message_bytes = 64 << 10;
    server_ = Serve(graph_, {}, options);
    const Stores stores = Open(Few());
    for (int i = 0; i < kTensors; ++i) {
      const Status made = Create(*stores.admin, Table(i));
      ASSERT_TRUE(made.ok()) << ToString(made);
    }
    ASSERT_TRUE(Create(*stores.admin).ok());
  }
  static MutableTensorSpec Table(int i) {
    return {.ref = {false, "", fmt::format("table-{:04}-{}", i, std::string(100, 'x'))},
            .placement = Placement::kRange,
            .rows = 2,
            .initializer = {},
            .optimizer = {}};
  }
  // Of a client whose messages are as small.
  RemoteOptions Few() const {
    RemoteOptions options = Options({server_->address()});
    options.max_message_bytes = 64 << 10;
    return options;
  }

  std::unique_ptr<server::Server> server_;
};

TEST_F(ManyTensorsTest, AreListedPushedAndKept) {
  const Stores stores = Open(Few());
  CallContext context;
  const auto all = stores.admin->List(context);
  ASSERT_TRUE(all.ok()) << ToString(all.status());
  ASSERT_EQ(all->size(), size_t{kTensors} + 1);
  // Those of no type come first.
  EXPECT_EQ((*all)[0].spec, Table(0));
  EXPECT_EQ(all->back().spec, Spec());
  // A client that knows none of them finds the one that it is asked for.
  ASSERT_TRUE(Push(*Open(Few()).rows, {3}, {1}).ok());
  EXPECT_THAT(*PullRows(*Open(Few()).rows, {3}), ElementsAre(-1));

  ASSERT_TRUE(stores.admin->Snapshot("kept", std::nullopt, context).ok());
  ASSERT_TRUE(stores.admin->Drop(kEmb, context).ok());
  ASSERT_TRUE(stores.admin->Snapshot("later", std::nullopt, context).ok());
  const auto names = stores.admin->ListSnapshots(context);
  ASSERT_TRUE(names.ok()) << ToString(names.status());
  ASSERT_EQ(names->at(1).size(), 2U);
  EXPECT_EQ(names->at(1)[1].name, "later");
  EXPECT_TRUE(names->at(1)[1].tensors.empty());
  const auto kept = stores.admin->DescribeSnapshot("kept", context);
  ASSERT_TRUE(kept.ok()) << ToString(kept.status());
  ASSERT_EQ(kept->size(), 2U);
  ASSERT_EQ(kept->at(1).tensors.size(), size_t{kTensors} + 1);
  EXPECT_EQ(kept->at(1).tensors[7], Table(7));
  EXPECT_EQ(stores.admin->DescribeSnapshot("later", context)->at(0).tensors.size(),
            size_t{kTensors});
  EXPECT_TRUE(stores.admin->DescribeSnapshot("none", context)->empty());
  ASSERT_TRUE(stores.admin->RestoreSnapshot("kept", context).ok());
  EXPECT_EQ(stores.admin->List(context)->size(), size_t{kTensors} + 1);
}

TEST_F(ManyTensorsTest, StatusTellsWhatItHadNoRoomFor) {
  const auto statuses = AskStatus(Few());
  ASSERT_TRUE(statuses[0].reachable.ok()) << ToString(statuses[0].reachable);
  ASSERT_EQ(statuses[0].state.size(), 2U);
  const size_t told =
      statuses[0].state.at(0).tensors.size() + statuses[0].state.at(1).tensors.size();
  EXPECT_GT(told, 50U);
  EXPECT_EQ(static_cast<int64_t>(told) + statuses[0].tensors_left_out, 2 * (kTensors + 1));
  EXPECT_GT(statuses[0].tensors_left_out, 0);
  EXPECT_THAT(Problems(statuses), testing::IsEmpty());
  EXPECT_THAT(FormatLeftOut(statuses),
              HasSubstr(fmt::format("{}: {} tensors of parts had no room", server_->address(),
                                    statuses[0].tensors_left_out)));
  EXPECT_THAT(FormatLeftOut(statuses), HasSubstr("halograph-ctl state list"));
  EXPECT_EQ(ToJson(statuses)[0]["tensors_left_out"], statuses[0].tensors_left_out);
  // Its messages are smaller than those of a server with room for all.
  const auto few = AskStatus([&] {
    RemoteOptions options = Few();
    options.max_message_bytes = 32 << 10;
    return options;
  }());
  ASSERT_TRUE(few[0].reachable.ok()) << ToString(few[0].reachable);
  EXPECT_GT(few[0].tensors_left_out, statuses[0].tensors_left_out);
}

TEST_F(StateTest, StatusTellsWhichListsHadNoRoom) {
  std::vector<ServerStatus> statuses(2);
  statuses[0].address = "a:1";
  statuses[0].left_out = {"clients (256)", "\x1b[31m"};
  statuses[1].address = "b:2";
  EXPECT_THAT(FormatLeftOut(statuses), HasSubstr("a:1: had no room in its answer for: clients"));
  EXPECT_THAT(FormatLeftOut(statuses), testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(FormatLeftOut(statuses), testing::Not(HasSubstr("b:2")));
  EXPECT_EQ(ToJson(statuses)[1]["left_out"].size(), 0U);
}

// Behind a server that ignores what it does not know, as one without pages does; and one that leads
// a client on for ever.
TEST_F(StateTest, AListComesWholeFromAServerThatKnowsNoPages) {
  const auto server = Serve(graph_, {}, WithState());
  bool forever = false;
  std::atomic<int> lists = 0;
  FakeServer between([&](const FakeCall& call) {
    FakeCall forwarded = call;
    if (call.method == "KVService/ListTensors" || call.method == "KVService/ListSnapshots") {
      ++lists;
      forwarded.request.clear();  // which asks for pages
      FakeAnswer answer = Forward(server->address(), forwarded);
      if (forever) answer.bytes += std::string("\x12\x01x", 3);  // next_page_token: "x"
      return answer;
    }
    return Forward(server->address(), forwarded);
  });
  const Stores stores = Open(Options({between.address()}));
  CallContext context;
  ASSERT_TRUE(Create(*stores.admin).ok());
  ASSERT_TRUE(stores.admin->Snapshot("kept", std::nullopt, context).ok());
  ASSERT_TRUE(stores.admin->Snapshot("other", std::nullopt, context).ok());
  ASSERT_EQ(stores.admin->List(context)->size(), 1U);
  EXPECT_EQ(stores.admin->ListSnapshots(context)->at(0).size(), 2U);
  const auto kept = stores.admin->DescribeSnapshot("kept", context);
  ASSERT_TRUE(kept.ok()) << ToString(kept.status());
  EXPECT_EQ(kept->at(1).tensors.size(), 1U);
  EXPECT_EQ(lists, 3);
  forever = true;
  ExpectError(stores.admin->List(context).status(), absl::StatusCode::kDataLoss,
              {"leads to itself"});
}

TEST_F(StateTest, TensorsAndSnapshotsBeyondTheirBoundsAreRefusedNamingTheOption) {
  server::ServerOptions options = WithState();
  options.state.tensors = 1;
  options.state.snapshots = 1;
  const auto server = Serve(graph_, {}, options);
  const Stores stores = Open(Options({server->address()}));
  CallContext context;
  ASSERT_TRUE(Create(*stores.admin).ok());
  MutableTensorSpec other = Spec();
  other.ref.name = "other";
  ExpectError(Create(*stores.admin, other), absl::StatusCode::kResourceExhausted,
              {"has 1 mutable tensors", "--state-tensors"});
  ASSERT_TRUE(stores.admin->Snapshot("first", std::nullopt, context).ok());
  ExpectError(stores.admin->Snapshot("second", std::nullopt, context),
              absl::StatusCode::kResourceExhausted, {"has 1 snapshots", "--state-snapshots"});
  EXPECT_EQ(stores.admin->ListSnapshots(context)->at(0).size(), 1U);
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
    const Stores stores = Open(Options({server->address()}));
    ASSERT_TRUE(Create(*stores.admin).ok());
    std::vector<float> gradients;
    for (const float value : expected) gradients.push_back(-value);
    ASSERT_TRUE(Push(*stores.rows, GlobalNodeIds(two, "node"), gradients).ok());
    CallContext context;
    const auto rows = ExportTensor(stores, Spec(), files, context);
    ASSERT_TRUE(rows.ok()) << ToString(rows.status());
    EXPECT_EQ(*rows, 200);
    ExpectError(ExportTensor(stores, Spec(), files, context).status(),
                absl::StatusCode::kAlreadyExists, {files.string()});
  }
  const auto ids = NpyArray::Open(files / "ids.npy");
  ASSERT_TRUE(ids.ok()) << ToString(ids.status());
  EXPECT_EQ(ids->As<int64_t>().value()[199], 199);
  server::ServerOptions options = WithState();
  options.state.folder = folder_.path() / "of-three";
  const auto server = Serve(WriteGraph(three), {}, options);
  const Stores stores = Open(Options({server->address()}));
  CallContext context;
  const auto rows = ImportTensors(stores, files, context);
  ASSERT_TRUE(rows.ok()) << ToString(rows.status());
  EXPECT_EQ(*PullRows(*stores.rows, GlobalNodeIds(three, "node")), expected);
}

// Tensors of several optimizers and placements on a graph in two parts, and in three.
class MoveTest : public StateTest {
 protected:
  static constexpr int64_t kDim = 3;
  static constexpr int64_t kRows = 200;

  MoveTest() {
    three_.parts = 3;
    for (size_t i = 0; i < three_.node_types[0].owners.size(); ++i) {
      three_.node_types[0].owners[i] = static_cast<int>(i % 3);
    }
    using Kind = RowOptimizer::Kind;
    const Initializer normal{.kind = Initializer::Kind::kNormal, .b = 1, .seed = 3};
    const auto add = [&](const char* name, const RowOptimizer& optimizer, DType dtype) {
      specs_.push_back({.ref = {false, "node", name},
                        .dim = kDim,
                        .dtype = dtype,
                        .initializer = normal,
                        .optimizer = optimizer});
    };
    add("adam", {.kind = Kind::kAdam, .learning_rate = 0.1}, DType::kFloat32);
    add("adagrad", {.kind = Kind::kAdagrad, .learning_rate = 0.1}, DType::kFloat32);
    add("half", {.kind = Kind::kRowAdagrad, .learning_rate = 0.1}, DType::kBFloat16);
    specs_.push_back({.ref = {false, "", "table"},
                      .placement = Placement::kHash,
                      .rows = kRows,
                      .dim = kDim,
                      .initializer = normal,
                      .optimizer = {.kind = Kind::kSgd, .learning_rate = 0.1, .momentum = 0.9}});
    specs_.push_back({.ref = {true, "node:edge:node", "weight"},
                      .placement = Placement::kEdges,
                      .dim = kDim,
                      .initializer = normal,
                      .optimizer = {.kind = Kind::kAdagrad, .learning_rate = 0.1}});
  }
  struct Served {
    std::vector<std::unique_ptr<server::Server>> servers;
    Stores stores;
    std::vector<int64_t> ids;    // of nodes, by original id
    std::vector<int64_t> edges;  // of edges
  };
  static std::vector<int64_t> GlobalEdgeIds(RowStore& store, size_t edges) {
    std::vector<int64_t> all(edges);
    std::iota(all.begin(), all.end(), 0);
    std::vector<int64_t> original(edges);
    const Status pulled = PullOne(store, {true, "node:edge:node", kOriginalIdTensor}, all,
                                  std::as_writable_bytes(std::span(original)));
    EXPECT_TRUE(pulled.ok()) << ToString(pulled);
    std::vector<int64_t> global(edges);
    for (size_t e = 0; e < edges; ++e) global[static_cast<size_t>(original[e])] = all[e];
    return global;
  }
  // One server a part.
  Served ServeParts(const TestGraphSpec& graph, const std::string& state,
                    std::optional<int64_t> memory = std::nullopt) {
    server::ServerOptions options = WithState();
    options.state.folder = folder_.path() / state;
    options.state.memory = memory.value_or(options.state.memory);
    options.max_message_bytes = 64 << 10;
    Served served;
    const std::filesystem::path path = WriteGraph(graph);
    std::vector<std::string> addresses;
    for (int part = 0; part < graph.parts; ++part) {
      served.servers.push_back(Serve(path, {part}, options));
      addresses.push_back(served.servers.back()->address());
    }
    served.stores = Open(Options(addresses));
    served.ids = GlobalNodeIds(graph, "node");
    served.edges = GlobalEdgeIds(*served.stores.rows, graph.relations[0].edges.size());
    return served;
  }
  // A step of gradients for some rows of every tensor, the same under original ids.
  void Train(Served& served, int64_t step) const {
    for (const MutableTensorSpec& spec : specs_) {
      std::vector<int64_t> ids;
      std::vector<float> rows;
      for (int64_t original = step % 3; original < 150; original += 3) {
        const auto at = static_cast<size_t>(original);
        ids.push_back(spec.placement == Placement::kNodes   ? served.ids[at]
                      : spec.placement == Placement::kEdges ? served.edges[at]
                                                            : original);
        for (int64_t c = 0; c < kDim; ++c) {
          rows.push_back(static_cast<float>((original * 31 + c * 7 + step) % 19) - 9);
        }
      }
      CallContext context;
      const auto pushed = PushOne(
          *served.stores.rows,
          {.tensor = spec.ref,
           .step = SyncStep{.step = step, .world_size = 1, .run = static_cast<uint64_t>(step / 10)},
           .ids = ids,
           .rows = std::as_bytes(std::span(rows))},
          context);
      ASSERT_TRUE(pushed.ok()) << ToString(pushed.status());
    }
  }
  // What a snapshot of all tensors holds, by tensor and original id: rows and optimizer state.
  std::vector<std::vector<std::byte>> Images(Served& served, const std::string& name) const {
    CallContext context;
    const Status kept = served.stores.admin->Snapshot(name, std::nullopt, context);
    EXPECT_TRUE(kept.ok()) << ToString(kept);
    const std::filesystem::path path = folder_.path() / ("images-" + name);
    const auto counts = ExportSnapshot(served.stores, name, specs_, path, context);
    EXPECT_TRUE(counts.ok()) << ToString(counts.status());
    return Arrays(path);
  }
  // Global ids of a tensor by original id.
  static int64_t GlobalId(const Served& served, const MutableTensorSpec& spec, size_t original) {
    return spec.placement == Placement::kNodes   ? served.ids[original]
           : spec.placement == Placement::kEdges ? served.edges[original]
                                                 : static_cast<int64_t>(original);
  }
  // Creates and trains all tensors, and leaves rows that are not finite.
  void TrainTooFar(Served& served) const {
    for (const MutableTensorSpec& spec : specs_) {
      ASSERT_TRUE(Create(*served.stores.admin, spec).ok());
    }
    Train(served, 0);
    PushTooMuch(served);
  }
  // Finite values that make rows 3 and 4 infinite, then row 3 NaN, in every tensor.
  void PushTooMuch(Served& served) const {
    CallContext context;
    for (const float value : {3e38F, -3e38F}) {
      for (const MutableTensorSpec& spec : specs_) {
        std::vector<int64_t> ids(2, GlobalId(served, spec, 3));
        if (value > 0) ids.insert(ids.end(), 2, GlobalId(served, spec, 4));
        const std::vector<float> rows(ids.size() * kDim, value);
        const auto pushed = PushOne(*served.stores.rows,
                                    {.tensor = spec.ref,
                                     .kind = PushKind::kAdd,
                                     .ids = ids,
                                     .rows = std::as_bytes(std::span(rows))},
                                    context);
        ASSERT_TRUE(pushed.ok()) << ToString(pushed.status());
      }
    }
  }
  // As in exports of older versions.
  static void RemoveChecksums(const std::filesystem::path& files) {
    std::filesystem::remove(files / "checksums.json");
    for (const auto& entry : std::filesystem::directory_iterator(files)) {
      if (entry.is_directory()) std::filesystem::remove(entry.path() / "checksums.json");
    }
  }
  // Of a snapshot's folder.
  std::vector<std::vector<std::byte>> Arrays(const std::filesystem::path& path) const {
    std::vector<std::vector<std::byte>> files;
    for (size_t i = 0; i < specs_.size(); ++i) {
      for (const char* file : {"ids", "rows", "sum", "m", "v", "updates", "momentum"}) {
        const auto array =
            NpyArray::Open(path / fmt::format("tensor-{:04}", i) / fmt::format("{}.npy", file));
        if (!array.ok()) continue;
        files.emplace_back(array->data().begin(), array->data().end());
      }
    }
    return files;
  }

  TestGraphSpec two_ = RandomGraph({.seed = 1, .parts = 2, .nodes = kRows, .feature_dim = 4});
  TestGraphSpec three_ = two_;
  std::vector<MutableTensorSpec> specs_;
};

// Where the rows of the servers are that a snapshot comes from, and of those that it goes to.
class MoveAnywhereTest : public MoveTest,
                         public testing::WithParamInterface<std::pair<bool, bool>> {
 protected:
  static inline const TensorRef kLarge{false, "", "large"};
  static constexpr int64_t kMemory = int64_t{1} << 20;

  // Not in memory: four rows a part take all but what the sets of the others' rows need.
  Served ServePlaced(const TestGraphSpec& graph, const std::string& state, bool in_memory) {
    if (in_memory) return ServeParts(graph, state);
    Served served = ServeParts(graph, state, kMemory);
    const Status created = Create(*served.stores.admin, {.ref = kLarge,
                                                         .placement = Placement::kRange,
                                                         .rows = 4 * graph.parts,
                                                         .dim = (kMemory - 1024) / 16,
                                                         .initializer = {},
                                                         .optimizer = {}});
    EXPECT_TRUE(created.ok()) << ToString(created);
    return served;
  }
  // When all tensors are there.
  void ExpectPlaced(const Served& served, bool in_memory) const {
    CallContext context;
    if (!in_memory) {
      const Status dropped = served.stores.admin->Drop(kLarge, context);
      EXPECT_TRUE(dropped.ok()) << ToString(dropped);
    }
    std::vector<std::string> addresses;
    for (const auto& server : served.servers) addresses.push_back(server->address());
    for (const ServerStatus& status : AskStatus(Options(addresses))) {
      ASSERT_TRUE(status.reachable.ok());
      for (const auto& [part, state] : status.state) {
        for (const MutableTensorStats& tensor : state.tensors) {
          EXPECT_EQ(tensor.memory_bytes > 3 * tensor.ids.size() / 8, in_memory)
              << part << tensor.spec.ref.ToString() << tensor.memory_bytes;
        }
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Places, MoveAnywhereTest,
                         testing::Values(std::pair{true, true}, std::pair{true, false},
                                         std::pair{false, true}),
                         [](const auto& place) {
                           return fmt::format("{}To{}", place.param.first ? "Memory" : "Disk",
                                              place.param.second ? "Memory" : "Disk");
                         });

TEST_P(MoveAnywhereTest, ASnapshotGoesToAnotherNumberOfPartsAndTrainingGoesOnAlike) {
  const auto [from_memory, to_memory] = GetParam();
  Served from = ServePlaced(two_, "of-two", from_memory);
  CallContext context;
  for (const MutableTensorSpec& spec : specs_) ASSERT_TRUE(Create(*from.stores.admin, spec).ok());
  ExpectPlaced(from, from_memory);
  for (int64_t step = 0; step < 3; ++step) Train(from, step);
  ASSERT_TRUE(from.stores.admin->Snapshot("move", 2, context).ok());
  Train(from, 3);  // the snapshot is of the moment before
  const std::filesystem::path files = folder_.path() / "files";
  const auto specs = TensorsOfSnapshot(from.stores, "move", context);
  ASSERT_TRUE(specs.ok()) << ToString(specs.status());
  const auto exported = ExportSnapshot(from.stores, "move", *specs, files, context);
  ASSERT_TRUE(exported.ok()) << ToString(exported.status());
  const int64_t rows = 4 * kRows + std::ssize(from.edges);
  EXPECT_EQ(exported->tensors, 5);
  EXPECT_EQ(exported->rows, rows);

  Served to = ServePlaced(three_, "of-three", to_memory);
  for (int times = 0; times < 2; ++times) {  // repeated, as after an interruption
    const auto imported = ImportTensors(to.stores, files, context);
    ASSERT_TRUE(imported.ok()) << ToString(imported.status());
    EXPECT_EQ(imported->rows, rows);
  }
  ExpectPlaced(to, to_memory);
  const auto listed = to.stores.admin->List(context);
  ASSERT_TRUE(listed.ok()) << ToString(listed.status());
  ASSERT_EQ(listed->size(), 5U);
  for (const MutableTensorState& tensor : *listed) {
    EXPECT_EQ(tensor.step, 2);
    EXPECT_FALSE(tensor.importing);
  }
  for (int64_t step = 3; step < 6; ++step) {
    if (step > 3) Train(from, step);
    Train(to, step);
  }
  const auto expected = Images(from, "from");
  EXPECT_EQ(expected.size(), 2U * 5 + 3 + 1 + 1 + 1 + 1) << "ids, rows, and the columns of state";
  EXPECT_EQ(Images(to, "to"), expected);
  const Status again = ImportTensors(to.stores, files, context).status();
  ExpectError(again, absl::StatusCode::kFailedPrecondition, {"step 5", "step 2", "drop"});
}

TEST_F(MoveTest, AnImportThatIsNotDoneIsToldAndRepeated) {
  Served from = ServeParts(two_, "of-two");
  specs_.resize(1);
  CallContext context;
  ASSERT_TRUE(Create(*from.stores.admin, specs_[0]).ok());
  Train(from, 0);
  ASSERT_TRUE(from.stores.admin->Snapshot("move", 0, context).ok());
  const std::filesystem::path files = folder_.path() / "files";
  ASSERT_TRUE(ExportSnapshot(from.stores, "move", specs_, files, context).ok());

  Served to = ServeParts(three_, "of-three");
  // As an import leaves them that was interrupted.
  ASSERT_TRUE(Create(*to.stores.admin, specs_[0]).ok());
  ASSERT_TRUE(Create(*to.stores.admin, ImportMarkSpec(specs_[0].ref, 3)).ok());
  const std::vector<int64_t> ids = {0, 100, 199};
  std::vector<float> rows(ids.size() * kDim);
  const RowRequest request{
      .tensor = specs_[0].ref, .ids = ids, .out = std::as_writable_bytes(std::span(rows))};
  ExpectError(to.stores.rows->Pull(request, context), absl::StatusCode::kFailedPrecondition,
              {"node node / adam is being imported"});
  ExpectError(to.stores.admin->Snapshot("half", std::nullopt, context),
              absl::StatusCode::kFailedPrecondition, {"is being imported"});
  EXPECT_TRUE(to.stores.admin->List(context)->front().importing);
  std::vector<std::string> addresses;
  for (const auto& server : to.servers) addresses.push_back(server->address());
  const auto statuses = AskStatus(Options(addresses));
  EXPECT_THAT(Problems(statuses), testing::Each(HasSubstr("node node / adam is being imported")));
  EXPECT_EQ(Problems(statuses).size(), 3U);
  EXPECT_THAT(FormatTable(statuses), HasSubstr("importing"));
  EXPECT_THAT(FormatTable(statuses), testing::Not(HasSubstr("import-mark")));

  ASSERT_TRUE(ImportTensors(to.stores, files, context).ok());
  EXPECT_TRUE(to.stores.rows->Pull(request, context).ok());
  EXPECT_FALSE(to.stores.admin->List(context)->front().importing);
  EXPECT_EQ(Images(to, "to"), Images(from, "from"));
}

TEST_F(MoveTest, ASnapshotThatOnePartRefusesIsKeptByNone) {
  Served served = ServeParts(two_, "of-two");
  std::atomic<bool> fails = true;
  const FakeServer between([&](const FakeCall& call) {
    if (fails && call.method == "KVService/SnapshotTensors") {
      return FakeAnswer{.status = Internal("no"), .bytes = {}, .pushback_ms = {}};
    }
    return Forward(served.servers[1]->address(), call);
  });
  const Stores stores = Open(Options({served.servers[0]->address(), between.address()}));
  CallContext context;
  ASSERT_TRUE(Create(*stores.admin, specs_[0]).ok());
  for (const bool failing : {true, false}) {
    fails = failing;
    const Status kept = stores.admin->Snapshot("s", std::nullopt, context);
    EXPECT_EQ(kept.ok(), !failing) << ToString(kept);
    const auto listed = stores.admin->ListSnapshots(context);
    ASSERT_TRUE(listed.ok()) << ToString(listed.status());
    for (const auto& [part, snapshots] : *listed) EXPECT_EQ(snapshots.size(), failing ? 0U : 1U);
  }
}

// Rows are written where they stand as they come, maybe one by one, and come several times.
TEST_F(MoveTest, AnExportIsTheSameHoweverMuchOfItWaitsInMemory) {
  Served served = ServeParts(two_, "of-two");
  CallContext context;
  for (const MutableTensorSpec& spec : specs_) ASSERT_TRUE(Create(*served.stores.admin, spec).ok());
  Train(served, 0);
  ASSERT_TRUE(served.stores.admin->Snapshot("first", 0, context).ok());
  for (int64_t step = 1; step < 4; ++step) Train(served, step);  // an increment has rows again
  const auto expected = Images(served, "whole");
  for (const size_t bytes : {1, 3000}) {
    const std::filesystem::path files = folder_.path() / fmt::format("in-{}", bytes);
    ASSERT_TRUE(ExportSnapshot(served.stores, "whole", specs_, files, context, bytes).ok());
    EXPECT_EQ(Arrays(files), expected) << bytes;
  }
  // Of edges, under their original ids.
  const auto edges = NpyArray::Open(folder_.path() / "in-1" / "tensor-0004" / "ids.npy");
  ASSERT_TRUE(edges.ok()) << ToString(edges.status());
  std::vector<int64_t> originals(served.edges.size());
  std::iota(originals.begin(), originals.end(), 0);
  EXPECT_THAT(edges->As<int64_t>().value(), testing::ElementsAreArray(originals));
  // The last rows: nobody pushed them.
  const auto rows = NpyArray::Open(folder_.path() / "in-1" / "tensor-0000" / "rows.npy");
  ASSERT_TRUE(rows.ok()) << ToString(rows.status());
  EXPECT_THAT(rows->As<float>()->last(kDim), testing::Each(testing::Ne(0)));
}

TEST_F(MoveTest, AnExportThatFailsLeavesNothing) {
  Served served = ServeParts(two_, "of-two");
  specs_.resize(2);
  CallContext context;
  for (const MutableTensorSpec& spec : specs_) ASSERT_TRUE(Create(*served.stores.admin, spec).ok());
  Train(served, 0);
  ASSERT_TRUE(served.stores.admin->Snapshot("kept", 0, context).ok());
  const std::filesystem::path files = folder_.path() / "out" / "files";
  std::filesystem::create_directories(files.parent_path());
  const auto expect_failure = [&](const Stores& stores, absl::StatusCode code) {
    const Status status = ExportSnapshot(stores, "kept", specs_, files, context).status();
    EXPECT_EQ(status.code(), code) << ToString(status);
    EXPECT_TRUE(std::filesystem::is_empty(files.parent_path()));
  };
  // A part that does not have it, when the rows of the first tensor were written.
  std::atomic<int> reads = 0;
  const FakeServer between([&](const FakeCall& call) {
    if (call.method == "KVService/ReadSnapshot" && ++reads > 1) {
      return FakeAnswer{.status = NotFound("none"), .bytes = {}, .pushback_ms = {}};
    }
    return Forward(served.servers[1]->address(), call);
  });
  const Stores stores = Open(Options({served.servers[0]->address(), between.address()}));
  expect_failure(stores, absl::StatusCode::kNotFound);
  EXPECT_GT(reads, 1);
  const std::filesystem::path checkpoint =
      *std::filesystem::directory_iterator(folder_.path() / "of-two" / "part-0001" / "checkpoints");
  std::fstream damaged(checkpoint, std::ios::in | std::ios::out | std::ios::binary);
  damaged.seekp(static_cast<std::streamoff>(std::filesystem::file_size(checkpoint) / 2));
  damaged.put(0x55).flush();
  expect_failure(served.stores, absl::StatusCode::kDataLoss);
}

TEST_F(MoveTest, WhatIsMissingIsAnErrorAndNothingChanges) {
  Served served = ServeParts(two_, "of-two");
  specs_.resize(1);
  CallContext context;
  ASSERT_TRUE(Create(*served.stores.admin, specs_[0]).ok());
  ASSERT_TRUE(served.stores.admin->Snapshot("all", std::nullopt, context).ok());
  ExpectError(TensorsOfSnapshot(served.stores, "none", context).status(),
              absl::StatusCode::kNotFound, {"none", "partition 0"});
  const std::filesystem::path files = folder_.path() / "files";
  ASSERT_TRUE(ExportSnapshot(served.stores, "all", specs_, files, context).ok());
  Train(served, 0);
  const auto before = Images(served, "before");
  const std::filesystem::path tensor = files / "tensor-0000";
  const auto refused = [&](absl::StatusCode code, const std::vector<std::string>& texts) {
    ExpectError(ImportTensors(served.stores, files, context).status(), code, texts);
  };
  refused(absl::StatusCode::kFailedPrecondition, {"step 0", "drop"});
  std::filesystem::rename(tensor / "v.npy", tensor / "w.npy");
  refused(absl::StatusCode::kNotFound, {"v.npy"});
  ASSERT_TRUE(WriteNpy<float>(tensor / "v.npy", std::vector<float>(7 * kDim), kDim).ok());
  refused(absl::StatusCode::kDataLoss, {"v.npy", "[7, 3]"});
  std::filesystem::rename(tensor / "w.npy", tensor / "v.npy");
  ASSERT_TRUE(served.stores.admin->Drop(specs_[0].ref, context).ok());
  std::filesystem::remove(tensor / "ids.npy");
  std::vector<int64_t> ids(kRows, 5);
  ASSERT_TRUE(WriteNpy<int64_t>(tensor / "ids.npy", ids).ok());
  refused(absl::StatusCode::kDataLoss, {"ids.npy", "checksum", "remove"});
  RemoveChecksums(files);
  refused(absl::StatusCode::kDataLoss, {"ids.npy", "199 of which are missing"});
  EXPECT_TRUE(served.stores.admin->List(context)->empty()) << "none was created";
  EXPECT_FALSE(before.empty());
}

// Export wrote it, so import takes it, bit by bit.
TEST_F(MoveTest, RowsThatAreNotFiniteComeBackBitForBitAndAreTold) {
  Served from = ServeParts(two_, "of-two");
  CallContext context;
  TrainTooFar(from);
  const auto expected = Images(from, "from");
  const std::filesystem::path files = folder_.path() / "images-from";
  Served to = ServeParts(three_, "of-three");
  const auto imported = ImportTensors(to.stores, files, context);
  ASSERT_TRUE(imported.ok()) << ToString(imported.status());
  EXPECT_EQ(imported->not_finite_rows, 2 * 5);
  EXPECT_TRUE(imported->checked);
  EXPECT_EQ(Images(to, "to"), expected);
  int64_t counted = 0;
  for (const auto& server : to.servers) {
    for (const ServerStatus& status : AskStatus(Options({server->address()}))) {
      for (const auto& [part, state] : status.state) {
        for (const MutableTensorStats& tensor : state.tensors) counted += tensor.not_finite_rows;
      }
    }
  }
  EXPECT_EQ(counted, 2 * 5);
  RemoveChecksums(files);
  const auto old = ImportTensors(to.stores, files, context);
  ASSERT_TRUE(old.ok()) << ToString(old.status());
  EXPECT_FALSE(old->checked);
  EXPECT_EQ(Images(to, "again"), expected);
}

// Rows alone: the optimizer's state stays.
TEST_F(MoveTest, RowsWithoutStateThatAreNotFiniteComeBackBitForBit) {
  Served from = ServeParts(two_, "of-two");
  Served to = ServeParts(three_, "of-three");
  CallContext context;
  for (Served* served : {&from, &to}) {
    for (const MutableTensorSpec& spec : specs_) {
      ASSERT_TRUE(Create(*served->stores.admin, spec).ok());
    }
    Train(*served, 0);
  }
  PushTooMuch(from);
  for (size_t i = 0; i < specs_.size(); ++i) {
    const std::filesystem::path files = folder_.path() / fmt::format("rows-{}", i);
    ASSERT_TRUE(ExportTensor(from.stores, specs_[i], files, context).ok());
    const auto imported = ImportTensors(to.stores, files, context);
    ASSERT_TRUE(imported.ok()) << ToString(imported.status());
    EXPECT_EQ(imported->not_finite_rows, 2);
  }
  EXPECT_EQ(Images(to, "to"), Images(from, "from")) << "adding has left the state as it was, too";
}

// Whatever an import is refused for.
TEST_F(MoveTest, ARefusedImportLeavesEveryTensorReadable) {
  Served from = ServeParts(two_, "of-two");
  specs_.resize(2);  // adam, adagrad
  CallContext context;
  TrainTooFar(from);
  const auto before = Images(from, "s");
  const std::filesystem::path whole = folder_.path() / "images-s";
  const std::filesystem::path files = folder_.path() / "files";
  const std::filesystem::path tensor = files / "tensor-0001";
  const auto unchanged = [&](const Stores& stores) {
    const auto listed = stores.admin->List(context);
    ASSERT_TRUE(listed.ok()) << ToString(listed.status());
    for (const MutableTensorState& state : *listed) EXPECT_FALSE(state.importing);
    std::vector<float> row(kDim);
    for (const MutableTensorSpec& spec : specs_) {
      const Status pulled = PullOne(*stores.rows, spec.ref, std::vector<int64_t>{5},
                                    std::as_writable_bytes(std::span(row)));
      EXPECT_TRUE(pulled.ok()) << ToString(pulled);
    }
  };
  const auto refused = [&](absl::StatusCode code, const std::vector<std::string>& texts,
                           const std::function<void()>& damage) {
    std::filesystem::remove_all(files);
    std::filesystem::copy(whole, files, std::filesystem::copy_options::recursive);
    damage();
    ExpectError(ImportTensors(from.stores, files, context).status(), code, texts);
    unchanged(from.stores);
  };
  refused(absl::StatusCode::kDataLoss, {"tensor-0001", "id 7,", "sum of squares 2", "-1"}, [&] {
    RemoveChecksums(files);
    std::vector<float> sums(kRows * kDim, 1);
    sums[7 * kDim + 2] = -1;
    std::filesystem::remove(tensor / "sum.npy");
    ASSERT_TRUE(WriteNpy<float>(tensor / "sum.npy", sums, kDim).ok());
  });
  std::vector<int64_t> ids(kRows);
  std::iota(ids.begin(), ids.end(), 0);
  const auto with_ids = [&] {
    RemoveChecksums(files);
    std::filesystem::remove(tensor / "ids.npy");
    ASSERT_TRUE(WriteNpy<int64_t>(tensor / "ids.npy", ids).ok());
  };
  ids[6] = 5;
  refused(absl::StatusCode::kDataLoss, {"ids.npy", "(id 6)", "id 5 stands twice"}, with_ids);
  ids[6] = kRows;
  refused(absl::StatusCode::kNotFound, {"ids.npy", "id 200 at position 6"}, with_ids);
  refused(absl::StatusCode::kDataLoss, {"tensor-0000", "tensor-0001", "both of"}, [&] {
    RemoveChecksums(files);
    std::filesystem::copy(files / "tensor-0000" / "tensor.json", tensor / "tensor.json",
                          std::filesystem::copy_options::overwrite_existing);
    for (const char* file : {"m.npy", "v.npy", "updates.npy"}) {
      std::filesystem::copy(files / "tensor-0000" / file, tensor / file);
    }
  });
  // The stores have another tensor of the second one's name.
  ASSERT_TRUE(from.stores.admin->Drop(specs_[1].ref, context).ok());
  MutableTensorSpec other = specs_[1];
  other.optimizer.learning_rate = 0.5;
  ASSERT_TRUE(Create(*from.stores.admin, other).ok());
  refused(absl::StatusCode::kInvalidArgument, {"tensor-0001", "learning_rate"}, [] {});
  EXPECT_FALSE(before.empty());
}

// Rows alone without ids that are missing, or that are there twice.
TEST_F(MoveTest, RowsWithoutStateMustBeAllToo) {
  Served served = ServeParts(two_, "of-two");
  CallContext context;
  for (const size_t i : {size_t{0}, size_t{3}}) {  // of nodes, and of no graph object
    const MutableTensorSpec& spec = specs_[i];
    ASSERT_TRUE(Create(*served.stores.admin, spec).ok());
    const std::filesystem::path files = folder_.path() / fmt::format("rows-{}", i);
    ASSERT_TRUE(ExportTensor(served.stores, spec, files, context).ok());
    std::filesystem::remove(files / "checksums.json");
    std::vector<int64_t> ids(kRows);
    std::iota(ids.begin(), ids.end(), 0);
    ids[0] = 199;
    std::filesystem::remove(files / "ids.npy");
    ASSERT_TRUE(WriteNpy<int64_t>(files / "ids.npy", ids).ok());
    ExpectError(ImportTensors(served.stores, files, context).status(), absl::StatusCode::kDataLoss,
                {"ids.npy", "(id 0)", "id 199 stands twice"});
    std::filesystem::remove(files / "ids.npy");
    std::filesystem::remove(files / "rows.npy");
    ids = {0, 199};
    ASSERT_TRUE(WriteNpy<int64_t>(files / "ids.npy", ids).ok());
    ASSERT_TRUE(WriteNpy<float>(files / "rows.npy", std::vector<float>(2 * kDim), kDim).ok());
    ExpectError(ImportTensors(served.stores, files, context).status(), absl::StatusCode::kDataLoss,
                {"ids.npy", "2 ids for 200 rows", "(id 1)"});
    EXPECT_FALSE(served.stores.admin->List(context)->front().importing);
  }
}

// It is asked before anything is marked; a mark that is refused takes the others away again.
TEST_F(MoveTest, AnImportThatServersRefuseLeavesTensorsReadable) {
  Served from = ServeParts(two_, "of-two");
  specs_.resize(2);
  CallContext context;
  TrainTooFar(from);
  const std::filesystem::path rows = folder_.path() / "rows";
  ASSERT_TRUE(ExportTensor(from.stores, specs_[0], rows, context).ok());
  static_cast<void>(Images(from, "s"));
  bool old = true;
  int marks_taken = 1;
  const FakeServer between([&](const FakeCall& call) {
    if (call.method == "KVService/CreateTensor" &&
        call.request.find("import-mark-") != std::string::npos && marks_taken-- == 0) {
      return FakeAnswer{.status = ResourceExhausted("no room"), .bytes = {}, .pushback_ms = {}};
    }
    FakeAnswer answer = Forward(from.servers[1]->address(), call);
    if (old && call.method == "GraphService/Describe") {
      v1::DescribeReply reply;
      EXPECT_TRUE(reply.ParseFromString(answer.bytes));
      auto* known = reply.mutable_capabilities();
      known->erase(std::find(known->begin(), known->end(), "push-bits"));
      answer.bytes = reply.SerializeAsString();
    }
    return answer;
  });
  const auto unmarked = [&] {
    const auto listed = from.stores.admin->List(context);
    ASSERT_TRUE(listed.ok()) << ToString(listed.status());
    for (const MutableTensorState& state : *listed) EXPECT_FALSE(state.importing);
  };
  {
    const Stores stores = Open(Options({from.servers[0]->address(), between.address()}));
    ExpectError(ImportTensors(stores, rows, context).status(),
                absl::StatusCode::kFailedPrecondition, {between.address(), "push-bits", "newer"});
    unmarked();
  }
  old = false;
  const Stores stores = Open(Options({from.servers[0]->address(), between.address()}));
  ExpectError(ImportTensors(stores, folder_.path() / "images-s", context).status(),
              absl::StatusCode::kResourceExhausted, {"no room"});
  EXPECT_LT(marks_taken, 0);
  unmarked();
  ASSERT_TRUE(ImportTensors(stores, rows, context).ok());
}

}  // namespace
}  // namespace halograph
