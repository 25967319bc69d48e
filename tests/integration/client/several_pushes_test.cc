// Pushes to several tensors in one call, embedded and served.
#include <future>
#include <thread>

#include "client/local/local_state.h"
#include "client/remote/state_call.h"
#include "tests/integration/client/remote_fixture.h"
#include "tests/support/failing_files.h"
#include "tests/support/plain_env.h"

namespace halograph {
namespace {

class SeveralPushesTest : public RemoteStoreTest {
 protected:
  SeveralPushesTest() {
    switches_.sync_of = [this](const std::filesystem::path& path) {
      if (path.parent_path().filename() == "log") disk_.Pass();
      return OkStatus();
    };
    for (int64_t id = 0; id < 200; ++id) ids_.push_back(id);
  }
  ~SeveralPushesTest() override {
    disk_.Open();
    servers_.clear();  // before the gate
    stores_ = {};
    state_.reset();
  }

  std::unique_ptr<Env> SlowEnv() {
    return std::make_unique<PlainEnv>(std::make_unique<FailingFiles>(&switches_));
  }

  static constexpr int kTensors = 8;

  // One server a part.
  void ServeParts(RemoteOptions remote = {}) {
    server::ServerOptions options;
    options.graph = graph_;
    options.listen = "127.0.0.1:0";
    options.state.folder = folder_.path() / "state";
    options.state.segment_bytes = 4 << 20;
    options.state.sync = SyncLevel::kAlways;
    for (const int part : {0, 1}) {
      options.parts = {part};
      auto started = server::Server::Start(options, SlowEnv());
      ASSERT_TRUE(started.ok()) << ToString(started.status());
      servers_.push_back(*std::move(started));
      remote.servers.push_back(servers_.back()->address());
    }
    auto cluster = Cluster::Connect(remote);
    ASSERT_TRUE(cluster.ok()) << ToString(cluster.status());
    cluster_ = *cluster;
    stores_ = Open(remote);
    CreateTensors();
  }
  void OpenHere() {
    auto mapped = MapGraph(graph_, {});
    ASSERT_TRUE(mapped.ok()) << ToString(mapped.status());
    auto state = OpenLocalState(
        *mapped, SlowEnv(),
        {.folder = folder_.path() / "state", .sync = SyncLevel::kAlways, .segment_bytes = 4 << 20});
    ASSERT_TRUE(state.ok()) << ToString(state.status());
    state_ = *state;
    stores_ = MakeLocalStores(state_);
    CreateTensors();
  }
  void CreateTensors() {
    for (int t = 0; t < kTensors; ++t) {
      CallContext context;
      const Status created = stores_.admin->Create(
          {.ref = Ref(t),
           .dim = dim_,
           .initializer = {.kind = Initializer::Kind::kZeros},
           .optimizer = {.kind = RowOptimizer::Kind::kSgd, .learning_rate = 1}},
          context);
      ASSERT_TRUE(created.ok()) << ToString(created);
    }
  }
  static TensorRef Ref(int tensor) { return {false, "node", fmt::format("t{}", tensor)}; }

