// Collects the pushes of synchronous steps of one tensor until those of all ranks are there. A pure
// function of the pushes in the log, in their order. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/state/engine/log/record.h"
#include "common/state/waiting_bytes.h"

namespace halograph {

// A push that waits for its step. The thread that pushes copies what `record` borrows, before its
// turn at the tensor ends.
struct WaitingPush {
  LogRecord record;  // without ids and rows until `copied`
  std::vector<int64_t> ids;
  std::vector<std::byte> values;
  std::vector<int64_t> rows;  // local
  bool copied = false;        // never, if there was no memory
  int64_t bytes = 0;          // of the copy; 0: there is none
  int64_t left_out = 0;       // bytes of the copy that a start did without: it is never made

  void ForgetCopy();

  [[nodiscard]] const SyncStep& step() const { return *record.push.step; }
};
using WaitingPushes = std::vector<std::shared_ptr<WaitingPush>>;

class StepCollector {
 public:
  // Whether a push may join, as StateStore::Push says of its step. All pushes of a step are of one
  // kind. `bytes`: of its copy, if it does not complete its step; `memory`: of all that wait, of
  // which half is for steps that are due: a rank that runs ahead must not take it from them.
  [[nodiscard]] Status Check(const SyncStep& step, PushKind kind, int64_t bytes,
                             const WaitingBytes& memory) const;

  // Takes a push that Check allowed. Returns those that are given up, of the run before.
  [[nodiscard]] WaitingPushes Add(std::shared_ptr<WaitingPush> push);
  // The pushes of the step that is due, by rank and chunk, if all are there; then the next step
  // is due. Else none.
  [[nodiscard]] WaitingPushes TakeComplete();

  // Of the newest step that has copies, the pushes that have; empty if none has.
  [[nodiscard]] WaitingPushes Newest() const;
  // All that wait, in the order of their LSNs.
  [[nodiscard]] WaitingPushes Waiting() const;
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] int64_t step() const {
    return memory_.step;
  }  // the last that was complete; -1: none
  // "step 7 waits for the push of rank 1, 3 (world size 4)", or "" if nothing waits.
  [[nodiscard]] std::string Missing() const;

  // Forgets what waits and refuses the run from now on; the steps go on after `step`.
  [[nodiscard]] WaitingPushes Restart(int64_t step);

  // What it remembers beside the waiting pushes, for checkpoints.
  struct Memory {
    int64_t step = -1;
    uint64_t run = 0;
    int32_t world_size = 0;  // 0: no run yet
    bool started = false;    // the run has completed a step
    std::vector<uint64_t> past_runs;
  };
  [[nodiscard]] const Memory& memory() const { return memory_; }
  void Remember(const Memory& memory) { memory_ = memory; }

 private:
  using ByRank = std::map<std::pair<int32_t, int32_t>, std::shared_ptr<WaitingPush>>;  // and chunk
  struct OfStep {
    ByRank pushes;
    int32_t ranks = 0;  // of which all chunks are there
  };

  [[nodiscard]] Status CheckOrder(const SyncStep& step, PushKind kind) const;
  [[nodiscard]] Status CheckFirst(const SyncStep& step) const;
  [[nodiscard]] bool IsOfRun(const SyncStep& step) const {
    return memory_.world_size != 0 && step.run == memory_.run;
  }
  [[nodiscard]] bool IsDue(const SyncStep& step) const;
  [[nodiscard]] bool Completes(const SyncStep& step) const;
  // `free` bytes are free for it. Names whom its run waits for; else, where steps of others take
  // some of the memory, these. A run that begins has what the run before takes.
  [[nodiscard]] Status DoesNotFit(const SyncStep& step, int64_t bytes, int64_t free,
                                  const WaitingBytes& memory) const;
  [[nodiscard]] int64_t DueStep() const;  // requires that something waits or a run has started
  // Chunks of the rank that are there.
  [[nodiscard]] static bool HasAll(const ByRank& pushes, int32_t rank);
  [[nodiscard]] static int32_t ChunksOf(const ByRank& pushes, int32_t rank);
  void BeginRun(const SyncStep& step, WaitingPushes* given_up);
  void EndRun();

  Memory memory_;
  std::map<int64_t, OfStep> waiting_;  // by step
};

}  // namespace halograph
