// A snapshot of the moment after a step that is being taken: it is asked for before the step is
// pushed, and the store writes it while training goes on.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <string>

#include "common/base/cancel.h"
#include "common/base/status.h"
#include "trainer/checkpoint/snapshots/run_snapshots.h"

namespace halograph {

// A snapshot that was asked for.
struct AskedSnapshot {
  std::string name;
  // Durable, or an error as RunSnapshots::Take. FailedPrecondition: the next step was complete
  // before the store heard of it.
  std::shared_future<Status> kept;
};

// For one thread.
class SnapshotBehind {
 public:
  explicit SnapshotBehind(const RunSnapshots* snapshots) : snapshots_(*snapshots) {}
  // As GiveUp.
  ~SnapshotBehind() { GiveUp(); }
  SnapshotBehind(const SnapshotBehind&) = delete;
  SnapshotBehind& operator=(const SnapshotBehind&) = delete;

  // Asks for the moment after the pushes of `step`, on a thread of its own. Requires that the
  // tensors have been pushed to in steps before, and that the one asked for before has ended.
  void Ask(int64_t steps_done, int64_t step);
  // Whether the last one asked for is of these steps, and nobody gave it up.
  [[nodiscard]] bool Asked(int64_t steps_done) const;
  [[nodiscard]] const AskedSnapshot& asked() const { return asked_; }
  // Whether it is known that the store heard of that one too late.
  [[nodiscard]] bool CameTooLate(int64_t steps_done) const;
  // Ends the wait for a step that may never come, and waits for the end of what is being written.
  void GiveUp();

 private:
  const RunSnapshots& snapshots_;
  int64_t steps_done_ = -1;
  std::unique_ptr<CancelToken> cancel_;  // of the last one asked for
  AskedSnapshot asked_;                  // its thread uses the above
};

}  // namespace halograph
