// Push, and pulls of what was pushed, without their wire.
#include <cstring>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>

#include "common/state/durable/system_env.h"
#include "common/state/import_mark.h"
#include "server/handlers/describe.h"
#include "server/handlers/pull.h"
#include "server/handlers/push.h"
#include "server/handlers/server_metrics.h"
#include "tests/unit/server/served_fixture.h"

namespace halograph::server {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// Parts 0 and 2 of the graph, with a tensor of dim 2 on papers.
class StateHandlerTest : public ServedTest {
 protected:
  void SetUp() override {
    served_ = Open({0, 2});
    auto states = PartStates::Open(
        {.folder = state_.path() / "state", .sync = SyncLevel::kNever, .segment_bytes = 4 << 20},
        served_->set(), served_->tensors(), *env_);
    ASSERT_TRUE(states.ok()) << states.status();
    states_ = std::move(states).value();
    ASSERT_TRUE(states_->Create({.ref = ref_, .dim = 2, .initializer = {}, .optimizer = {}}).ok());
  }
  // One row of ones for the first paper of a part; assigned.
  wire::PushRequest Ones(int part, uint64_t sequence = 1) const {
    wire::PushRequest request;
    request.header = {.type = ref_.type,
                      .name = ref_.name,
                      .part = static_cast<uint32_t>(part),
                      .kind = static_cast<uint32_t>(PushKind::kAssign),
                      .client = 9,
                      .sequence = sequence,
                      .dtype = static_cast<uint32_t>(DType::kFloat32)};
    request.ids = {FirstOf(part)};
    SetRows(&request, {1, 1});
    return request;
  }
  static void SetRows(wire::PushRequest* request, const std::vector<float>& rows) {
    request->rows = AlignedBytes(rows.size() * sizeof(float));
    std::memcpy(request->rows.data(), rows.data(), request->rows.size());
  }
  int64_t FirstOf(int part) const { return Owned(NodeType("paper"), part).front(); }
  Status Refused(const wire::PushRequest& request) const {
    wire::PushRequest copy{.header = request.header, .ids = request.ids, .rows = {}};
    copy.rows = AlignedBytes(request.rows.size());
    std::memcpy(copy.rows.data(), request.rows.data(), request.rows.size());
    return PushHandler(served_.get(), states_.get()).Push(std::move(copy), {}).status();
  }
  PullHandler Puller() const { return {served_.get(), kLimit, states_.get()}; }
  StatusOr<std::vector<float>> Pull(const PullRequest& request,
                                    const WorkLimits& limits = {}) const {
    HG_ASSIGN_OR_RETURN(const PullPlan plan, Puller().Plan(request));
    std::vector<float> rows(plan.bytes / sizeof(float));
    HG_RETURN_IF_ERROR(
        Puller().Gather(plan, request.ids, reinterpret_cast<std::byte*>(rows.data()), limits));
    return rows;
  }
  void ExpectInvalid(const wire::PushRequest& request, const std::string& text) const {
    const Status status = Refused(request);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(Message(status), HasSubstr(text));
  }

  const TensorRef ref_{false, "paper", "emb"};
  const TestFolder state_;
  const std::unique_ptr<Env> env_ = MakeSystemEnv();
  std::shared_ptr<ServedGraph> served_;
  std::unique_ptr<PartStates> states_;
};

TEST_F(StateHandlerTest, WhatIsPushedIsPulledFromItsPart) {
  const PushHandler handler(served_.get(), states_.get());
  const auto first = handler.Push(Ones(2), {});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->lsn, 1);
  EXPECT_TRUE(handler.Push(Ones(2), {})->repeated);
  EXPECT_EQ(handler.Push(Ones(0), {})->lsn, 1) << "parts count for themselves";
  const auto rows = Pull({.tensor = ref_, .ids = {FirstOf(2), FirstOf(2) + 1, FirstOf(0)}});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT(*rows, ElementsAre(1, 1, 0, 0, 1, 1));
}

