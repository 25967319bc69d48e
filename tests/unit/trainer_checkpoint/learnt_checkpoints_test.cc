#include <condition_variable>
#include <csignal>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/support/run_stores.h"
#include "tests/unit/trainer_checkpoint/checkpoints_fixture.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Learnt inputs go back with the weights, and the steps of their pushes; what is of no checkpoint
// any more is not in the state folder either.
class LearntCheckpointsTest : public CheckpointsTest {
 protected:
  void SetUp() override {
    CheckpointsTest::SetUp();
    options_.embeddings.types = {"node:8"};
    options_.state.folder = (folder_.path() / "state").string();
  }
  void ForgetAll() const {
    ForgetCheckpoints();
    fs::remove_all(options_.state.folder);
  }
  [[nodiscard]] std::vector<CheckpointManifest> Manifests() const {
    std::vector<CheckpointManifest> manifests;
    const auto there = ListCheckpoints(options_.checkpoint.folder).value();
    for (const auto& [steps, folder] : there) {
      manifests.push_back(ReadCheckpointManifest(folder).value());
    }
    return manifests;
  }
  [[nodiscard]] std::vector<std::string> NamedByCheckpoints() const {
    std::set<std::string> names;
    for (const CheckpointManifest& manifest : Manifests()) {
      names.insert(manifest.snapshot.value().name);
      if (manifest.best_snapshot.has_value()) names.insert(manifest.best_snapshot->name);
    }
    return {names.begin(), names.end()};
  }
  [[nodiscard]] std::vector<std::string> Snapshots() const {
    const auto stores = OpenRunStores(options_);
    EXPECT_TRUE(stores.ok()) << stores.status();
    CallContext context;
    const auto kept = stores->admin->ListSnapshots(context);
    EXPECT_TRUE(kept.ok()) << kept.status();
    std::vector<std::string> names;
    for (const SnapshotInfo& info : kept->at(0)) names.push_back(info.name);
    return names;
  }
};

TEST_F(LearntCheckpointsTest, ARunThatIsKilledAndGoesOnLearnsTheSameRows) {
  std::vector<Seen> whole(1);
  Run(options_, kNever, &whole);
  ASSERT_TRUE(whole[0].status.ok()) << whole[0].status;
  for (const auto& [every, kills] : std::vector<std::pair<int64_t, std::vector<int64_t>>>{
           {1, {1, 3, 1, 2, 2}}, {4, {2, 7, 1}}, {kNever, {6}}}) {
    ForgetAll();
    TrainOptions options = options_;
    options.checkpoint.every.steps = every;
    std::vector<Seen> seen(1);
    for (const int64_t steps : kills) Run(options, steps, &seen);
    EXPECT_FALSE(seen[0].status.ok());
    Run(options, kNever, &seen);
    ExpectSame(whole, seen,
               fmt::format("every {} steps, killed after {}", every, fmt::join(kills, ", ")));
    EXPECT_EQ(Snapshots(), NamedByCheckpoints());
  }
}

// The signal comes before the pushes of the fifth step, which then are made all the same, or before
// its rows are pulled, which they then are not.
TEST_F(LearntCheckpointsTest, ASignalLeavesACheckpointAtItsStep) {
  options_.checkpoint.every = {.steps = 0, .time = std::chrono::hours(1)};
  std::vector<Seen> whole(1);
  Run(options_, kNever, &whole);
  for (const auto& [hook, steps_done] :
       {std::pair{&Hooks::before_push, 5}, {&Hooks::before_training_pull, 4}}) {
    ForgetAll();
    int calls = 0;
    hooks_.*hook = [&] {
      if (++calls != 5) return;
      running_->cancel.Cancel();
      ASSERT_EQ(kill(getpid(), SIGTERM), 0);
      EXPECT_EQ(stop_->Wait(), SIGTERM);
    };
    std::vector<Seen> seen(1);
    Run(options_, kNever, &seen);
    hooks_ = {};
    ASSERT_TRUE(seen[0].status.ok()) << seen[0].status;
    EXPECT_EQ(Manifests().back().place.steps_done, steps_done);
    InstallStop();
    Run(options_, kNever, &seen);
    ExpectSame(whole, seen, fmt::format("stopped after {} steps", steps_done));
  }
}

