// The state engine in real processes that end at random points: killed while four clients push, and
// crashed with unsynced writes lost (unsynced_writes.cc). The next process must find a state in
// which every acknowledged push is applied, none twice, and none without those before it.
//
// Client c adds (1, s, 1 + s % 7) with its push s to its own row, and 1 to a row that all share: so
// the row of a client tells which of its pushes were applied.
//
//   HALOGRAPH_CRASHES=1000 build/release/bin/state_crash_test      by hand; for each case
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/rng.h"
#include "common/graph/partition_book.h"
#include "common/state/durable/system_env.h"
#include "common/state/state_store.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

constexpr int kClients = 4;
constexpr int64_t kSyncIntervalNs = 20'000'000;
constexpr int64_t kShared = kClients;  // the row that all add to
constexpr int64_t kDim = 3;

struct Graph {
  Schema schema;
  PartitionBook book;
  StateGraph state;
  Graph() {
    schema.graph_name = "crash";
    schema.node_types.push_back({.name = "node", .count = kClients + 1, .features = {}});
    book = PartitionBook::Create(schema, {{0, kClients + 1}}, {}).value();
    state.identity = "crash";
    state.schema = &schema;
    state.book = &book;
  }
};

MutableTensorSpec Counters() {
  MutableTensorSpec spec;
  spec.ref.name = "counters";
  spec.placement = Placement::kRange;
  spec.rows = kClients + 1;
  spec.dim = kDim;
  return spec;
}

StateOptions OptionsOf(const std::string& folder, int level) {
  StateOptions options;
  options.folder = folder;
  options.sync = static_cast<SyncLevel>(level);
  options.sync_interval_ns = kSyncIntervalNs;
  options.segment_bytes = 64 << 10;
  options.log_bytes = 512 << 10;
  return options;
}

// What the pushing process tells: a push is about to be sent, or was acknowledged.
struct Told {
  int32_t client = 0;
  int32_t acknowledged = 0;
  int64_t sequence = 0;
};

bool PushOne(StateStore& store, int client, int64_t sequence) {
  const std::array<int64_t, 2> ids = {client, kShared};
  const auto s = static_cast<float>(sequence);
  const std::array<float, 2 * kDim> rows = {1, s, 1 + static_cast<float>(sequence % 7), 1, 0, 0};
  PushRequest push;
  push.tensor = Counters().ref;
  push.kind = PushKind::kAdd;
  push.client = 100 + static_cast<uint64_t>(client);
  push.sequence = static_cast<uint64_t>(sequence);
  push.ids = ids;
  push.rows = std::as_bytes(std::span(rows));
  return store.Push(push, {}).ok();
}

