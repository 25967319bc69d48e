#include "trainer/checkpoint/snapshots/run_snapshots.h"

#include <chrono>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/local/local_state.h"
#include "tests/support/learnable_graph.h"
#include "tests/support/one_call.h"
#include "tests/support/plain_env.h"
#include "tests/support/test_folder.h"
#include "trainer/checkpoint/files/checkpoint_folder.h"
#include "trainer/checkpoint/snapshots/snapshot_behind.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

const TensorRef kOwn{false, "node", "embedding"};
const TensorRef kOther{false, "node", "other"};

class RunSnapshotsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto graph = WriteTestGraph(LearnableGraph(60, 2), folder_.path() / "graph");
    ASSERT_TRUE(graph.ok()) << graph.status();
    auto mapped = MapGraph(*graph, {});
    ASSERT_TRUE(mapped.ok()) << mapped.status();
    auto state = OpenLocalState(*mapped, std::make_unique<PlainEnv>(),
                                {.folder = folder_.path() / "state", .segment_bytes = 4 << 20});
    ASSERT_TRUE(state.ok()) << state.status();
    rows_ = MakeLocalRowStore(*state);
    admin_ = MakeLocalTensorAdmin(*state);
    fs::create_directories(dir());
    Create(kOwn);
  }
  [[nodiscard]] fs::path dir() const { return folder_.path() / "checkpoints"; }
  void Create(const TensorRef& ref, const RowOptimizer& optimizer = {}) {
    CallContext context;
    const Status created =
        admin_->Create({.ref = ref, .dim = 1, .initializer = {}, .optimizer = optimizer}, context);
    ASSERT_TRUE(created.ok()) << created;
  }
  void Set(float value) {
    CallContext context;
    const std::vector<int64_t> ids = {0, 59};
    const std::vector<float> rows = {value, value};
    const auto pushed = PushOne(*rows_,
                                {.tensor = kOwn,
                                 .kind = PushKind::kAssign,
                                 .ids = ids,
                                 .rows = std::as_bytes(std::span(rows))},
                                context);
    ASSERT_TRUE(pushed.ok()) << pushed.status();
  }
  [[nodiscard]] std::vector<float> Rows() {
    CallContext context;
    const std::vector<int64_t> ids = {0, 59};
    std::vector<float> rows(2, -1);
    EXPECT_TRUE(
        rows_
            ->Pull({.tensor = kOwn, .ids = ids, .out = std::as_writable_bytes(std::span(rows))},
                   context)
            .ok());
    return rows;
  }
  [[nodiscard]] StatusOr<std::unique_ptr<RunSnapshots>> TryOpen() {
    return RunSnapshots::Open(admin_.get(), {kOwn}, dir());
  }
  [[nodiscard]] std::unique_ptr<RunSnapshots> Open() {
    auto opened = TryOpen();
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  [[nodiscard]] std::string Take(const RunSnapshots& snapshots, int64_t steps) {
    CallContext context;
    std::string name = snapshots.NewName(steps);
    const Status taken = snapshots.Take(name, std::nullopt, context);
    EXPECT_TRUE(taken.ok()) << taken;
    return name;
  }
  // A checkpoint that names the snapshot; "": none.
  void WriteCheckpoint(int64_t steps, const std::string& snapshot) {
    auto folder = CheckpointFolder::Open(dir(), 9);
    ASSERT_TRUE(folder.ok()) << folder.status();
    CheckpointImage image;
    image.manifest.place = {.epoch = 0, .step = 0, .steps_done = steps, .steps_per_epoch = 1};
    if (!snapshot.empty()) image.manifest.snapshot = {.name = snapshot, .next_step = steps};
    const auto written = folder->Write(image);
    ASSERT_TRUE(written.ok()) << written.status();
  }
  // In all parts.
  [[nodiscard]] std::set<std::string> Kept() {
    CallContext context;
    std::set<std::string> names;
    const auto kept = admin_->ListSnapshots(context);
    EXPECT_TRUE(kept.ok()) << kept.status();
    for (const auto& [part, snapshots] : *kept) {
      for (const SnapshotInfo& info : snapshots) names.insert(info.name);
    }
    return names;
  }

  TestFolder folder_;
  std::unique_ptr<RowStore> rows_;
  std::unique_ptr<TensorAdmin> admin_;
};

TEST_F(RunSnapshotsTest, TensorsGoBackToWhatTheyWere) {
  const auto snapshots = Open();
  Set(1);
  const std::string first = Take(*snapshots, 7);
  EXPECT_THAT(first, StartsWith("checkpoints-"));
  EXPECT_THAT(first, HasSubstr("-step-000000007-"));
  Set(2);
  EXPECT_NE(Take(*snapshots, 7), first) << "the same step, taken again";
  CallContext context;
  const Status back = snapshots->GoBackTo(first, context);
  ASSERT_TRUE(back.ok()) << back;
  EXPECT_THAT(Rows(), ElementsAre(1, 1));
  const Status none = snapshots->GoBackTo(first + "x", context);
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Rows(), ElementsAre(1, 1));
}

