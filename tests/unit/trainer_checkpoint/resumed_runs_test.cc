#include <csignal>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/unit/trainer_checkpoint/checkpoints_fixture.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::SizeIs;

// Killed at each of these, one after the other, with the moment after the step before kept: at a
// step, right after a resume, twice in one epoch, and with an epoch of 5 (one rank) or 3 (two
// ranks) steps done but not evaluated.
TEST_F(CheckpointsTest, ARunThatIsKilledAndGoesOnEndsWithTheSameBits) {
  for (const int world_size : {1, 2}) {
    std::vector<Seen> whole(world_size);
    TrainOptions options = options_;
    Run(options, kNever, &whole);
    ASSERT_TRUE(whole[0].status.ok()) << whole[0].status;
    // Each run syncs a folder a step, so not all kills are tried with all depths.
    for (const auto& [prefetch, kills] : std::vector<std::pair<int, std::vector<int64_t>>>{
             {8, {1}}, {8, {3, 1, 2, 2}}, {1, {6}}, {0, {6, 1, 3}}}) {
      ForgetCheckpoints();
      options.prefetch = prefetch;
      std::vector<Seen> seen(world_size);
      for (const int64_t steps : kills) Run(options, steps, &seen);
      EXPECT_FALSE(seen[0].status.ok());
      Run(options, kNever, &seen);
      ExpectSame(whole, seen,
                 fmt::format("{} ranks, prefetch {}, killed after {}", world_size, prefetch,
                             fmt::join(kills, ", ")));
    }
    ForgetCheckpoints();
  }
}

// Evaluations after every second step: a moment is kept before the evaluation of its step.
TEST_F(CheckpointsTest, EvaluationsWithinEpochsCountOnceWhereverTheRunIsKilled) {
  TrainOptions options = options_;
  options.control.eval_every_steps = 2;
  options.control.patience = 100;
  std::vector<Seen> whole(1);
  Run(options, kNever, &whole);
  ASSERT_TRUE(whole[0].status.ok()) << whole[0].status;
  EXPECT_THAT(whole[0].evaluations, SizeIs(9));
  for (const auto& kills : std::vector<std::vector<int64_t>>{{3}, {4, 1}, {6, 2}}) {
    ForgetCheckpoints();
    std::vector<Seen> seen(1);
    for (const int64_t steps : kills) Run(options, steps, &seen);
    Run(options, kNever, &seen);
    ExpectSame(whole, seen, fmt::format("killed after {}", fmt::join(kills, ", ")));
  }
}

// A signal comes during a step; all ranks stop at the same one, and leave a checkpoint there.
TEST_F(CheckpointsTest, ARunThatASignalStopsGoesOnFromThatStep) {
  for (const int world_size : {1, 2}) {
    TrainOptions options = options_;
    options.checkpoint.every = {.steps = 0, .time = std::chrono::hours(1)};
    std::vector<Seen> whole(world_size);
    Run(options, kNever, &whole);
    ForgetCheckpoints();
    std::vector<Seen> seen(world_size);
    Run(options, kNever, &seen, [&](int64_t step) {
      if (step != 4) return;
      ASSERT_EQ(kill(getpid(), SIGTERM), 0);
      EXPECT_EQ(stop_->Wait(), SIGTERM);
    });
    ASSERT_TRUE(seen[0].status.ok()) << seen[0].status;
    const auto stored = ReadNewestCheckpoint(options.checkpoint.folder);
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_EQ(stored->manifest.place.steps_done, 4);
    EXPECT_EQ(static_cast<size_t>(stored->manifest.place.steps_done), seen[0].weights.size());
    InstallStop();
    Run(options, kNever, &seen);
    ExpectSame(whole, seen, fmt::format("{} ranks", world_size));
    ForgetCheckpoints();
  }
}

// Whoever samples draws nothing of its own.
TEST_F(CheckpointsTest, SampleThreadsChangeNoBitOfARunThatGoesOn) {
  TrainOptions options = options_;
  options.sample_threads = 1;
  std::vector<Seen> whole(1);
  Run(options, kNever, &whole);
  for (const auto& [first, then] : {std::pair{1, 4}, {4, 1}, {4, 4}}) {
    ForgetCheckpoints();
    std::vector<Seen> seen(1);
    options.sample_threads = first;
    Run(options, 8, &seen);
    EXPECT_FALSE(seen[0].status.ok());
    options.sample_threads = then;
    Run(options, kNever, &seen);
    ExpectSame(whole, seen, fmt::format("{} sample threads, then {}", first, then));
  }
}

