#include "trainer/checkpoint/checkpoints.h"

#include <chrono>
#include <csignal>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include "tests/support/no_sync.h"
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
  EXPECT_THAT(run.checkpoints->Advice(run.status), HasSubstr("no checkpoint had been taken"));
}

// Takes long to say that a checkpoint has been read.
class SlowToSay final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  static constexpr std::chrono::seconds kSlow{7};

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string_view text(message.payload.data(), message.payload.size());
    if (!text.starts_with("--resume: going on from")) return;
    std::this_thread::sleep_for(kSlow);
  }
  void flush_() override {}
};

// It takes longer than a collective may: to write the last checkpoint, and to read it. What ranks
// do meanwhile is tested in no time in WaitTogetherTest.
using CheckpointsLongTest = CheckpointsTest;

TEST_F(CheckpointsLongTest, RanksWaitForASlowDiskOfRank0) {
  options_.remote.timeout = std::chrono::seconds(6);
  options_.checkpoint.every.steps = kNever;
  TrainOptions first = options_;
  first.control.max_steps = 4;  // within an epoch: the ranks sum it up after the checkpoint
  std::vector<Seen> seen(2);
  bool synced = false;
  OnNextSync([&] {
    std::this_thread::sleep_for(SlowToSay::kSlow);
    synced = true;
  });
  Run(first, kNever, &seen);
  ASSERT_TRUE(synced);
  for (const Seen& rank : seen) ASSERT_TRUE(rank.status.ok()) << rank.status;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("test", std::make_shared<SlowToSay>()));
  Run(options_, kNever, &seen);
  spdlog::set_default_logger(before);
  for (const Seen& rank : seen) {
    ASSERT_TRUE(rank.status.ok()) << rank.status;
    EXPECT_THAT(rank.weights, testing::SizeIs(9));
  }
}

TEST_F(CheckpointsTest, OtherRanksHearWhatEndsARunBeforeRank0WaitsForItsDisk) {
  std::latch heard(1);
  OnNextSync([&] { heard.wait(); });
  const auto body = [&](std::unique_ptr<Communicator> ranks) {
    TrainOptions options = options_;
    options.rank = ranks->rank();
    options.world_size = ranks->world_size();
    auto session = MakeSession(options, std::move(ranks));
    auto checkpoints = Checkpoints::Open(*session, [](const Json&) { return OkStatus(); });
    ASSERT_TRUE(checkpoints.ok()) << checkpoints.status();
    const TrainResult so_far;
    const std::vector<torch::Tensor> best;
    const Optimizer optimizer(options.optimizer, session->Parameters(), 1, 0);
    ASSERT_TRUE((*checkpoints)->Keep({0, 1, 1, 3, so_far, best, optimizer}).ok());
    if (options.rank == 0) {
      EXPECT_THAT((*checkpoints)->Advice(Internal("the reason")), HasSubstr("step-000000001"));
      return;
    }
    EXPECT_THAT(Message(session->ranks->Barrier("the next step")),
                HasSubstr("stopped: INTERNAL: the reason"));
    heard.count_down();
  };
  RunHostedRanks(2, 1, body);
}

}  // namespace
}  // namespace halograph
