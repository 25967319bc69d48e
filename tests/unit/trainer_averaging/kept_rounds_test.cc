// Averaged training that is stopped, killed, and goes on.
#include <csignal>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/trainer_averaging/averaged_fixture.h"
#include "trainer/checkpoint/checkpoints.h"
#include "trainer/models/sage.h"

namespace halograph {
namespace {

// Evaluates as another source does, and sends the process a signal before it does so for the last
// of `evaluations` times.
class StopsBeforeEvaluation final : public PartSource {
 public:
  StopsBeforeEvaluation(PartSource* parts, int evaluations, StopSignal* stop)
      : parts_(*parts), left_(evaluations), stop_(*stop) {}

  const std::vector<int>& parts() const override { return parts_.parts(); }
  StatusOr<std::unique_ptr<OpenedPart>> Open(int part) override { return parts_.Open(part); }
  StatusOr<BothSets> Evaluate() override {
    if (--left_ == 0) {
      EXPECT_EQ(kill(getpid(), SIGTERM), 0);
      EXPECT_EQ(stop_.Wait(), SIGTERM);
    }
    return parts_.Evaluate();
  }
  StatusOr<std::optional<double>> MostFrequent(BatchPurpose set) override {
    return parts_.MostFrequent(set);
  }

 private:
  PartSource& parts_;
  int left_;
  StopSignal& stop_;
};

// When a signal comes: before that evaluation, or after so many steps of rank 0; 0: not then.
struct Signal {
  int before_evaluation = 0;
  int64_t after_step = 0;
};

// Three rounds of two epochs; each epoch has three steps of each of four parts.
class KeptRoundsTest : public AveragedTrainingTest {
 protected:
  static constexpr int64_t kNever = 1 << 20;

  [[nodiscard]] virtual TestGraphSpec Spec() const { return LearnableGraph(240, 4); }

  void SetUp() override {
    Write(Spec());
    auto sage = std::make_shared<SageOptions>();
    sage->hidden = 16;
    sage->dropout = 0.5;
    sage->norm = Normalization::kBatch;
    options_.model = "sage";
    options_.model_options = std::move(sage);
    options_.checkpoint.every = {.steps = 1, .time = {}};
    options_.checkpoint.folder = (folder_.path() / "checkpoints").string();
    options_.checkpoint.resume = true;
  }
  void ForgetCheckpoints() const { std::filesystem::remove_all(options_.checkpoint.folder); }