// Bits are promised for one compute thread. Several may add up in another order, so that a run that
// goes on ends as the undisturbed one does but for rounding: 1e-4 of what training changed, where
// float32 has 6e-8. With plain SGD, since Adam makes whole steps of rounding where gradients are 0.
TEST_F(CheckpointsTest, WithFourComputeThreadsARunGoesOnWithinRounding) {
  TrainOptions options = options_;
  auto wide = std::make_shared<SageOptions>();
  wide->hidden = 512;  // so that libtorch shares the work out
  wide->dropout = 0.5;
  options.model_options = std::move(wide);
  options.batch_size = 40;  // 3 steps an epoch
  options.optimizer = OptimizerKind::kSgd;
  options.learning_rate = 0.5;
  std::vector<Seen> whole(1);
  Run(options, kNever, &whole);
  const torch::Tensor& end = whole[0].weights.at(9);
  const double change = (end - whole[0].weights.at(1)).abs().max().item<double>();
  ASSERT_GT(change, 0.01);
  for (const auto& [first, then] : {std::pair{4, 4}, {1, 4}, {4, 1}}) {
    ForgetCheckpoints();
    std::vector<Seen> seen(1);
    compute_threads_ = first;
    Run(options, 5, &seen);
    compute_threads_ = then;
    Run(options, kNever, &seen);
    ASSERT_TRUE(seen[0].status.ok()) << seen[0].status;
    EXPECT_THAT(seen[0].weights, SizeIs(9));
    const double difference = (seen[0].weights.at(9) - end).abs().max().item<double>();
    EXPECT_LT(difference, 1e-4 * change) << first << " threads, then " << then;
    RecordProperty(fmt::format("difference_{}_{}", first, then), fmt::format("{}", difference));
  }
}

// Ranks sum what an epoch comes to each for itself, wherever they are.
TEST_F(CheckpointsTest, AnEpochThatBeganInOtherProcessesComesToTheSameSums) {
  TrainOptions options = options_;
  options.batch_size = 10;  // 3 steps an epoch
  std::vector<Seen> whole(4);
  Run(options, kNever, &whole);
  ASSERT_TRUE(whole[0].status.ok()) << whole[0].status;
  ForgetCheckpoints();
  std::vector<Seen> seen(4);
  for (const auto& [ranks_each, steps] : {std::pair{1, 3}, {4, 2}, {2, kNever}}) {
    ranks_each_ = ranks_each;
    Run(options, steps, &seen);
  }
  ExpectSame(whole, seen, "4 processes, 1, and 2");
}

// A run of another kind of limit each: what it leaves, and what it says when it goes on there.
TEST_F(CheckpointsTest, ARunThatALimitEndedHasNothingToDoWhenItGoesOn) {
  struct Limit {
    EndedBy rule;
    int64_t steps;  // when it ends, where an epoch has 5 (one rank) or 3 (two)
    ControlOptions control;
    size_t world_size = 1;
  };
  const std::vector<Limit> limits = {
      {EndedBy::kEpochs, 15, {}},
      {EndedBy::kMaxSteps, 7, {.max_steps = 7}},
      {EndedBy::kMaxSteps, 10, {.max_steps = 10}},
      {EndedBy::kMaxSteps, 4, {.max_steps = 4}, 2},
      {EndedBy::kPatience, 10, {.patience = 1, .min_delta = 10}},
      {EndedBy::kPatience, 6, {.patience = 3, .min_delta = 10, .eval_every_steps = 2}},
      {EndedBy::kPatience, 4, {.patience = 2, .min_delta = 10, .eval_every_steps = 2}, 2},
  };
  for (const Limit& limit : limits) {
    for (const int64_t every : {int64_t{1}, kNever}) {
      ForgetCheckpoints();
      TrainOptions options = options_;
      options.control = limit.control;
      options.checkpoint.every.steps = every;
      std::vector<Seen> whole(limit.world_size), again(limit.world_size);
      Run(options, kNever, &whole);
      const std::string what =
          fmt::format("{} after {} steps, {} ranks, kept every {}", NameOf(limit.rule), limit.steps,
                      limit.world_size, every);
      ASSERT_TRUE(whole[0].status.ok()) << what << ": " << whole[0].status;
      EXPECT_EQ(whole[0].result.ended_by, limit.rule) << what;
      EXPECT_EQ(whole[0].result.steps, limit.steps) << what;
      Run(options, kNever, &again);
      for (size_t rank = 0; rank < limit.world_size; ++rank) {
        ASSERT_TRUE(again[rank].status.ok()) << what << ": " << again[rank].status;
        EXPECT_THAT(again[rank].weights, SizeIs(0)) << what;
        EXPECT_THAT(again[rank].evaluations, SizeIs(0)) << what;
        EXPECT_EQ(Shown(again[rank].result), Shown(whole[rank].result)) << what;
        EXPECT_TRUE(torch::equal(again[rank].end, whole[rank].end)) << what;
      }
      EXPECT_EQ(again[0].result.train_seconds, whole[0].result.train_seconds) << what;
      EXPECT_EQ(again[0].result.eval_seconds, whole[0].result.eval_seconds) << what;
    }
  }
}