TEST_F(LearntCheckpointsTest, TheEndHasTheRowsOfTheBestEvaluation) {
  options_.embeddings.learning_rate = 0.5;
  options_.control.eval_every_steps = 1;
  std::vector<Seen> whole;
  do {  // with one whose last evaluation is the best nothing would be shown
    ASSERT_LT(++options_.seed, 30U);
    ForgetAll();
    whole.assign(1, {});
    Run(options_, kNever, &whole);
    ASSERT_TRUE(whole[0].status.ok()) << whole[0].status;
  } while (whole[0].result.best->step > 10);
  EXPECT_TRUE(torch::equal(whole[0].left, whole[0].weights.at(whole[0].result.best->step)));

  // Also where the best was before the checkpoint that a killed run goes on from.
  ForgetAll();
  std::vector<Seen> seen(1);
  Run(options_, whole[0].result.best->step + 3, &seen);
  Run(options_, kNever, &seen);
  ExpectSame(whole, seen, "killed after the best");
  EXPECT_TRUE(torch::equal(seen[0].left, whole[0].left));
  Run(options_, kNever, &seen);
  EXPECT_TRUE(torch::equal(seen[0].left, whole[0].left)) << "of a finished run that goes on";
}

TEST_F(LearntCheckpointsTest, ACheckpointWhoseSnapshotIsGoneIsPassedOver) {
  std::vector<Seen> whole(1), seen(1);
  Run(options_, kNever, &whole);
  ForgetAll();
  TrainOptions first = options_;
  first.control.max_steps = 7;
  Run(first, kNever, &seen);  // leaves one of its end, and one of its beginning
  const auto drop = [&](const std::string& name) {
    const auto stores = OpenRunStores(options_);
    CallContext context;
    ASSERT_TRUE(stores->admin->DeleteSnapshot(name, context).ok());
  };
  drop(Manifests().back().snapshot->name);
  Run(options_, kNever, &seen);
  ExpectSame(whole, seen, "from the checkpoint before");

  for (const std::string& name : Snapshots()) drop(name);
  auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  const auto none = Checkpoints::Open(*session, [](const Json&) { return OkStatus(); });
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(none.status()), HasSubstr("learnt inputs are in snapshot checkpoints-"));
  EXPECT_THAT(Message(none.status()), HasSubstr("--state folder of the run"));
}

TEST_F(LearntCheckpointsTest, ASnapshotThatIsRefusedEndsNoTraining) {
  hooks_.before_snapshot = [](auto...) { return ResourceExhausted("no room"); };
  options_.checkpoint.every.steps = 6;
  RunLogged run;
  RunAlone(&run);
  ASSERT_TRUE(run.status.ok()) << run.status;
  EXPECT_EQ(run.steps, 15);
  std::vector<int64_t> at;
  for (const Json& line : run.lines) {
    const Json& error = line["checkpoint_error"];
    at.push_back(error["steps_done"].get<int64_t>());
    EXPECT_THAT(error["error"].get<std::string>(), HasSubstr("snapshot of learnt inputs"));
    EXPECT_THAT(error["error"].get<std::string>(), HasSubstr("no room"));
  }
  ASSERT_GE(at.size(), 3U);
  EXPECT_EQ(at.front(), 0) << "before the first step";
  EXPECT_GE(at[1], 6);
  EXPECT_EQ(at.back(), 15) << "at the end";
  EXPECT_TRUE(ListCheckpoints(options_.checkpoint.folder)->empty());
}

// The first one that is due: nothing else is being written then.
TEST_F(LearntCheckpointsTest, ASnapshotIsAskedForByTheStepOfItsMoment) {
  options_.checkpoint.every.steps = 4;
  options_.checkpoint.keep = 9;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int64_t> kept;
  int64_t pushes = 0;
  hooks_.after_snapshot = [&](std::optional<int64_t> step) {
    const std::lock_guard lock(mutex);
    if (step.has_value()) kept.push_back(*step);
    changed.notify_all();
  };
  // Steps are so short here that the next one might be over before the store hears of it.
  hooks_.before_push = [&] {
    std::unique_lock lock(mutex);
    if (++pushes != 5) return;
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::minutes(2), [&] { return !kept.empty(); }));
  };
  RunLogged run;
  RunAlone(&run);
  ASSERT_TRUE(run.status.ok()) << run.status;
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(kept.front(), 3);
  std::vector<int64_t> next;
  for (const CheckpointManifest& manifest : Manifests()) {
    EXPECT_EQ(manifest.snapshot->next_step, manifest.place.steps_done);
    next.push_back(manifest.snapshot->next_step);
  }
  ASSERT_GE(next.size(), 3U);
  EXPECT_EQ(next.front(), 0);
  EXPECT_EQ(next[1], 4);
  EXPECT_EQ(next.back(), 15);
}