TEST_F(StateHandlerTest, APullOfNoRowsWaitsForNothing) {
  const PullHandler puller = Puller();
  const auto one = puller.Plan({.tensor = ref_, .ids = {FirstOf(0)}, .min_lsn = 1000});
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_FALSE(puller.Ready(*one)) << "no such push has come";
  EXPECT_FALSE(puller.MayBecomeReady(*one)) << "and none will have this mark";
  const auto none = puller.Plan({.tensor = ref_, .ids = {}, .min_lsn = 1000});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_TRUE(puller.Ready(*none));
  EXPECT_FALSE(puller.MayWaitForDisk(*none));
  EXPECT_THAT(*Pull({.tensor = ref_, .ids = {}}), testing::IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(Pull({.tensor = {false, "paper", "none"}, .ids = {}}).status()));
}

TEST_F(StateHandlerTest, PushesThatCannotBeAreRefusedSayingWhy) {
  wire::PushRequest request = Ones(0);
  request.header.client = 0;
  ExpectInvalid(request, "client 0");
  request = Ones(0, 0);
  ExpectInvalid(request, "sequence 0");
  request = Ones(0);
  request.header.kind = 5;
  ExpectInvalid(request, "kind 5");
  request = Ones(0);
  request.header.dtype = static_cast<uint32_t>(DType::kInt8);
  ExpectInvalid(request, "rows of int8");
  request.header.dtype = 77;
  ExpectInvalid(request, "unknown dtype 77");
  request = Ones(0);
  SetRows(&request, {1});
  ExpectInvalid(request, "4 bytes of rows for 1 ids");
  request = Ones(0);
  request.ids.push_back(FirstOf(0));
  ExpectInvalid(request, "8 bytes of rows for 2 ids");
  for (const wire::PushStep& step : {wire::PushStep{.world_size = 0},
                                     {.rank = 2, .world_size = 2},
                                     {.rank = -1, .world_size = 2},
                                     {.step = -1, .world_size = 1},
                                     {.world_size = 1, .chunk = 1}}) {
    request = Ones(0);
    request.header.step = step;
    EXPECT_TRUE(absl::IsInvalidArgument(Refused(request)));
  }
  request = Ones(1);
  EXPECT_TRUE(absl::IsOutOfRange(Refused(request)));
  EXPECT_THAT(Message(Refused(request)), HasSubstr("this server serves parts 0, 2"));
  request.header.part = 4000000000;
  EXPECT_TRUE(absl::IsOutOfRange(Refused(request)));
  request = Ones(0);
  request.ids = {FirstOf(1)};
  EXPECT_TRUE(absl::IsOutOfRange(Refused(request)));
  request = Ones(0);
  request.header.name = "none";
  EXPECT_TRUE(absl::IsNotFound(Refused(request)));
  EXPECT_THAT(Message(Refused(request)), HasSubstr("node paper / emb"));
  EXPECT_EQ(states_->Stats().at(0).lsn, 0) << "nothing came into the log";
}

