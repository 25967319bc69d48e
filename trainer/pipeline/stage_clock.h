// How the threads of a pipeline's stages spend their time: at work, without work, or with work that
// has no room. The three add up to the time since the clock was made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/base/mutex.h"

namespace halograph {

enum class StageState : uint8_t {
  kStarved,  // waits for what comes before it, or for leave to go on; or has done all there is
  kBusy,
  kBlocked,  // has what it needs, and waits for room behind it
  kParked,   // may not work: in no mean
};

// Seconds of a stage: of several threads, the mean over them, unless it says the sum.
struct StageSeconds {
  double busy = 0;
  double starved = 0;
  double blocked = 0;

  StageSeconds& operator+=(const StageSeconds& other);
  StageSeconds& operator-=(const StageSeconds& other);
};

// Thread-safe.
class StageClock {
 public:
  // Seconds since whenever, never backwards. Thread-safe.
  using Now = std::function<double()>;
  // Of this machine.
  [[nodiscard]] static Now Steady();

  // `threads`: of each stage, at least 1. All begin starved.
  StageClock(const std::vector<size_t>& threads, Now now);

  // A thread of `stage` goes from one state to another.
  void Change(size_t stage, StageState from, StageState to);
  // Of each stage, up to now.
  [[nodiscard]] std::vector<StageSeconds> Read() const;
  // The same as sums over the threads, which never become less, whoever is parked.
  [[nodiscard]] std::vector<StageSeconds> ReadThreads() const;

 private:
  static constexpr size_t kStates = 4;
  struct Stage {
    std::array<size_t, kStates> threads = {};  // in each state
    std::array<double, kStates> seconds = {};  // of all threads, up to `since`
    double since = 0;
    size_t all = 1;

    [[nodiscard]] double Of(StageState state) const { return seconds[static_cast<size_t>(state)]; }
  };
  static void Count(double now, Stage* stage);
  // As they are now.
  [[nodiscard]] std::vector<Stage> Stages() const;

  const Now now_;
  mutable Mutex mutex_;
  std::vector<Stage> stages_ HG_GUARDED_BY(mutex_);
};

}  // namespace halograph
