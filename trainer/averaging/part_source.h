// Where a rank that trains its parts one after the other gets them from, and how the model that is
// made of all is judged: the modes of averaged training. Made in trainer/run/part_sources.h.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "common/base/cancel.h"
#include "common/base/status.h"
#include "trainer/training/evaluation.h"
#include "trainer/training/session.h"

namespace halograph {

// A part as a run of one rank, over the part's rows: what it opened is closed with the object. The
// run's token cancels its calls.
struct OpenedPart {
  explicit OpenedPart(const CancelToken* run)
      : on_run_cancel(run, [this] { session.cancel.Cancel(); }) {}

  Session session;
  const CancelToken::Registration on_run_cancel;
};

// Of the sets valid and test.
struct BothSets {
  std::optional<SetFigures> valid = {};
  std::optional<SetFigures> test = {};
  bool stopped = false;  // by a signal to some rank, on all ranks alike
};

// Not thread-safe.
class PartSource {
 public:
  virtual ~PartSource() = default;

  // This rank's, ascending; each part is one rank's.
  [[nodiscard]] virtual const std::vector<int>& parts() const = 0;
  // The session's model is the run's, with the weights that it has now; its seed is the part's own,
  // whatever rank trains it. Errors name rank and part.
  [[nodiscard]] virtual StatusOr<std::unique_ptr<OpenedPart>> Open(int part) = 0;

  // These two meet with the other ranks. Both sets with the model as it is:
  [[nodiscard]] virtual StatusOr<BothSets> Evaluate() = 0;
  // As MostFrequentShare of trainer/training/evaluation.h.
  [[nodiscard]] virtual StatusOr<std::optional<double>> MostFrequent(BatchPurpose set) = 0;
};

// Parts [floor(rank * parts / world_size), floor((rank + 1) * parts / world_size)): each part is
// one rank's. InvalidArgument: there are fewer parts than ranks.
[[nodiscard]] StatusOr<std::vector<int>> PartsOfRank(int rank, int num_parts, int world_size);

}  // namespace halograph