TEST_F(StateHandlerTest, WithoutAStateFolderPushesAreRefused) {
  const Status status = PushHandler(served_.get(), nullptr).Push(Ones(0), {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(Message(status), HasSubstr("--state DIR"));
  EXPECT_TRUE(absl::IsNotFound(
      PullHandler(served_.get(), kLimit).Plan({.tensor = ref_, .ids = {}}).status()));
}

TEST_F(StateHandlerTest, APullIsReadyWhenItsPushesAreApplied) {
  const PullRequest request{.tensor = ref_, .ids = {FirstOf(0)}, .min_lsn = 1};
  const auto plan = Puller().Plan(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_FALSE(Puller().Ready(*plan));
  const Status late = Pull(request, {.deadline = std::chrono::steady_clock::now()}).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  ASSERT_TRUE(Refused(Ones(0)).ok());
  EXPECT_TRUE(Puller().Ready(*plan));
  EXPECT_THAT(*Pull(request), ElementsAre(1, 1));
}

TEST_F(StateHandlerTest, APullOfATensorThatWasDroppedIsReadyToSaySo) {
  const PullRequest request{.tensor = ref_, .ids = {FirstOf(0)}, .min_lsn = 5};
  const auto plan = Puller().Plan(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_TRUE(states_->Drop(ref_).ok());
  EXPECT_TRUE(Puller().Ready(*plan));
  std::vector<std::byte> room(plan->bytes);
  EXPECT_TRUE(absl::IsNotFound(Puller().Gather(*plan, request.ids, room.data())));
}

// Its rows would not fit into the reply that was planned.
TEST_F(StateHandlerTest, APullOfATensorThatWasMadeAnewMeanwhileIsRefused) {
  const PullRequest request{.tensor = ref_, .ids = {FirstOf(0)}};
  const auto plan = Puller().Plan(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_TRUE(states_->Drop(ref_).ok());
  ASSERT_TRUE(states_->Create({.ref = ref_, .dim = 500, .initializer = {}, .optimizer = {}}).ok());
  std::vector<std::byte> room(plan->bytes + 4000, std::byte{7});
  const Status status = Puller().Gather(*plan, request.ids, room.data());
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("made anew"));
  EXPECT_EQ(room, std::vector<std::byte>(room.size(), std::byte{7}));
}

TEST_F(StateHandlerTest, NumbersToWaitForAreOfOnePartAndOfATensorThatChanges) {
  for (const PullRequest& request :
       {PullRequest{.tensor = ref_, .ids = {FirstOf(0), FirstOf(2)}, .min_lsn = 1},
        PullRequest{.tensor = ref_, .ids = {FirstOf(0)}, .min_lsn = -1},
        PullRequest{.tensor = {false, "paper", "feat"}, .ids = {FirstOf(0)}, .min_lsn = 1}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Puller().Plan(request).status()));
  }
}

TEST_F(StateHandlerTest, RowsOfAPartThatIsNotHereAreOutOfRange) {
  const Status status = Pull({.tensor = ref_, .ids = {FirstOf(0), FirstOf(1)}}).status();
  EXPECT_TRUE(absl::IsOutOfRange(status));
  EXPECT_THAT(Message(status), HasSubstr("owned by part 1"));
}

TEST_F(StateHandlerTest, ARestoreNeedsTheSnapshotInEveryPart) {
  ASSERT_TRUE(states_->Snapshot("both", std::nullopt, {}).ok());
  ASSERT_TRUE(states_->Find(2)->Snapshot("one", std::nullopt, {}).ok());
  ASSERT_TRUE(Refused(Ones(2)).ok());
  const Status status = states_->RestoreSnapshot("one");
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(Message(status), HasSubstr("part 0"));
  EXPECT_THAT(*Pull({.tensor = ref_, .ids = {FirstOf(2)}}), ElementsAre(1, 1));
  ASSERT_TRUE(states_->RestoreSnapshot("both").ok());
  EXPECT_THAT(*Pull({.tensor = ref_, .ids = {FirstOf(2)}}), ElementsAre(0, 0));
  // A snapshot that one part refuses is in none.
  EXPECT_TRUE(absl::IsAlreadyExists(states_->Snapshot("one", std::nullopt, {}).status()));
  EXPECT_EQ(states_->Snapshots().at(0).size(), 1U);
}

// A tensor with an import mark is not whole.
TEST_F(StateHandlerTest, WhileATensorIsImportedItIsNeitherPulledNorTrainedNorKept) {
  ASSERT_TRUE(Refused(Ones(0)).ok());
  ASSERT_TRUE(states_->Create(ImportMarkSpec(ref_, 3)).ok());
  const Status pulled = Pull({.tensor = ref_, .ids = {FirstOf(0)}}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(pulled)) << pulled;
  EXPECT_THAT(Message(pulled), HasSubstr("node paper / emb is being imported"));
  wire::PushRequest added = Ones(0, 2);
  added.header.kind = static_cast<uint32_t>(PushKind::kAdd);
  EXPECT_TRUE(absl::IsFailedPrecondition(Refused(added)));
  EXPECT_TRUE(absl::IsFailedPrecondition(states_->Snapshot("s", std::nullopt, {}).status()));
  EXPECT_TRUE(Refused(Ones(0, 2)).ok()) << "assigned, as an import does";
  // The tensor goes with its mark, also if only the mark is left.
  ASSERT_TRUE(states_->Drop(ref_).ok());
  ASSERT_TRUE(states_->Create(ImportMarkSpec(ref_, 3)).ok());
  EXPECT_TRUE(states_->Drop(ref_).ok());
  EXPECT_TRUE(absl::IsNotFound(states_->Drop(ref_)));
  ASSERT_TRUE(states_->Create({.ref = ref_, .dim = 2, .initializer = {}, .optimizer = {}}).ok());
  EXPECT_TRUE(Pull({.tensor = ref_, .ids = {FirstOf(0)}}).ok());
}

TEST_F(StateHandlerTest, ImagesAreOfTheTensorsSize) {
  wire::PushRequest request = Ones(0);
  request.header.kind = static_cast<uint32_t>(PushKind::kImage);
  EXPECT_TRUE(Refused(request).ok()) << "of a tensor without optimizer";
  const TensorRef trained{false, "paper", "trained"};
  ASSERT_TRUE(states_
                  ->Create({.ref = trained,
                            .dim = 2,
                            .initializer = {},
                            .optimizer = {.kind = RowOptimizer::Kind::kAdam}})
                  .ok());
  request = Ones(0, 2);
  request.header.kind = static_cast<uint32_t>(PushKind::kImage);
  request.header.name = trained.name;
  ExpectInvalid(request, "an image of a row of 2 float32 has 28 bytes");
  SetRows(&request, {1, 2, 0, 0, 0, 0, 0});
  EXPECT_TRUE(Refused(request).ok());
  request.header.sequence = 3;
  SetRows(&request, {1, NAN, 0, -INFINITY, NAN, INFINITY, 0});
  EXPECT_TRUE(Refused(request).ok());
  SetRows(&request, {1, 2, 0, 0, 0, -1, 0});
  request.header.sequence = 4;
  ExpectInvalid(request, "-1 for the sum of squares 1");
  // Rows without their state.
  SetRows(&request, {-INFINITY, 2});
  request.header.kind = static_cast<uint32_t>(PushKind::kBits);
  EXPECT_TRUE(Refused(request).ok());
  request.header.sequence = 5;
  request.header.kind = static_cast<uint32_t>(PushKind::kBits) + 1;
  ExpectInvalid(request, "kind 5 is unknown");
}

TEST_F(StateHandlerTest, DescriptionAndSnapshotTellOfTheState) {
  EXPECT_THAT(Describe(*served_, kLimit, states_.get()).serving, testing::Contains("state"));
  EXPECT_THAT(Describe(*served_, kLimit).serving, testing::Not(testing::Contains("state")));
  MetricRegistry metrics;
  const CallMetrics calls(&metrics);
  const ServerStats stats(&calls);
  Dispatcher dispatcher({});
  const ServerSnapshot snapshot = TakeSnapshot(*served_, stats, dispatcher, 0, states_.get());
  EXPECT_EQ(snapshot.state.size(), 2U);
  EXPECT_EQ(snapshot.state.at(2).tensors[0].spec.ref, ref_);
}

TEST_F(StateHandlerTest, MetricsTellOfTensorsAndOfTheDisk) {
  MetricRegistry metrics;
  const fs::path folder = state_.path() / "state";
  const auto readers = AddGraphMetrics(
      &metrics, served_, {.states = states_.get(), .folder = folder, .log_limit_bytes = 77});
  ASSERT_TRUE(metrics.status().ok()) << metrics.status();
  const auto of_part = [&metrics](const char* name, const Labels& more = {}) -> double {
    Labels labels = {{"part", "2"}};
    labels.insert(labels.end(), more.begin(), more.end());
    const MetricsSnapshot taken = metrics.Take();
    const SeriesSnapshot* const series = taken.FindSeries(name, labels);
    return series == nullptr ? -1 : series->value;
  };
  EXPECT_EQ(of_part("halograph_state_pushes_total"), 0);
  PushHandler handler(served_.get(), states_.get());
  ASSERT_TRUE(handler.Push(Ones(2), {}).ok());
  EXPECT_EQ(of_part("halograph_state_pushes_total"), 1) << "gathered again for each scrape";
  EXPECT_EQ(of_part("halograph_state_log_limit_bytes"), 77);
  const std::string tensor = ref_.type + "/" + ref_.name;
  EXPECT_EQ(of_part("halograph_state_staleness_pushes", {{"tensor", tensor}}), 0);
  while (of_part("halograph_state_disk_size_bytes") < 0) std::this_thread::yield();  // of a thread
  EXPECT_EQ(of_part("halograph_state_disk_size_bytes"),
            static_cast<double>(fs::space(folder).capacity));
  EXPECT_GT(of_part("halograph_state_disk_free_bytes"), 0);
}

}  // namespace
}  // namespace halograph::server