// What a limit cut short is an epoch like any other once the rest of its steps are taken.
TEST_F(CheckpointsTest, ARunThatALimitEndedGoesOnWithoutIt) {
  std::vector<Seen> whole(1);
  Run(options_, kNever, &whole);
  TrainOptions few = options_, short_time = options_, impatient = options_;
  few.control.max_steps = 3;
  short_time.control.time_limit = std::chrono::nanoseconds(1);  // the first step ends it
  impatient.control = {.patience = 1, .min_delta = 10, .eval_every_steps = 2};
  for (const auto& [rule, options, takes] : {std::tuple{EndedBy::kMaxSteps, few, 3},
                                             {EndedBy::kTimeLimit, short_time, 1},
                                             {EndedBy::kPatience, impatient, 4}}) {
    ForgetCheckpoints();
    std::vector<Seen> seen(1);
    Run(options, kNever, &seen);
    EXPECT_EQ(seen[0].result.ended_by, rule);
    EXPECT_EQ(seen[0].result.steps, takes);
    if (rule == EndedBy::kTimeLimit) {  // each start has the time anew
      Run(options, kNever, &seen);
      EXPECT_EQ(seen[0].result.ended_by, rule);
      EXPECT_EQ(seen[0].result.steps, 2);
      EXPECT_EQ(seen[0].result.epochs, 1);
    }
    Run(options_, kNever, &seen);
    EXPECT_THAT(seen[0].weights, SizeIs(15)) << NameOf(rule);
    for (const int64_t step : {5, 10, 15}) {
      EXPECT_TRUE(torch::equal(seen[0].weights.at(step), whole[0].weights.at(step)));
      EXPECT_EQ(seen[0].evaluations[step], whole[0].evaluations[step]) << NameOf(rule);
    }
    EXPECT_EQ(seen[0].result.ended_by, EndedBy::kEpochs);
    EXPECT_EQ(seen[0].result.epochs, kEpochs);
    EXPECT_EQ(seen[0].result.steps, 15);
    EXPECT_EQ(seen[0].result.sampled_edges, whole[0].result.sampled_edges);
  }
}

TEST_F(CheckpointsTest, ARunThatIsMadeShorterThanItIsEvaluatesWhatStandsThere) {
  options_.eval_every = 0;
  std::vector<Seen> seen(1);
  Run(options_, 8, &seen);
  const auto stored = ReadNewestCheckpoint(options_.checkpoint.folder);
  ASSERT_TRUE(stored.ok()) << stored.status();
  const int64_t kept = stored->manifest.place.steps_done;  // 7, or 6 on a slow disk
  ASSERT_GT(kept, 5);
  options_.epochs = 1;  // 5 steps
  Run(options_, kNever, &seen);
  ASSERT_TRUE(seen[0].status.ok()) << seen[0].status;
  EXPECT_THAT(seen[0].weights, SizeIs(8)) << "no further step";
  ASSERT_TRUE(seen[0].result.best.has_value());
  EXPECT_EQ(seen[0].result.best->step, kept);
  EXPECT_THAT(seen[0].evaluations[kept],
              HasSubstr(fmt::format(", {} steps, {} seeds", kept - 5, 25 * (kept - 5))));
}

// A signal came after the last step of an epoch that was not to be evaluated.
TEST_F(CheckpointsTest, ARunThatIsMadeShorterBetweenTwoEpochsEvaluatesWhatStandsThere) {
  options_.eval_every = 0;
  options_.tasks.node.metrics = {"accuracy", "macro-f1"};
  std::vector<Seen> seen(1);
  Run(options_, kNever, &seen, [&](int64_t step) {
    if (step != 10) return;
    ASSERT_EQ(kill(getpid(), SIGTERM), 0);
    EXPECT_EQ(stop_->Wait(), SIGTERM);
  });
  const auto stored = ReadNewestCheckpoint(options_.checkpoint.folder);
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->manifest.place.epoch, 2);
  EXPECT_EQ(stored->manifest.place.step, 0);
  InstallStop();
  for (const int64_t epochs : {2, 1, 1}) {
    options_.epochs = epochs;
    Run(options_, kNever, &seen);
    ASSERT_TRUE(seen[0].status.ok()) << seen[0].status;
    EXPECT_THAT(seen[0].weights, SizeIs(10)) << "no further step";
    ASSERT_TRUE(seen[0].result.best.has_value());
    EXPECT_EQ(seen[0].result.best->step, 10);
    EXPECT_THAT(seen[0].result.best->train_more, SizeIs(1)) << "the log's line has all its keys";
    EXPECT_EQ(seen[0].result.epochs, 2);
  }
}

