#include "trainer/checkpoint/checkpoints.h"

#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "tests/unit/trainer_checkpoint/checkpoints_fixture.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST_F(CheckpointsTest, AModelIsGivenTheBestOrTheLastWeights) {
  std::vector<Seen> seen(1);
  Run(options_, kNever, &seen);
  const auto stored = ReadNewestCheckpoint(options_.checkpoint.folder);
  ASSERT_TRUE(stored.ok()) << stored.status();
  options_.seed = 99;
  auto session = MakeSession(options_, std::move(*Communicator::Join({})));
  EXPECT_EQ(*LoadWeights(*stored, WhichWeights::kLast, *session->model, *session->task),
            WhichWeights::kLast);
  EXPECT_TRUE(torch::equal(Flat(session->Parameters()), seen[0].weights.rbegin()->second));
  EXPECT_EQ(*LoadWeights(*stored, WhichWeights::kBest, *session->model, *session->task),
            WhichWeights::kBest);
  EXPECT_TRUE(torch::equal(All(*session), seen[0].end));

  auto wider = std::make_shared<SageOptions>();
  wider->hidden = 17;
  options_.model_options = wider;
  auto other = MakeSession(options_, std::move(*Communicator::Join({})));
  const Status status =
      LoadWeights(*stored, WhichWeights::kLast, *other->model, *other->task).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("the model's is Float [17"));
}

TEST_F(CheckpointsTest, ARunOfOtherOptionsIsRefusedAndTheyAreNamed) {
  std::vector<Seen> seen(1);
  Run(options_, 2, &seen);
  const auto open = [&](const TrainOptions& options) {
    auto session = MakeSession(options, std::move(*Communicator::Join({})));
    const auto opened = Checkpoints::Open(*session, [](const Json&) { return OkStatus(); });
    return opened.status();
  };
  TrainOptions other = options_;
  other.learning_rate = 0.02;
  other.batch_size = 24;
  const Status status = open(other);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("--batch-size was 25, is 24; --lr was 0.01, is 0.02"));
  other = options_;
  other.checkpoint.resume = false;
  EXPECT_THAT(Message(open(other)), HasSubstr("--resume goes on from the newest"));
  other = options_;
  other.epochs = 9;
  EXPECT_TRUE(open(other).ok()) << "a run may be made longer";
}

TEST_F(CheckpointsTest, AFullDiskEndsNoTraining) {
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit small { 256, before.rlim_max };
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  RunLogged run;
  RunAlone(&run);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(run.status.ok()) << run.status;
  EXPECT_EQ(run.steps, 15);
  ASSERT_FALSE(run.lines.empty());
  for (const Json& line : run.lines) {
    EXPECT_THAT(line["checkpoint_error"]["error"].get<std::string>(),
                HasSubstr("RESOURCE_EXHAUSTED"));
  }
  EXPECT_TRUE(fs::is_empty(options_.checkpoint.folder));
  EXPECT_THAT(run.checkpoints->Advice(), HasSubstr("no checkpoint had been taken"));
}

}  // namespace
}  // namespace halograph
