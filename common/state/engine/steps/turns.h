// The order of work at one tensor: who changes its rows takes a ticket and waits for its turn;
// readers read between changes. Readers and writers alternate when both wait: neither starves.
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "common/state/env.h"
#include "common/state/patience.h"

namespace halograph {

class Turns {
 public:
  explicit Turns(Scheduler& scheduler) : scheduler_(scheduler), monitor_(scheduler.NewMonitor()) {}

  // Turns come in the order of tickets. Every ticket is waited for, or left, and ended.
  [[nodiscard]] int64_t Take();
  // Waits as long as `patience` says. After an error the turn is left to `work`: whoever ends the
  // turn before it does that, and ends the turn after it. `work` must not throw, nor end the turn.
  // Without memory the process ends.
  [[nodiscard]] Status WaitForTurn(int64_t ticket, const Patience& patience,
                                   std::function<void()> work) noexcept;
  void EndTurn();

  // Within a turn: no reader is between these two.
  void BeginChange();
  void EndChange();

  // False if the time of Scheduler::NowNs came before: nothing is read, and EndRead is not called.
  [[nodiscard]] bool BeginRead(int64_t until_ns);
  void EndRead();

 private:
  Scheduler& scheduler_;
  std::unique_ptr<Monitor> monitor_;
  int64_t next_ = 0;
  int64_t serving_ = 0;
  std::map<int64_t, std::function<void()>> left_;  // by ticket
  int readers_ = 0;
  int waiting_readers_ = 0;
  int admitted_ = 0;  // readers that go before the change that waits
  bool change_waits_ = false;
  bool changing_ = false;
};

// Reads from here to the end of the block, if begun().
class TurnsRead {
 public:
  explicit TurnsRead(Turns& turns, int64_t until_ns = kForever)
      : turns_(turns), begun_(turns_.BeginRead(until_ns)) {}
  ~TurnsRead() {
    if (begun_) turns_.EndRead();
  }
  TurnsRead(const TurnsRead&) = delete;
  TurnsRead& operator=(const TurnsRead&) = delete;

  [[nodiscard]] bool begun() const { return begun_; }

 private:
  Turns& turns_;
  const bool begun_;
};

}  // namespace halograph
