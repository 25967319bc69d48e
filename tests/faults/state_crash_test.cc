// The state engine in real processes that end at random points: killed while they open the state
// and while four clients push, and crashed with unsynced writes lost (unsynced_writes.cc). The next
// process must find a state in which every acknowledged push is applied, none twice, and none
// without those before it; whose steps are those of a reference, bit for bit; and each of whose
// snapshots is one moment. crash_workload.h says what is pushed. One crash in three is followed by
// another one before anybody looks.
//
//   HALOGRAPH_CRASHES=1000 build/release/bin/state_crash_test      by hand; for each case
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/rng.h"
#include "common/state/durable/system_env.h"
#include "tests/faults/crash_pusher.h"
#include "tests/faults/crash_workload.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using Clock = std::chrono::steady_clock;

// What is known of one client: numbers of its pushes.
struct Known {
  int64_t sent = 0;
  int64_t acknowledged = 0;
};

// Where a pushing process ends: while it opens its state; then or soon after; or while it pushes.
enum class End { kOpening, kEarly, kLate };

// When a pushing process is killed, of which the first that comes counts.
struct Kill {
  std::optional<int64_t> after;  // so many acknowledged pushes
  std::optional<Clock::time_point> at;
};

class StateCrashTest : public testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  void SetUp() override {
    const char* text = std::getenv("HALOGRAPH_CRASHES");
    crashes_ = text == nullptr ? 12 : std::atoi(text);
    std::filesystem::create_directories(folder_.path() / "backup");
  }

  // Goes on with a new state.
  void Restart() {
    if (!state_.empty()) std::filesystem::remove_all(state_);
    state_ = (folder_.path() / ("state" + std::to_string(next_state_++))).string();
    std::filesystem::create_directories(state_);
    known_ = {};
    snapshots_.clear();
    last_step_ = 0;
  }

  // One life of a pushing process.
  void Life(End end, CounterRng& random) {
    std::array<int, 2> ends = {};
    ASSERT_EQ(0, pipe2(ends.data(), O_CLOEXEC));
    const auto share = static_cast<double>(random.NextBounded(1000)) / 1000;
    const std::string seed = std::to_string(random.Next() >> 1);
    const std::string call =
        std::to_string(1 + static_cast<int64_t>(share * static_cast<double>(MostCalls(end))));
    Kill when;
    if (end == End::kLate) {
      when.after = 1 + static_cast<int64_t>(share * 300);
    } else {
      const double most = end == End::kOpening ? 0.8 : 2;
      when.at = Clock::now() + std::chrono::duration_cast<Clock::duration>(most * share * opening_);
    }
    const std::string backup = (folder_.path() / "backup").string();
    const Clock::time_point begun = Clock::now();
    const pid_t child = fork();
    if (child == 0) {
      dup2(ends[1], STDOUT_FILENO);
      if (power_loss()) {
        setenv("LD_PRELOAD", UNSYNCED_WRITES, 1);
        setenv("UNSYNCED_FOLDER", state_.c_str(), 1);
        setenv("UNSYNCED_BACKUP", backup.c_str(), 1);
        setenv("UNSYNCED_AFTER", call.c_str(), 1);
        setenv("UNSYNCED_SEED", seed.c_str(), 1);
      }
      const std::string level_text = std::to_string(level());
      execl("/proc/self/exe", "state_crash_test", "--push", state_.c_str(), level_text.c_str(),
            nullptr);
      _exit(8);
    }
    close(ends[1]);
    opened_ = false;
    Listen(ends[0], child, begun, power_loss() ? Kill() : when);
    close(ends[0]);
    int status = 0;
    EXPECT_EQ(child, waitpid(child, &status, 0));
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        << "the pushing process ended by itself: " << status;
    if (!opened_) ++ended_opening_;
  }

  // Hears what the process tells, to its end.
  void Listen(int from, pid_t child, Clock::time_point begun, Kill when) {
    const int64_t heard_before = heard_;
    bool killed = false;
    while (true) {
      const Clock::time_point now = Clock::now();
      const bool over = (when.after.has_value() && heard_ - heard_before >= *when.after) ||
                        (when.at.has_value() && now >= *when.at);
      if (over && !killed) {
        kill(child, SIGKILL);
        killed = true;
      }
      pollfd ready = {from, POLLIN, 0};
      std::chrono::nanoseconds wait = std::chrono::minutes(1);
      if (when.at.has_value() && !killed) wait = std::max(*when.at - now, Clock::duration(0));
      const timespec most = {wait.count() / 1'000'000'000, wait.count() % 1'000'000'000};
      const int came = ppoll(&ready, 1, &most, nullptr);
      if (came == 0 && (killed || !when.at.has_value())) {
        ADD_FAILURE() << "the pushing process says nothing for a minute";
        kill(child, SIGKILL);
      }
      if (came == 0) continue;
      Told told;
      if (read(from, &told, sizeof(told)) != sizeof(told)) return;
      if (told.what == Told::What::kOpened) opening_ = Clock::now() - begun;
      Hear(told);
    }
  }

  void Hear(const Told& told) {
    Known& known = known_[static_cast<size_t>(told.client)];
    switch (told.what) {
      case Told::What::kOpened:
        opened_ = true;
        break;
      case Told::What::kSent:
        known.sent = std::max(known.sent, told.number);
        break;
      case Told::What::kAcknowledged:
        known.acknowledged = std::max(known.acknowledged, told.number);
        ++heard_;
        break;
      case Told::What::kSnapshot:
        snapshots_.insert(told.number);
        ++snapshots_heard_;
        break;
      case Told::What::kDeletes:
        snapshots_.erase(told.number);
        break;
    }
  }

  // Opens what is left and compares it with what was heard.
  void Check() {
    const CrashGraph graph;
    const std::unique_ptr<Env> env = MakeSystemEnv();
    auto store = StateStore::Open(CrashOptions(state_, level()), graph.state, *env);
    ASSERT_TRUE(store.ok()) << ToString(store.status());
    ASSERT_TRUE((*store)->Create(CountersSpec()).ok());
    ASSERT_TRUE((*store)->Create(MomentumSpec()).ok());
    MomentumReference reference;
    const int64_t kept = CheckSnapshots(**store, reference);
    const auto rows = RowsNow(**store);
    ASSERT_TRUE(rows.ok()) << ToString(rows.status());
    const auto counts = CountPushes(rows->counters);
    ASSERT_TRUE(counts.ok()) << ToString(counts.status());
    const int64_t step = std::max<int64_t>(0, (*store)->Describe(MomentumSpec().ref)->step);
    CheckNumbers(*counts, step);
    ASSERT_GE(step, kept) << "a snapshot has a step that the state lost";
    reference.GoTo(step);
    EXPECT_TRUE(rows->momentum == reference.Rows()) << "step " << step << " has other rows";
    steps_ += std::max<int64_t>(0, step - last_step_);
    last_step_ = step;

    // The client that heard nothing sends its last ones again: they count once.
    for (int client = 0; client < kCrashClients; ++client) {
      const int64_t count = (*counts)[static_cast<size_t>(client)];
      for (const int64_t number : {2 * count - 1, 2 * step}) {
        if (number <= 0) continue;
        const auto again = (*store)->Push(CrashPush(client, number).request(), {});
        EXPECT_TRUE(again.ok() && again->repeated) << ToString(again.status());
      }
    }
    const auto after = RowsNow(**store);
    EXPECT_TRUE(after.ok() && rows->counters == after->counters &&
                rows->momentum == after->momentum)
        << "a push that was sent again was applied again";
  }

  // Whether the pushes that the state has follow from those that were sent and acknowledged.
  void CheckNumbers(const std::array<int64_t, kCrashClients>& counts, int64_t step) {
    const int64_t fewest = *std::min_element(counts.begin(), counts.end());
    EXPECT_GE(step, fewest - 1) << "steps are lost whose clients went on after them";
    EXPECT_LE(step, fewest) << "a step is there, and what was pushed before is not";
    for (size_t client = 0; client < kCrashClients; ++client) {
      Known& known = known_[client];
      EXPECT_LE(counts[client], (known.sent + 1) / 2);
      EXPECT_LE(step, known.sent / 2);
      if (!Keeps()) lost_ += std::max<int64_t>(0, known.acknowledged - 2 * counts[client]);
      if (!Keeps()) known.acknowledged = std::min(known.acknowledged, 2 * counts[client]);
      EXPECT_GE(counts[client], Keeps() ? (known.acknowledged + 1) / 2 : 0)
          << "acknowledged pushes of client " << client << " are lost";
    }
    const auto least = std::min_element(
        known_.begin(), known_.end(),
        [](const Known& a, const Known& b) { return a.acknowledged < b.acknowledged; });
    EXPECT_GE(step, Keeps() ? least->acknowledged / 2 : 0) << "acknowledged steps are lost";
  }

  // Each snapshot that was told of is there, and each is one moment. The last step that one has.
  int64_t CheckSnapshots(const StateStore& store, MomentumReference& reference) {
    std::vector<SnapshotInfo> infos = store.Snapshots();
    std::set<int64_t> missing = snapshots_;
    std::sort(infos.begin(), infos.end(),
              [](const SnapshotInfo& a, const SnapshotInfo& b) { return a.step < b.step; });
    int64_t last = 0;
    for (const SnapshotInfo& info : infos) {
      missing.erase(SnapshotNumber(info.name));
      if (info.tensors.size() < 2) continue;  // of the moment before the second was created
      last = std::max<int64_t>(0, info.step);
      reference.GoTo(last);
      const auto rows = RowsOfSnapshot(store, info.name);
      EXPECT_TRUE(rows.ok()) << info.name << ": " << ToString(rows.status());
      if (!rows.ok()) continue;
      EXPECT_TRUE(rows->momentum == reference.Images())
          << info.name << " has other rows or optimizer state than step " << last;
      const auto counts = CountPushes(rows->counters);
      EXPECT_TRUE(counts.ok()) << info.name << ": " << ToString(counts.status());
      if (!counts.ok()) continue;
      const int64_t fewest = *std::min_element(counts->begin(), counts->end());
      EXPECT_GE(fewest, last) << info.name << " has a step and not what was pushed before";
      // With a step, tensors that nobody pushes in steps are taken last: they may show more.
      const bool of_moment = !IsOfStep(SnapshotNumber(info.name));
      EXPECT_LE(fewest, of_moment ? last + 1 : INT64_MAX) << info.name << " lacks a step";
    }
    EXPECT_TRUE(missing.empty()) << "snapshot " << *missing.begin() << " was taken, and is lost";
    return last;
  }

  // Whether no crash of this kind may take an acknowledged push. How old a push must be that a
  // power loss takes at kInterval is tested in simulated time (tests/simulation).
  [[nodiscard]] bool Keeps() const {
    const auto sync = static_cast<SyncLevel>(level());
    return sync == SyncLevel::kAlways || !power_loss();
  }

  [[nodiscard]] int level() const { return std::get<0>(GetParam()); }
  [[nodiscard]] bool power_loss() const { return std::get<1>(GetParam()); }

  // Of write, sync, rename and unlink until the power is lost.
  static int64_t MostCalls(End end) {
    return end == End::kOpening ? 40 : end == End::kEarly ? 200 : 800;
  }

  TestFolder folder_;
  std::string state_;
  int next_state_ = 0;
  int crashes_ = 0;
  std::array<Known, kCrashClients> known_;
  std::set<int64_t> snapshots_;                                            // taken, and not deleted
  bool opened_ = false;                                                    // the process that lives
  std::chrono::duration<double> opening_ = std::chrono::milliseconds(50);  // of the last that did
  int64_t last_step_ = 0;
  // Figures of the whole test.
  int64_t heard_ = 0;
  int64_t snapshots_heard_ = 0;
  int64_t steps_ = 0;
  int64_t lost_ = 0;
  int64_t ended_opening_ = 0;
};