  // What a rank saw of a run, over all resumes.
  struct Seen {
    std::map<int64_t, EpochStats> epochs;
    TrainResult result;
    Status status;
    torch::Tensor end;  // the best weights, and buffers
  };
  // Goes on from what is there; dies after so many steps of its own.
  void Run(int64_t steps, std::vector<Seen>* seen, Signal signal = {}) {
    const auto world_size = static_cast<int>(seen->size());
    RunWithOptions(world_size, [&](TrainOptions options, std::unique_ptr<Communicator> ranks) {
      Seen& own = (*seen)[options.rank];
      const auto session = MakeSession(options, std::move(ranks));
      const auto parts = MakePartSource(*session);
      ASSERT_TRUE(parts.ok()) << parts.status();
      const Signal sent = options.rank == 0 ? signal : Signal{};
      StopsBeforeEvaluation source(parts->get(), sent.before_evaluation, stop_.get());
      const auto checkpoints = Checkpoints::Open(*session, [](const Json&) { return OkStatus(); });
      ASSERT_TRUE(checkpoints.ok()) << checkpoints.status();
      int64_t done = 0;
      AveragedTraining training(
          *session, &source,
          [&](int64_t) {
            (*checkpoints)->Wait();  // that of the round before
            if (++done == steps) throw std::runtime_error("killed");
            if (done != sent.after_step) return;
            EXPECT_EQ(kill(getpid(), SIGTERM), 0);
            EXPECT_EQ(stop_->Wait(), SIGTERM);
          },
          [&](const EpochStats& stats) {
            own.epochs[stats.epoch] = stats;
            return OkStatus();
          },
          (*checkpoints)->start(), checkpoints->get());
      ASSERT_TRUE((*checkpoints)->RestoreOptimizer(training.optimizer()).ok());
      const auto result = training.Run();
      own.status = result.status();
      if (!result.ok()) return;
      own.result = *result;
      std::vector<torch::Tensor> flat;
      for (const torch::Tensor& tensor : session->Parameters()) {
        flat.push_back(tensor.detach().clone().view(-1));
      }
      for (const torch::Tensor& tensor : session->model->buffers()) {
        flat.push_back(tensor.clone().view(-1));
      }
      own.end = torch::cat(flat);
      EXPECT_EQ(session->ranks->Barrier("end"), OkStatus());
    });
  }
  // For each list of steps: dies after so many, one after the other, and goes on to the end.
  void KillAndGoOn(int world_size, const std::vector<std::vector<int64_t>>& lists) {
    std::vector<Seen> whole(world_size);
    Run(kNever, &whole);
    ASSERT_TRUE(whole[0].status.ok()) << whole[0].status;
    for (const std::vector<int64_t>& kills : lists) {
      ForgetCheckpoints();
      std::vector<Seen> seen(world_size);
      for (const int64_t steps : kills) {
        Run(steps, &seen);
        EXPECT_THAT(Message(seen[0].status), testing::HasSubstr("killed"));
      }
      Run(kNever, &seen);
      ExpectSame(whole, seen,
                 fmt::format("{} ranks, killed after {}", world_size, fmt::join(kills, ", ")));
    }
    ForgetCheckpoints();
  }
  static void ExpectSame(const std::vector<Seen>& whole, const std::vector<Seen>& seen,
                         const std::string& what) {
    for (size_t rank = 0; rank < whole.size(); ++rank) {
      const Seen &wanted = whole[rank], &found = seen[rank];
      ASSERT_TRUE(found.status.ok()) << what << ": " << found.status;
      ASSERT_EQ(found.epochs.size(), wanted.epochs.size()) << what;
      for (const auto& [epoch, stats] : wanted.epochs) {
        const EpochStats& again = found.epochs.at(epoch);
        EXPECT_EQ(again.step, stats.step) << what << ", epoch " << epoch;
        ASSERT_EQ(again.valid.has_value(), stats.valid.has_value()) << what << ", epoch " << epoch;
        if (!stats.valid.has_value()) continue;
        EXPECT_EQ(again.valid->loss, stats.valid->loss) << what << ", epoch " << epoch;
        EXPECT_EQ(again.test->metric, stats.test->metric) << what << ", epoch " << epoch;
      }
      EXPECT_EQ(found.result.best->epoch, wanted.result.best->epoch) << what;
      EXPECT_EQ(found.result.epochs, wanted.result.epochs) << what;
      EXPECT_EQ(found.result.steps, wanted.result.steps) << what;
      EXPECT_TRUE(torch::equal(found.end, wanted.end)) << what;
    }
  }
};

// Before the first average, in every round, right behind an average, and again in the same round.
TEST_F(KeptRoundsTest, ARunThatIsKilledAndGoesOnEndsWithTheSameBits) {
  KillAndGoOn(1, {{1}, {25, 3, 26}});
  KillAndGoOn(2, {{17}, {31}});
}

using KeptRoundsLongTest = KeptRoundsTest;

TEST_F(KeptRoundsLongTest, ARunThatIsKilledAnywhereEndsWithTheSameBits) {
  for (const int world_size : {1, 2}) {
    const int64_t round = 24 / world_size;
    KillAndGoOn(world_size, {{1}, {round + 5}, {round + 1, 3, round + 2}, {2 * round + 7}});
  }
}

TEST_F(KeptRoundsTest, ASignalLeavesTheLastAverageAndAnEvaluationItCutsShortIsMadeUpFor) {
  for (const int world_size : {1, 2}) {
    std::vector<Seen> whole(world_size), seen(world_size);
    Run(kNever, &whole);
    ASSERT_TRUE(whole[0].status.ok()) << whole[0].status;
    ForgetCheckpoints();
    options_.checkpoint.every = {.steps = 0, .time = std::chrono::hours(1)};
    Run(kNever, &seen, {.before_evaluation = 2});
    ASSERT_TRUE(seen[0].status.ok()) << seen[0].status;
    EXPECT_TRUE(seen[0].result.stopped);
    EXPECT_FALSE(seen[0].epochs.at(3).valid.has_value());
    const auto stored = ReadNewestCheckpoint(options_.checkpoint.folder);
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_EQ(stored->manifest.place.epoch, 4);
    EXPECT_EQ(stored->manifest.place.steps_per_epoch, 0);
    InstallStop();
    Run(kNever, &seen);
    ExpectSame(whole, seen, fmt::format("{} ranks", world_size));
    ForgetCheckpoints();
  }
}

TEST_F(KeptRoundsTest, ALongerRunGoesOnAndOneOfAnotherIntervalIsRefused) {
  std::vector<Seen> seen(1), again(1), longer(1);
  Run(kNever, &seen);
  Run(1, &again);
  EXPECT_TRUE(again[0].status.ok()) << "there is nothing to do";
  EXPECT_TRUE(torch::equal(again[0].end, seen[0].end));
  options_.epochs = 7;
  Run(kNever, &longer);
  ASSERT_TRUE(longer[0].status.ok()) << longer[0].status;
  EXPECT_EQ(longer[0].epochs.size(), 1U);
  EXPECT_EQ(longer[0].result.epochs, 7);
  options_.average_every = 3;
  const auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  const Status other = Checkpoints::Open(*session, [](const Json&) { return OkStatus(); }).status();
  EXPECT_THAT(Message(other), testing::HasSubstr("--average-every was 2, is 3"));
}

// Four of six epochs were done, none was evaluated.
TEST_F(KeptRoundsTest, ARunThatIsMadeShorterThanItIsEvaluatesWhatStandsThere) {
  options_.eval_every = 0;
  std::vector<Seen> seen(1);
  Run(kNever, &seen, {.after_step = 50});
  EXPECT_TRUE(seen[0].result.stopped);
  EXPECT_FALSE(seen[0].result.best.has_value());
  InstallStop();
  options_.epochs = 1;
  Run(kNever, &seen);
  ASSERT_TRUE(seen[0].status.ok()) << seen[0].status;
  EXPECT_EQ(seen[0].result.epochs, 4) << "no further step";
  ASSERT_TRUE(seen[0].result.best.has_value());
  EXPECT_EQ(seen[0].result.best->epoch, 3);
  EXPECT_TRUE(seen[0].epochs.at(3).valid.has_value());
}

// Rounds of two steps, of three: in the first, in the second, at the end of an epoch, and again in
// the same epoch. Four ranks have one part each, which stays open.
class KeptStepsTest : public KeptRoundsTest {
 protected:
  void SetUp() override {
    KeptRoundsTest::SetUp();
    options_.average_every = 1;
    options_.average_steps = 2;
  }
};

TEST_F(KeptStepsTest, ARunThatIsKilledAndGoesOnEndsWithTheSameBits) {
  KillAndGoOn(1, {{37, 2, 12}});
  KillAndGoOn(4, {{1, 4}});
}

using KeptStepsLongTest = KeptStepsTest;

TEST_F(KeptStepsLongTest, ARunThatIsKilledAnywhereEndsWithTheSameBits) {
  for (const int world_size : {1, 2, 4}) {
    const int64_t epoch = 12 / world_size;
    KillAndGoOn(world_size, {{1}, {2 * epoch - 1}, {3 * epoch + 1, 2, epoch, 2 * epoch}});
  }
}

// The average within the epoch is not what the checkpoint has.
TEST_F(KeptStepsTest, ASignalInTheMiddleOfARoundLeavesTheLastEpoch) {
  for (const int world_size : {1, 2, 4}) {
    const int64_t epoch = 12 / world_size, first_round = 8 / world_size;
    std::vector<Seen> whole(world_size), seen(world_size);
    Run(kNever, &whole);
    ASSERT_TRUE(whole[0].status.ok()) << whole[0].status;
    ForgetCheckpoints();
    options_.checkpoint.every = {.steps = 0, .time = std::chrono::hours(1)};
    Run(kNever, &seen, {.after_step = 2 * epoch + first_round + 1});
    ASSERT_TRUE(seen[0].status.ok()) << seen[0].status;
    EXPECT_TRUE(seen[0].result.stopped);
    EXPECT_EQ(seen[0].epochs.size(), 2U);
    const auto stored = ReadNewestCheckpoint(options_.checkpoint.folder);
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_EQ(stored->manifest.place.epoch, 2);
    EXPECT_EQ(stored->manifest.place.steps_done, 24);
    InstallStop();
    Run(kNever, &seen);
    ExpectSame(whole, seen, fmt::format("{} ranks", world_size));
    ForgetCheckpoints();
  }
}

TEST_F(KeptStepsTest, ARunOfAnotherIntervalIsRefused) {
  std::vector<Seen> seen(1);
  Run(kNever, &seen);
  options_.average_steps = 0;
  const auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  const Status other = Checkpoints::Open(*session, [](const Json&) { return OkStatus(); }).status();
  EXPECT_THAT(Message(other), testing::HasSubstr("--average-every was \"2steps\", is 1"));
}

// The parts of rank 0 of two have no training rows.
class RankWithoutRowsTest : public KeptRoundsTest {
 protected:
  [[nodiscard]] TestGraphSpec Spec() const override { return SetFrom("train", 120); }
};

TEST_F(RankWithoutRowsTest, StepsOfAllRanksCountAndCheckpointsAreDueByThem) {
  std::vector<Seen> seen(2);
  options_.checkpoint.every = {.steps = 20, .time = {}};
  Run(kNever, &seen);
  for (const Seen& of_rank : seen) {
    ASSERT_TRUE(of_rank.status.ok()) << of_rank.status;
    EXPECT_EQ(of_rank.result.steps, 36) << "six epochs of two parts of three steps";
    EXPECT_EQ(of_rank.epochs.at(0).step, 6);
  }
  std::vector<std::string> names;
  for (const auto& folder : std::filesystem::directory_iterator(options_.checkpoint.folder)) {
    const std::string name = folder.path().filename().string();
    if (name.starts_with("step-")) names.push_back(name);
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("step-000000024", "step-000000036"));
}

TEST_F(RankWithoutRowsTest, AnEvaluationThatASignalCutsShortIsMadeUpFor) {
  std::vector<Seen> whole(2), seen(2);
  Run(kNever, &whole);
  ASSERT_TRUE(whole[0].status.ok()) << whole[0].status;
  ForgetCheckpoints();
  Run(kNever, &seen, {.before_evaluation = 2});
  EXPECT_TRUE(seen[0].result.stopped);
  InstallStop();
  Run(kNever, &seen);
  ExpectSame(whole, seen, "two ranks");
}

}  // namespace
}  // namespace halograph
