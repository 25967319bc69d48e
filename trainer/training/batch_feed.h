// A stream of minibatches as the loops consume it: measured, and ended for good when abandoned.
#pragma once

#include <optional>

#include "common/base/status.h"
#include "trainer/pipeline/minibatch_stream.h"
#include "trainer/training/session.h"

namespace halograph {

// How long a loop stood still for minibatches, in seconds. A wait is shared between sampling and
// features as the two shared the minibatch's preparation.
struct FeedWaits {
  double sample_s = 0;
  double feature_s = 0;
};

// What a stop signal does to a pass.
enum class OnSignal {
  kEnd,
  kFinish,  // nothing: the pass is what the signal leaves to be done
};

class BatchFeed {
 public:
  // One pass, or all epochs of training from (first_epoch, first_step) on, --max-steps steps of the
  // run at most, over the rows of `source`, which must outlive the feed.
  BatchFeed(const Session& session, BatchPurpose purpose, const SeedSource& source,
            int64_t first_epoch = 0, int64_t first_step = 0, OnSignal on_signal = OnSignal::kEnd);
  // Cancels what is still being prepared, and waits for it. The stores serve others as before.
  ~BatchFeed();
  BatchFeed(const BatchFeed&) = delete;
  BatchFeed& operator=(const BatchFeed&) = delete;

  [[nodiscard]] int64_t steps_per_epoch() const { return stream_.steps_per_epoch(); }
  [[nodiscard]] const SeedShards& shards() const { return shards_; }
  // For other calls that belong to this pass.
  [[nodiscard]] const CancelToken* cancel() const { return &cancel_; }
  // Requires a next minibatch. Errors as MinibatchStream::Next; Cancelled after a stop signal that
  // ends the pass.
  [[nodiscard]] StatusOr<PreparedBatch> Next(FeedWaits* waits);

 private:
  [[nodiscard]] Status CheckStop() const { return stoppable_ ? session_.CheckStop() : OkStatus(); }

  const Session& session_;
  const bool stoppable_;
  const SeedShards shards_;
  CancelToken cancel_;                             // of this feed's calls
  const CancelToken::Registration on_run_cancel_;  // the run's token cancels it too
  MinibatchStream stream_;
};

// A batch as a model takes it in. The rows go along without a copy, so this works once a batch:
// their memory lives as long as the graph of backward. All else must outlive that graph in `batch`.
// `draws` as ModelInput's.
[[nodiscard]] ModelInput InputOf(PreparedBatch& batch, std::optional<uint64_t> draws);

// The same in evaluation, with the rows that the run has learnt so far. Errors as
// LearntInputs::Start.
[[nodiscard]] StatusOr<ModelInput> EvaluationInputOf(Session& session, PreparedBatch& batch,
                                                     const CancelToken* cancel);

}  // namespace halograph
