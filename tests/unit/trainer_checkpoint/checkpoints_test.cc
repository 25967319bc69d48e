#include "trainer/checkpoint/checkpoints.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
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

#include "tests/support/failing_files.h"
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

// It takes longer than a collective may: to write the last checkpoint, and to read it. That ranks
// meet meanwhile is tested in no time in HungDiskOfRank0Test.
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
  OnNextSync(nullptr);
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

// The next sync of a file: it hangs until it is let go.
class HungSync {
 public:
  HungSync() {
    disk_.Close();
    OnNextSync([this] {
      reached_ = true;
      disk_.Pass();
    });
  }
  ~HungSync() {
    OnNextSync(nullptr);
    EXPECT_TRUE(reached_) << "nothing was written";
  }
  HungSync(const HungSync&) = delete;
  HungSync& operator=(const HungSync&) = delete;

  void LetGo() { disk_.Open(); }

 private:
  Gate disk_;
  std::atomic<bool> reached_ = false;
};

// The disk of rank 0 hangs until rank 1 has seen what it waits to see. No time passes.
class HungDiskOfRank0Test : public CheckpointsTest {
 protected:
  using Body = std::function<void(Session&, Checkpoints&, const TrainingMoment&)>;

  // On each of two ranks. However rank 1 ends, the sync is let go then.
  void RunTwo(HungSync* sync, const Body& body) {
    RunHostedRanks(2, 1, [&](std::unique_ptr<Communicator> ranks) {
      const int rank = ranks->rank();
      RunOne(std::move(ranks), body);
      if (rank == 1) sync->LetGo();
    });
  }
  void RunOne(std::unique_ptr<Communicator> ranks, const Body& body) {
    const TrainOptions options = OptionsOf(*ranks);
    auto session = MakeSession(options, std::move(ranks));
    auto checkpoints = Checkpoints::Open(*session, [](const Json&) { return OkStatus(); });
    ASSERT_TRUE(checkpoints.ok()) << checkpoints.status();
    const TrainResult so_far;
    const std::vector<torch::Tensor> best;
    const Optimizer optimizer(options.optimizer, session->Parameters(), 1, 0);
    body(*session, **checkpoints, {0, 1, 1, 3, so_far, best, optimizer});
  }
  [[nodiscard]] TrainOptions OptionsOf(const Communicator& ranks) const {
    TrainOptions options = options_;
    options.rank = ranks.rank();
    options.world_size = ranks.world_size();
    options.remote.timeout = std::chrono::milliseconds(40);  // they meet every 10 ms
    return options;
  }
  // Meets rank 0 once, as a rank that waits for it does (WaitTogether).
  static bool Rank0IsBusy(Communicator& ranks) {
    const torch::Tensor busy = torch::zeros({1});
    const Status met = ranks.AllReduceSum(busy, "meeting rank 0");
    EXPECT_TRUE(met.ok()) << met;
    return met.ok() && busy.item<float>() > 0;
  }
};

TEST_F(HungDiskOfRank0Test, OtherRanksHearWhatEndsARunBeforeRank0WaitsForItsDisk) {
  HungSync sync;
  RunTwo(&sync, [](Session& session, Checkpoints& checkpoints, const TrainingMoment& moment) {
    ASSERT_TRUE(checkpoints.Keep(moment).ok());
    if (session.options.rank == 0) {
      EXPECT_THAT(checkpoints.Advice(Internal("the reason")), HasSubstr("step-000000001"));
      return;
    }
    EXPECT_THAT(Message(session.ranks->Barrier("the next step")),
                HasSubstr("stopped: INTERNAL: the reason"));
  });
}

TEST_F(HungDiskOfRank0Test, RanksMeetUntilTheLastCheckpointIsWritten) {
  HungSync sync;
  RunTwo(&sync, [&](Session& session, Checkpoints& checkpoints, const TrainingMoment& moment) {
    if (session.options.rank == 0) {
      EXPECT_EQ(checkpoints.KeepLast(moment), OkStatus());
      return;
    }
    EXPECT_FALSE(Rank0IsBusy(*session.ranks)) << "nothing is being written yet";
    ASSERT_TRUE(checkpoints.Keep(moment).ok());
    for (int times = 0; times < 3; ++times) EXPECT_TRUE(Rank0IsBusy(*session.ranks));
    sync.LetGo();
    while (Rank0IsBusy(*session.ranks)) {
    }
  });
}

// Is not told what has been read until a test says so.
class HungLog final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  HungLog() { gate_.Close(); }
  void LetGo() { gate_.Open(); }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string_view text(message.payload.data(), message.payload.size());
    if (text.starts_with("--resume: ")) gate_.Pass();
  }
  void flush_() override {}

  Gate gate_;
};

TEST_F(HungDiskOfRank0Test, RanksMeetWhileACheckpointIsRead) {
  const auto log = std::make_shared<HungLog>();
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", log));
  RunHostedRanks(2, 1, [&](std::unique_ptr<Communicator> ranks) {
    if (ranks->rank() == 1) {
      while (Rank0IsBusy(*ranks)) {  // it opens the folder first
      }
      for (int times = 0; times < 3; ++times) EXPECT_TRUE(Rank0IsBusy(*ranks));
      ranks->Leave("it has seen enough");
      log->LetGo();
      return;
    }
    const TrainOptions options = OptionsOf(*ranks);
    auto session = MakeSession(options, std::move(ranks));
    const auto opened = Checkpoints::Open(*session, [](const Json&) { return OkStatus(); });
    EXPECT_THAT(Message(opened.status()),
                testing::AllOf(HasSubstr("waiting for rank 0 to read a checkpoint"),
                               HasSubstr("it has seen enough")));
  });
  spdlog::set_default_logger(before);
}

}  // namespace
}  // namespace halograph