// Of a build that kept no sums of the epoch under way.
TEST_F(CheckpointsTest, ACheckpointWithoutSumsGoesOnWithFiguresOfTheStepsSince) {
  std::vector<Seen> whole(1), seen(1);
  Run(options_, kNever, &whole);
  ForgetCheckpoints();
  Run(options_, 3, &seen);
  auto stored = ReadNewestCheckpoint(options_.checkpoint.folder);
  ASSERT_TRUE(stored.ok()) << stored.status();
  const int64_t kept = stored->manifest.place.steps_done;  // 2, or 1 on a slow disk
  ASSERT_LT(kept, 3);
  std::erase_if(stored->manifest.files,
                [](const FileEntry& file) { return file.path == "epoch.safetensors"; });
  fs::remove(stored->folder / "epoch.safetensors");
  ASSERT_TRUE(WriteManifest(stored->folder / kManifestFile, ToJson(stored->manifest)).ok());
  Run(options_, kNever, &seen);
  ASSERT_TRUE(seen[0].status.ok()) << seen[0].status;
  EXPECT_TRUE(torch::equal(seen[0].end, whole[0].end));
  EXPECT_THAT(whole[0].evaluations[5], HasSubstr(", 5 steps, 120 seeds"));
  EXPECT_THAT(seen[0].evaluations[5],
              HasSubstr(fmt::format(", {} steps, {} seeds", 5 - kept, 120 - 25 * kept)));
  EXPECT_EQ(seen[0].evaluations[10], whole[0].evaluations[10]);
}

TEST_F(CheckpointsTest, ThreadsThatWereChosenAreKeptAndThoseBeingTriedAreNot) {
  const auto threads = [&] {
    const auto stored = ReadNewestCheckpoint(options_.checkpoint.folder);
    EXPECT_TRUE(stored.ok()) << stored.status();
    return stored->manifest.progress.value("threads", Json());
  };
  options_.tune = true;
  options_.threads = 2;
  options_.sample_threads = 2;
  std::vector<Seen> seen(1);
  Run(options_, kNever, &seen);  // shorter than the search
  ASSERT_TRUE(seen[0].status.ok()) << seen[0].status;
  EXPECT_EQ(threads(), Json());

  ForgetCheckpoints();
  const Json one = {{"compute", 1}, {"sample", 1}, {"gather", 1}};
  options_.threads = 1;  // no choice
  options_.sample_threads = 1;
  Run(options_, 3, &seen);
  EXPECT_EQ(threads(), one);
  options_.threads = 2;  // on a larger machine
  options_.sample_threads = 2;
  compute_threads_ = 2;
  std::vector<int> computed;
  Run(options_, kNever, &seen, [&](int64_t) { computed.push_back(at::get_num_threads()); });
  ASSERT_TRUE(seen[0].status.ok()) << seen[0].status;
  EXPECT_THAT(computed, testing::AllOf(SizeIs(testing::Ge(12)), testing::Each(1)));
  EXPECT_EQ(threads(), one);

  auto stored = ReadNewestCheckpoint(options_.checkpoint.folder);
  stored->manifest.progress["threads"]["sample"] = 0;
  ASSERT_TRUE(WriteManifest(stored->folder / kManifestFile, ToJson(stored->manifest)).ok());
  RunLogged damaged;
  RunAlone(&damaged);
  EXPECT_THAT(Message(damaged.status), HasSubstr("0 threads to sample, expected 1"));
}

// Of a build that had not yet some options: of the run, and of its model.
TEST_F(CheckpointsTest, ACheckpointThatLacksOptionsGoesOnWithTheirDefaults) {
  std::vector<Seen> whole(1), seen(1);
  Run(options_, kNever, &whole);
  ForgetCheckpoints();
  Run(options_, 3, &seen);
  auto stored = ReadNewestCheckpoint(options_.checkpoint.folder);
  ASSERT_TRUE(stored.ok()) << stored.status();
  for (const char* key : {"normalize_features", "class_weights", "aggregator"}) {
    EXPECT_EQ(stored->manifest.run.options.erase(key), 1) << key;
  }
  ASSERT_TRUE(WriteManifest(stored->folder / kManifestFile, ToJson(stored->manifest)).ok());
  RunLogged other;
  options_.normalization = FeatureNormalization::kRow;
  RunAlone(&other);
  EXPECT_THAT(Message(other.status), HasSubstr(R"(--normalize-features was "none", is "row")"));
  options_.normalization = FeatureNormalization::kNone;
  Run(options_, kNever, &seen);
  ExpectSame(whole, seen, "lacking options");
}

}  // namespace
}  // namespace halograph