  // Gradients of one for all rows of some tensors.
  StatusOr<std::vector<PushMark>> PushStep(const std::vector<int>& tensors, int64_t step,
                                           CallContext& context) {
    std::vector<RowPush> pushes;
    const std::vector<float> rows(ids_.size() * static_cast<size_t>(dim_), 1);
    for (const int tensor : tensors) {
      pushes.push_back({.tensor = Ref(tensor),
                        .step = SyncStep{.step = step, .run = 1},
                        .ids = ids_,
                        .rows = std::as_bytes(std::span(rows))});
    }
    return stores_.rows->Push(pushes, context);
  }
  void ExpectRows(int tensor, const PushMark& after, float value) {
    std::vector<float> rows(ids_.size() * static_cast<size_t>(dim_));
    CallContext context;
    const Status status = stores_.rows->Pull({.tensor = Ref(tensor),
                                              .ids = ids_,
                                              .out = std::as_writable_bytes(std::span(rows)),
                                              .after = after},
                                             context);
    ASSERT_TRUE(status.ok()) << ToString(status);
    EXPECT_THAT(rows, testing::Each(value)) << tensor;
  }
  // By owner.
  std::map<int, StateStats> States() {
    if (cluster_ == nullptr) return state_->states->Stats();
    CallContext context;
    return *ReadStates(cluster_.get(), context);
  }
  // Waits until every owner has as many more pushes in its log.
  void AwaitLogged(const std::map<int, StateStats>& before, int64_t pushes) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    for (const auto& [part, state] : before) {
      while (States().at(part).lsn < state.lsn + pushes) {
        ASSERT_LT(std::chrono::steady_clock::now(), until) << "part " << part;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }

  // A step that one of eight tensors has had does not keep it from the others.
  void ExpectOthersWhole() {
    CallContext context;
    ASSERT_TRUE(PushStep({3}, 5, context).ok());
    const Status refused = PushStep(AllTensors(), 5, context).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << ToString(refused);
    EXPECT_THAT(Message(refused), testing::HasSubstr("push to " + Ref(3).ToString()));
    const auto marks = PushStep(AllTensors(), 6, context);
    ASSERT_TRUE(marks.ok()) << ToString(marks.status());
    ASSERT_EQ(marks->size(), kTensors);
    for (const int t : AllTensors()) ExpectRows(t, (*marks)[static_cast<size_t>(t)], -2);
  }
  static std::vector<int> AllTensors() { return {0, 1, 2, 3, 4, 5, 6, 7}; }

  const std::filesystem::path graph_ = WriteGraph();
  std::vector<int64_t> ids_;
  int64_t dim_ = 2;
  FailingFiles::Switches switches_;
  Gate disk_;
  std::vector<std::unique_ptr<server::Server>> servers_;
  std::shared_ptr<LocalState> state_;
  std::shared_ptr<Cluster> cluster_;
  Stores stores_;
};

// With a disk so slow that a step's pushes are all there before the first is durable.
TEST_F(SeveralPushesTest, AStepOfEightTensorsIsOneExchangeAndTwoSyncsAnOwner) {
  RemoteOptions remote = Options({});
  remote.calls_in_flight = 1;
  ASSERT_NO_FATAL_FAILURE(ServeParts(remote));
  CallContext first;  // which registers with the owners
  ASSERT_TRUE(PushStep(AllTensors(), 0, first).ok());
  for (int64_t step = 1; step < 4; ++step) {
    const auto before = States();
    disk_.Close();
    CallContext context;
    auto push =
        std::async(std::launch::async, [&] { return PushStep(AllTensors(), step, context); });
    AwaitLogged(before, kTensors);
    disk_.Open();
    const auto marks = push.get();
    ASSERT_TRUE(marks.ok()) << ToString(marks.status());
    EXPECT_EQ(context.stats.rounds, kRoundsOfAnExchange);
    for (const auto& [part, state] : States()) {
      EXPECT_LE(state.syncs - before.at(part).syncs, 2) << "part " << part;
    }
    for (const int t : AllTensors()) {
      ExpectRows(t, (*marks)[static_cast<size_t>(t)], static_cast<float>(-step - 1));
    }
  }
}

TEST_F(SeveralPushesTest, AStepOfEightTensorsTakesTwoSyncsAnOwnerHere) {
  ASSERT_NO_FATAL_FAILURE(OpenHere());
  for (int64_t step = 0; step < 3; ++step) {
    const auto before = States();
    CallContext context;
    const auto marks = PushStep(AllTensors(), step, context);
    ASSERT_TRUE(marks.ok()) << ToString(marks.status());
    for (const auto& [part, state] : States()) {
      EXPECT_LE(state.syncs - before.at(part).syncs, 2) << "part " << part;
    }
    for (const int t : AllTensors()) {
      ExpectRows(t, (*marks)[static_cast<size_t>(t)], static_cast<float>(-step - 1));
    }
  }
}

// Of each tensor an owner gets 100 KB in messages of 16 KB.
// Three tensors whose rows for one part are more than a store takes in one push.
TEST_F(SeveralPushesTest, MoreThanAStoreTakesAtOnceComesInSeveralGroupsHere) {
  dim_ = 64;
  ASSERT_NO_FATAL_FAILURE(OpenHere());
  const std::vector<int64_t> once = ids_;
  constexpr int kTimes = 1000;
  for (int i = 1; i < kTimes; ++i) ids_.insert(ids_.end(), once.begin(), once.end());
  const auto part_bytes = static_cast<int64_t>(ids_.size() / 2 * (64 * sizeof(float) + 8));
  ASSERT_LT(2 * part_bytes, StateOptions{}.max_push_bytes);
  ASSERT_GT(3 * part_bytes, StateOptions{}.max_push_bytes);
  CallContext context;
  const auto marks = PushStep({0, 1, 2}, 0, context);
  ASSERT_TRUE(marks.ok()) << ToString(marks.status());
  ids_ = once;
  for (int tensor = 0; tensor < 3; ++tensor) {
    ExpectRows(tensor, (*marks)[static_cast<size_t>(tensor)], -kTimes);
  }
}

TEST_F(SeveralPushesTest, AfterAnErrorOfOneTheOthersAreWhole) {
  dim_ = 256;
  RemoteOptions remote = Options({});
  remote.max_message_bytes = 16 << 10;
  ASSERT_NO_FATAL_FAILURE(ServeParts(remote));
  ExpectOthersWhole();
}

TEST_F(SeveralPushesTest, AfterAnErrorOfOneTheOthersAreWholeHere) {
  ASSERT_NO_FATAL_FAILURE(OpenHere());
  ExpectOthersWhole();
}

}  // namespace
}  // namespace halograph