// The pushing process: FOLDER LEVEL and the first number of each client. Ends when it is killed.
int Pusher(char** arguments) {
  const Graph graph;
  const std::unique_ptr<Env> env = MakeSystemEnv();
  auto store =
      StateStore::Open(OptionsOf(arguments[0], std::atoi(arguments[1])), graph.state, *env);
  if (!store.ok() || !(*store)->Create(Counters()).ok()) return 3;
  std::vector<std::thread> threads;
  for (int client = 0; client < kClients; ++client) {
    threads.emplace_back([&, client] {
      for (int64_t sequence = std::atoll(arguments[2 + client]);; ++sequence) {
        const auto tell = [&](int32_t acknowledged) {
          const Told told{client, acknowledged, sequence};
          if (write(STDOUT_FILENO, &told, sizeof(told)) != sizeof(told)) _exit(4);
        };
        tell(0);
        if (!PushOne(**store, client, sequence)) _exit(5);
        tell(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

// What is known of one client.
struct Known {
  int64_t sent = 0;
  int64_t acknowledged = 0;
};

class StateCrashTest : public testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  void SetUp() override {
    const char* text = std::getenv("HALOGRAPH_CRASHES");
    crashes_ = text == nullptr ? 12 : std::atoi(text);
    std::filesystem::create_directories(folder_.path() / "backup");
    Restart();
  }

  void Restart() {
    state_ = (folder_.path() / ("state" + std::to_string(next_state_++))).string();
    std::filesystem::create_directories(state_);
    known_ = {};
    last_applied_ = {};
  }

  // One life of a pushing process; returns how many pushes it had acknowledged.
  int64_t Life(CounterRng& random) {
    std::array<int, 2> ends = {};
    EXPECT_EQ(0, pipe2(ends.data(), O_CLOEXEC));
    const int64_t crash_at = 1 + static_cast<int64_t>(random.NextBounded(power_loss() ? 400 : 300));
    std::vector<std::string> words = {"/proc/self/exe", "--push", state_, std::to_string(level())};
    for (const int64_t applied : last_applied_) words.push_back(std::to_string(applied + 1));
    const std::string seed = std::to_string(random.Next() >> 1);
    const pid_t child = fork();
    if (child == 0) {
      dup2(ends[1], STDOUT_FILENO);
      if (power_loss()) {
        setenv("LD_PRELOAD", UNSYNCED_WRITES, 1);
        setenv("UNSYNCED_FOLDER", state_.c_str(), 1);
        setenv("UNSYNCED_EXCEPT", "/catalogue", 1);
        setenv("UNSYNCED_BACKUP", (folder_.path() / "backup").c_str(), 1);
        setenv("UNSYNCED_AFTER", std::to_string(crash_at).c_str(), 1);
        setenv("UNSYNCED_SEED", seed.c_str(), 1);
      }
      std::vector<char*> pointers;
      for (std::string& word : words) pointers.push_back(word.data());
      pointers.push_back(nullptr);
      execv("/proc/self/exe", pointers.data());
      _exit(6);
    }
    close(ends[1]);
    const int64_t heard = Listen(ends[0], child, crash_at);
    close(ends[0]);
    int status = 0;
    EXPECT_EQ(child, waitpid(child, &status, 0));
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        << "the pushing process ended by itself: " << status;
    return heard;
  }

  // Hears what the process tells, to its end; kills it after `kill_after` acknowledged pushes.
  int64_t Listen(int from, pid_t child, int64_t kill_after) {
    int64_t heard = 0;
    bool killed = false;
    Told told;
    while (true) {
      pollfd ready = {from, POLLIN, 0};
      if (poll(&ready, 1, 60'000) <= 0) {
        ADD_FAILURE() << "the pushing process says nothing for a minute";
        kill(child, SIGKILL);
      }
      const ssize_t got = read(from, &told, sizeof(told));
      if (got != sizeof(told)) return heard;
      Known& known = known_[static_cast<size_t>(told.client)];
      known.sent = std::max(known.sent, told.sequence);
      if (told.acknowledged == 0) continue;
      known.acknowledged = std::max(known.acknowledged, told.sequence);
      if (++heard >= kill_after && !power_loss() && !killed) {
        kill(child, SIGKILL);
        killed = true;
      }
    }
  }

  // Opens what is left and compares it with what was heard.
  void Check() {
    const Graph graph;
    const std::unique_ptr<Env> env = MakeSystemEnv();
    auto store = StateStore::Open(OptionsOf(state_, level()), graph.state, *env);
    ASSERT_TRUE(store.ok()) << ToString(store.status());
    ASSERT_TRUE((*store)->Create(Counters()).ok());
    std::array<float, (kClients + 1)* kDim> rows = {};
    const std::array<int64_t, kClients + 1> ids = {0, 1, 2, 3, 4};
    ASSERT_TRUE(
        (*store)
            ->Pull(Counters().ref, ids, {}, 0, reinterpret_cast<std::byte*>(rows.data()), {})
            .ok());
    int64_t total = 0;
    for (size_t client = 0; client < kClients; ++client) {
      const float* row = rows.data() + client * kDim;
      const auto applied = static_cast<int64_t>(row[0]);
      int64_t by_number = 0;
      int64_t by_rest = 0;
      for (int64_t s = 1; s <= applied; ++s) {
        by_number += s;
        by_rest += 1 + s % 7;
      }
      EXPECT_EQ(static_cast<float>(by_number), row[1]) << "not the first " << applied << " pushes";
      EXPECT_EQ(static_cast<float>(by_rest), row[2]) << "not the first " << applied << " pushes";
      EXPECT_LE(applied, known_[client].sent);
      EXPECT_GE(applied, MustKeep(known_[client]))
          << "acknowledged pushes of " << client << " are lost";
      lost_ += std::max<int64_t>(0, known_[client].acknowledged - applied);
      known_[client].acknowledged = std::min(known_[client].acknowledged, applied);
      last_applied_[client] = applied;
      total += applied;
      // The client that heard nothing sends its last one again: it counts once.
      const bool again = applied == 0 || PushOne(**store, static_cast<int>(client), applied);
      EXPECT_TRUE(again);
    }
    EXPECT_EQ(static_cast<float>(total), rows[kShared * kDim]) << "the shared row misses pushes";
    std::array<float, (kClients + 1)* kDim> again = {};
    ASSERT_TRUE(
        (*store)
            ->Pull(Counters().ref, ids, {}, 0, reinterpret_cast<std::byte*>(again.data()), {})
            .ok());
    EXPECT_EQ(rows, again) << "a push that was sent again was applied again";
  }

  // The last push of a client that no crash of this kind may take. How old a push must be that a
  // power loss takes at kInterval is tested in simulated time (tests/simulation).
  [[nodiscard]] int64_t MustKeep(const Known& known) const {
    const auto sync = static_cast<SyncLevel>(level());
    const bool kept = sync == SyncLevel::kAlways || (sync == SyncLevel::kInterval && !power_loss());
    return kept ? known.acknowledged : 0;
  }

  [[nodiscard]] int level() const { return std::get<0>(GetParam()); }
  [[nodiscard]] bool power_loss() const { return std::get<1>(GetParam()); }

  TestFolder folder_;
  std::string state_;
  int next_state_ = 0;
  int crashes_ = 0;
  std::array<Known, kClients> known_;
  std::array<int64_t, kClients> last_applied_ = {};
  int64_t lost_ = 0;
};

TEST_P(StateCrashTest, WhatWasAcknowledgedIsThereOnce) {
  CounterRng random(SubKey(static_cast<uint64_t>(level()), power_loss() ? 1 : 0));
  int64_t heard = 0;
  for (int crash = 0; crash < crashes_ && !HasFailure(); ++crash) {
    if (crash % 20 == 19) Restart();  // sums stay exact in float32
    heard += Life(random);
    ASSERT_NO_FATAL_FAILURE(Check()) << "crash " << crash;
  }
  std::printf("%d crashes, %ld pushes acknowledged, %ld lost as the level allows\n", crashes_,
              heard, lost_);
  EXPECT_GE(heard, crashes_ * 10) << "too few pushes to prove anything";
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
  if (argc == 4 + halograph::kClients && std::string(argv[1]) == "--push") {
    return halograph::Pusher(argv + 2);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
