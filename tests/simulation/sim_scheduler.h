// Threads of a simulated run. They are real threads of which one runs at a time: at every call of
// the simulated machine the one that runs may have to hand over to another, which the seed chooses.
// So code under test stays synchronous, and a seed replays a run step by step. The clock is
// simulated: it stands still while a thread can run, and jumps to the next deadline when all wait.
//
// All functions but Run are called by the threads of the run. What the simulation itself keeps
// needs no locks: nobody else runs between two calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/state/env.h"
#include "tests/simulation/sim_random.h"

namespace halograph::sim {

inline constexpr int64_t kMicrosecond = 1'000;
inline constexpr int64_t kMillisecond = 1'000'000;
inline constexpr int64_t kSecond = 1'000'000'000;
// Where the clock begins: further than any real clock, so that a deadline of simulated time, taken
// for one of std::chrono::steady_clock, is never over.
inline constexpr int64_t kBeginningNs = 4'000'000'000'000'000'000;

struct SchedulerOptions {
  int64_t max_steps = 2'000'000;        // calls of the machine before the run is given up
  int64_t max_time_ns = 600 * kSecond;  // the same of simulated time
};

class SimScheduler {
 public:
  SimScheduler(uint64_t seed, const SchedulerOptions& options);
  ~SimScheduler();
  SimScheduler(const SimScheduler&) = delete;
  SimScheduler& operator=(const SimScheduler&) = delete;

  // Runs `body` as the first thread until all threads have ended. Returns "", or why the run could
  // not go on: who waits for what, and the last calls. Then its threads stand still until the
  // program ends, and what they use must not be destroyed.
  [[nodiscard]] std::string Run(std::function<void()> body);
  // Ends the run as one that cannot go on. Does not return.
  [[noreturn]] void Stop(const std::string& why);

  // A thread of process `process`. The object's destructor waits for its end.
  [[nodiscard]] std::unique_ptr<RunningThread> Start(std::string_view name, int process,
                                                     std::function<void()> body);

  // A call of the machine: part of the trace; another thread may run before it returns. `what` is a
  // literal.
  void Point(const char* what, uint64_t detail = 0);
  // Waits until `ready` holds, at most until `until_ns`. Returns whether it holds. `ready` calls
  // nothing of the run and looks at it only.
  bool WaitUntil(const char* what, int64_t until_ns, std::function<bool()> ready);
  void Sleep(int64_t ns) {
    WaitUntil("sleep", now_ns_ + ns, [] { return false; });
  }

  [[nodiscard]] int64_t now_ns() const { return now_ns_; }
  [[nodiscard]] int process() const;  // of the thread that runs
  // From here to EndExclusive only threads of `process` run, and the clock is theirs: then it
  // stands where it stood. So what is left of a process that crashed winds up without time passing.
  void BeginExclusive(int process);
  void EndExclusive();

  // Of all calls so far: equal for equal runs.
  [[nodiscard]] uint64_t trace() const { return trace_; }
  [[nodiscard]] int64_t steps() const { return steps_; }
  [[nodiscard]] std::string LastCalls() const;

 private:
  struct Thread;
  struct Call {
    int64_t now_ns = 0;
    const char* what = "";
    const Thread* thread = nullptr;
    uint64_t detail = 0;
  };
  class Running;

  void Enter(Thread* thread);
  void Count(const char* what, uint64_t detail);
  void SwitchFrom(Thread* self);
  Thread* PickNext();
  void Collect(std::vector<Thread*>* ready);
  bool Alone() const;
  std::string WhoWaits() const;

  SchedulerOptions options_;
  Random random_;
  double switch_chance_;
  int64_t now_ns_ = kBeginningNs;
  int64_t saved_now_ns_ = 0;
  int exclusive_ = -1;
  int64_t steps_ = 0;
  uint64_t trace_ = 0;
  std::vector<Call> last_calls_;  // a ring
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Thread*> ready_;  // of PickNext
  Thread* current_ = nullptr;
  struct Outside;
  std::unique_ptr<Outside> outside_;  // where Run waits
  std::string stopped_;
};

// A monitor whose waits go by the scheduler. `point` is called at each call, before it takes
// effect; it may be empty.
[[nodiscard]] std::unique_ptr<Monitor> MakeMonitor(SimScheduler* scheduler,
                                                   std::function<void(const char*)> point,
                                                   Random* random);

}  // namespace halograph::sim
