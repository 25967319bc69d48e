// When training ends before its last step, which evaluations are due, and what an evaluation counts
// for: the rules that all ways of training have in common (--time-limit, --patience, --eval-every).
// Which step is the last one, each says itself.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "trainer/training/early_stopping.h"
#include "trainer/training/session.h"
#include "trainer/training/train_result.h"

namespace halograph {

// Changes nothing but the results that it is given. Not thread-safe.
class RunRules {
 public:
  // `session` outlives this object.
  explicit RunRules(const Session& session);

  // FailedPrecondition: patience, and the task has no validation row in the whole graph. The same
  // on all ranks, whatever parts they have.
  [[nodiscard]] Status Check() const;

  // Whether this rank's clock says that --time-limit is over.
  [[nodiscard]] bool TimeIsUp() const;
  // Whether --eval-every asks for an evaluation after one of the epochs [first, end).
  [[nodiscard]] bool DueAfterEpochs(int64_t first, int64_t end) const;
  // Whether --eval-every-steps asks for one after so many steps of the run.
  [[nodiscard]] bool DueAfterStep(int64_t steps) const;

  // Whether an earlier run was done, with its last evaluation too, where `result` is after so many
  // steps. `last`: no step is left. Else patience may have ended it: then ended_by is set.
  [[nodiscard]] bool WasDone(int64_t steps, bool last, TrainResult* result) const;
  // Takes the evaluation of `stats` into the result: its place and time, gains, the best. One that
  // is out of patience ends training, unless something has, or no step is left (`last`). Whether it
  // is the best so far.
  [[nodiscard]] bool Take(const EpochStats& stats, bool last, TrainResult* result) const;
  // An epoch that an earlier run told of and left to be evaluated, at the run's step `step`. What
  // training came to in it is not known any more: NaN.
  [[nodiscard]] EpochStats LeftToEvaluate(int64_t epoch, int64_t step) const;

 private:
  const Session& session_;
  const EarlyStopping early_stopping_;
};

}  // namespace halograph