TEST_F(RunSnapshotsTest, WhatNoCheckpointNamesIsDeleted) {
  CallContext context;
  ASSERT_TRUE(admin_->Snapshot("mine", std::nullopt, context).ok());
  std::string named;
  {
    const auto snapshots = Open();
    snapshots->DeleteUnused();
    EXPECT_THAT(Kept(), ElementsAre("mine"));
    named = Take(*snapshots, 1);
    static_cast<void>(Take(*snapshots, 2));  // killed before its checkpoint
    WriteCheckpoint(1, named);
  }
  const auto snapshots = Open();  // of the run that goes on
  snapshots->DeleteUnused();
  EXPECT_THAT(Kept(), ElementsAre(named, "mine"));
  WriteCheckpoint(2, "");
  fs::remove_all(dir() / CheckpointName(1));
  snapshots->DeleteUnused();
  EXPECT_THAT(Kept(), ElementsAre("mine"));
}

TEST_F(RunSnapshotsTest, ADamagedCheckpointNamesNone) {
  const auto snapshots = Open();
  WriteCheckpoint(1, Take(*snapshots, 1));
  const std::string whole = Take(*snapshots, 2);
  WriteCheckpoint(2, whole);
  std::ofstream(dir() / CheckpointName(1) / kManifestFile) << "{}";
  snapshots->DeleteUnused();
  EXPECT_THAT(Kept(), ElementsAre(whole));
}

TEST_F(RunSnapshotsTest, AnotherFolderLeavesThemAlone) {
  const std::string name = Take(*Open(), 1);
  fs::remove_all(dir());
  fs::create_directories(dir());
  Open()->DeleteUnused();
  EXPECT_THAT(Kept(), ElementsAre(name));
}

TEST_F(RunSnapshotsTest, ADamagedFileIsMadeAgain) {
  const std::string name = Take(*Open(), 1);
  std::ofstream(dir() / "snapshots.json") << "{";
  const auto snapshots = Open();
  snapshots->DeleteUnused();
  EXPECT_THAT(Kept(), SizeIs(1)) << "under a name that is not known any more";
  static_cast<void>(Take(*snapshots, 2));
  snapshots->DeleteUnused();
  EXPECT_THAT(Kept(), ElementsAre(name));
}

TEST_F(RunSnapshotsTest, TensorsOfOthersAreNotSetBack) {
  const auto snapshots = Open();
  Set(1);
  const std::string name = Take(*snapshots, 1);
  Set(2);
  Create(kOther);
  CallContext context;
  for (const Status& status : {snapshots->GoBackTo(name, context), TryOpen().status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(status), HasSubstr("node node / other"));
  }
  EXPECT_THAT(Rows(), ElementsAre(2, 2));
  ASSERT_TRUE(admin_->Drop(kOther, context).ok());
  EXPECT_TRUE(snapshots->GoBackTo(name, context).ok());
  EXPECT_THAT(Rows(), ElementsAre(1, 1));
}

class SnapshotBehindTest : public RunSnapshotsTest {
 protected:
  void SetUp() override {
    RunSnapshotsTest::SetUp();
    CallContext context;
    ASSERT_TRUE(admin_->Drop(kOwn, context).ok());
    Create(kOwn, {.kind = RowOptimizer::Kind::kSgd, .learning_rate = 1});
  }
  void Step(int64_t step) {
    CallContext context;
    const std::vector<int64_t> ids = {0, 59};
    const std::vector<float> rows = {1, 1};
    const auto pushed = PushOne(*rows_,
                                {.tensor = kOwn,
                                 .step = SyncStep{.step = step, .world_size = 1, .run = 1},
                                 .ids = ids,
                                 .rows = std::as_bytes(std::span(rows))},
                                context);
    ASSERT_TRUE(pushed.ok()) << pushed.status();
  }
};

TEST_F(SnapshotBehindTest, KeepsTheMomentAfterTheStepThatItWasAskedForBefore) {
  const auto snapshots = Open();
  Step(0);
  const std::vector<float> before = Rows();
  SnapshotBehind behind(snapshots.get());
  EXPECT_FALSE(behind.Asked(2));
  behind.Ask(2, 1);
  EXPECT_TRUE(behind.Asked(2));
  EXPECT_FALSE(behind.Asked(1)) << "of other steps";
  const AskedSnapshot asked = behind.asked();
  EXPECT_THAT(asked.name, HasSubstr("-step-000000002-"));
  EXPECT_EQ(asked.kept.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  Step(1);
  const std::vector<float> then = Rows();
  EXPECT_NE(then, before);
  ASSERT_TRUE(asked.kept.get().ok()) << asked.kept.get();
  Step(2);
  CallContext context;
  ASSERT_TRUE(snapshots->GoBackTo(asked.name, context).ok());
  EXPECT_EQ(Rows(), then);
  EXPECT_FALSE(behind.CameTooLate(2));
}

TEST_F(SnapshotBehindTest, TooLateIsTold) {
  const auto snapshots = Open();
  Step(0);
  Step(1);
  SnapshotBehind behind(snapshots.get());
  behind.Ask(1, 0);
  EXPECT_EQ(behind.asked().kept.get().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(behind.CameTooLate(1));
  EXPECT_FALSE(behind.CameTooLate(2));
  EXPECT_THAT(Kept(), SizeIs(0));
}

TEST_F(SnapshotBehindTest, AStepThatNeverComesIsGivenUp) {
  const auto snapshots = Open();
  Step(0);
  SnapshotBehind behind(snapshots.get());
  behind.Ask(2, 1);
  behind.GiveUp();  // long before the store's own timeout
  EXPECT_FALSE(behind.Asked(2));
  EXPECT_THAT(Kept(), SizeIs(0));
  static_cast<void>(Take(*snapshots, 1));
  behind.Ask(2, 1);  // the destructor gives it up
}

}  // namespace
}  // namespace halograph
