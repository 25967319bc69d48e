#include "tests/faults/crash_pusher.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "common/state/durable/system_env.h"
#include "tests/faults/crash_workload.h"

namespace halograph {
namespace {

constexpr int64_t kMostAhead = 16;  // steps between the first and the last client
constexpr int64_t kStepsBetweenSnapshots = 8;

void Tell(Told::What what, int client, int64_t number) {
  const Told told{what, client, number};
  if (write(STDOUT_FILENO, &told, sizeof(told)) != sizeof(told)) _exit(4);
}

// Which step each client has pushed. Thread-safe.
class Pace {
 public:
  explicit Pace(const std::array<int64_t, kCrashClients>& done) : done_(done) {}

  // Waits until the slowest client is at most so many steps behind `step`; returns its step.
  int64_t Await(int64_t step, int64_t behind) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return Slowest() >= step - behind; });
    return Slowest();
  }
  void Done(int client, int64_t step) {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_[static_cast<size_t>(client)] = step;
    changed_.notify_all();
  }

 private:
  [[nodiscard]] int64_t Slowest() const { return *std::min_element(done_.begin(), done_.end()); }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<int64_t, kCrashClients> done_;
};

[[noreturn]] void GiveUp(int code, const std::string& what, const Status& status) {
  std::fprintf(stderr, "%s: %s\n", what.c_str(), ToString(status).c_str());
  _exit(code);
}

void PushForEver(StateStore& store, int client, int64_t number, Pace& pace) {
  for (;; ++number) {
    const bool of_step = number % 2 == 0;
    if (of_step) pace.Await(number / 2, kMostAhead);
    const CrashPush push(client, number);
    Tell(Told::What::kSent, client, number);
    const Status pushed = store.Push(push.request(), {}).status();
    if (!pushed.ok()) GiveUp(5, "a push", pushed);
    Tell(Told::What::kAcknowledged, client, number);
    if (of_step) pace.Done(client, number / 2);
  }
}

// One snapshot in two is of a step that is to come, the others of the moment. Keeps two.
void SnapshotForEver(StateStore& store, Pace& pace) {
  int64_t number = 0;
  for (const SnapshotInfo& info : store.Snapshots()) {
    number = std::max(number, SnapshotNumber(info.name));
  }
  for (int64_t step = 0;;) {
    step = pace.Await(step, 0) + kStepsBetweenSnapshots;
    const std::optional<int64_t> of =
        IsOfStep(++number) ? std::optional(step) : std::optional<int64_t>();
    const auto taken = store.Snapshot(SnapshotName(number), of, {});
    if (absl::IsFailedPrecondition(taken.status())) continue;  // the step was over already
    if (!taken.ok()) GiveUp(6, "a snapshot", taken.status());
    if (of.has_value() && taken->step != *of) GiveUp(6, "a snapshot", Internal("of another step"));
    Tell(Told::What::kSnapshot, 0, number);
    for (const SnapshotInfo& info : store.Snapshots()) {
      const int64_t old = SnapshotNumber(info.name);
      if (old >= number - 1) continue;
      Tell(Told::What::kDeletes, 0, old);
      const Status deleted = store.DeleteSnapshot(info.name);
      if (!deleted.ok()) GiveUp(7, "deleting a snapshot", deleted);
    }
  }
}

}  // namespace

std::string SnapshotName(int64_t number) { return "number-" + std::to_string(number); }
int64_t SnapshotNumber(const std::string& name) {
  return std::stoll(name.substr(name.find('-') + 1));
}

int RunCrashPusher(const std::string& folder, int sync_level) {
  const CrashGraph graph;
  const std::unique_ptr<Env> env = MakeSystemEnv();
  auto store = StateStore::Open(CrashOptions(folder, sync_level), graph.state, *env);
  if (!store.ok()) GiveUp(3, "opening", store.status());
  for (const MutableTensorSpec& spec : {CountersSpec(), MomentumSpec()}) {
    const Status created = (*store)->Create(spec);
    if (!created.ok()) GiveUp(3, "creating a tensor", created);
  }
  const auto rows = RowsNow(**store);
  if (!rows.ok()) return 3;
  const auto counts = CountPushes(rows->counters);
  if (!counts.ok()) return 3;
  Tell(Told::What::kOpened, 0, 0);

  std::array<int64_t, kCrashClients> done;
  for (size_t client = 0; client < done.size(); ++client) {
    done[client] = std::max<int64_t>(0, (*counts)[client] - 1);
  }
  Pace pace(done);
  std::vector<std::thread> threads;
  for (int client = 0; client < kCrashClients; ++client) {
    const int64_t first = std::max<int64_t>(1, 2 * (*counts)[static_cast<size_t>(client)]);
    threads.emplace_back([&, client, first] { PushForEver(**store, client, first, pace); });
  }
  threads.emplace_back([&] { SnapshotForEver(**store, pace); });
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace halograph