TEST_P(StateCrashTest, WhatWasAcknowledgedIsThereOnce) {
  CounterRng random(SubKey(static_cast<uint64_t>(level()), power_loss() ? 1 : 0));
  for (int crash = 0; crash < crashes_ && !HasFailure(); ++crash) {
    constexpr std::array<End, 4> kEnds = {End::kLate, End::kOpening, End::kLate, End::kEarly};
    const End end = kEnds[static_cast<size_t>(crash % 4)];
    if (crash % 20 == 0) Restart();  // a reference of many steps takes its time
    ASSERT_NO_FATAL_FAILURE(Life(end, random)) << "crash " << crash;
    const bool again = random.NextBounded(3) == 0 && crash % 20 != 19 && crash + 1 < crashes_;
    if (again) continue;
    ASSERT_NO_FATAL_FAILURE(Check()) << "crash " << crash;
  }
  std::printf(
      "%d crashes, %ld while opening; acknowledged %ld pushes, %ld steps and %ld snapshots; lost "
      "%ld "
      "pushes as the level allows\n",
      crashes_, ended_opening_, heard_, steps_, snapshots_heard_, lost_);
  EXPECT_GE(heard_, crashes_ * 10) << "too few pushes to prove anything";
  EXPECT_GE(steps_, crashes_) << "too few steps to prove anything";
  EXPECT_GE(snapshots_heard_, crashes_ / 12) << "too few snapshots to prove anything";
  EXPECT_GE(ended_opening_, crashes_ / 12) << "too few crashes while a state was opened";
}

std::string NameOf(const testing::TestParamInfo<std::tuple<int, bool>>& of) {
  constexpr std::array<const char*, 3> kLevels = {"Always", "Interval", "Never"};
  return std::string(kLevels[static_cast<size_t>(std::get<0>(of.param))]) +
         (std::get<1>(of.param) ? "PowerLoss" : "Kill");
}
INSTANTIATE_TEST_SUITE_P(Levels, StateCrashTest,
                         testing::Combine(testing::Values(0, 1, 2), testing::Bool()), NameOf);

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--push") {
    return halograph::RunCrashPusher(argv[2], std::atoi(argv[3]));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