TEST_F(LearntCheckpointsTest, AfterOneThatCameTooLateTrainingWaits) {
  options_.checkpoint.every.steps = 4;
  options_.checkpoint.keep = 9;
  std::mutex mutex;
  std::condition_variable changed;
  int64_t pushes = 0;
  hooks_.before_push = [&] {
    const std::lock_guard lock(mutex);
    ++pushes;
    changed.notify_all();
  };
  // The news comes when the next step has asked already, and before it ends.
  hooks_.before_snapshot = [&](std::optional<int64_t> step, const CallContext&) {
    if (!step.has_value()) return OkStatus();
    std::unique_lock lock(mutex);
    EXPECT_TRUE(
        changed.wait_for(lock, std::chrono::minutes(2), [&] { return pushes >= *step + 2; }));
    return FailedPrecondition("step {} is over: it is at another; drop it", *step);
  };
  RunLogged run;
  run.waits = true;  // or all steps might be over before the news of the first
  RunAlone(&run);
  ASSERT_TRUE(run.status.ok()) << run.status;
  std::vector<int64_t> missed, kept;
  for (const Json& line : run.lines) {
    if (!line.contains("checkpoint_error")) continue;
    missed.push_back(line["checkpoint_error"]["steps_done"].get<int64_t>());
    EXPECT_THAT(line["checkpoint_error"]["error"].get<std::string>(),
                AllOf(HasSubstr("too late ("), HasSubstr("is over"), Not(HasSubstr("drop"))));
  }
  EXPECT_THAT(missed, ElementsAre(4, 8, 12));
  for (const CheckpointManifest& manifest : Manifests()) kept.push_back(manifest.place.steps_done);
  EXPECT_THAT(kept, ElementsAre(0, 6, 10, 14, 15)) << "the steps after the news, and the end";
}

// The evaluation after the step of a checkpoint is over before the store has written its snapshot.
TEST_F(LearntCheckpointsTest, TheBestEvaluationWaitsForACheckpointThatIsBeingWritten) {
  options_.checkpoint.every.steps = 5;  // an epoch
  options_.checkpoint.keep = 9;
  std::mutex mutex;
  std::condition_variable changed;
  bool first = true, cancelled = false;
  hooks_.before_snapshot = [&](std::optional<int64_t> step, const CallContext& context) {
    std::unique_lock lock(mutex);
    if (!step.has_value() || !std::exchange(first, false)) return OkStatus();
    const CancelToken::Registration on_cancel(context.cancel, [&] {
      const std::lock_guard cancels(mutex);
      cancelled = true;
      changed.notify_all();
    });
    // As long as a slow store takes.
    changed.wait_for(lock, std::chrono::milliseconds(500), [&] { return cancelled; });
    lock.unlock();
    return context.Check();
  };
  RunLogged run;
  RunAlone(&run);
  ASSERT_TRUE(run.status.ok()) << run.status;
  EXPECT_FALSE(first);
  EXPECT_FALSE(cancelled);
  std::vector<int64_t> kept;
  for (const CheckpointManifest& manifest : Manifests()) kept.push_back(manifest.place.steps_done);
  EXPECT_THAT(kept, testing::Contains(5));
}

TEST_F(LearntCheckpointsTest, ARunWithoutResumeLeavesTheRowsAlone) {
  std::vector<Seen> seen(1);
  Run(options_, 2, &seen);
  TrainOptions options = options_;
  options.checkpoint.resume = false;
  EXPECT_THAT(Message(Checkpoints::GoesOn(options.checkpoint).status()),
              HasSubstr("--resume goes on from the newest"));
}

TEST_F(LearntCheckpointsTest, WhoBeginsAnewIsToldToRemoveTheOwnStateToo) {
  std::vector<Seen> seen(1);
  Run(options_, 2, &seen);
  CheckpointOptions options = options_.checkpoint;
  options.resume = false;
  const std::filesystem::path state = std::filesystem::path(options.folder) / "state";
  std::filesystem::create_directory(state);
  EXPECT_THAT(Message(Checkpoints::GoesOn(options).status()),
              HasSubstr("or remove them and " + state.string()));
}

}  // namespace
}  // namespace halograph
