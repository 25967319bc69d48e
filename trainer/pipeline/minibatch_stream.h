// The minibatches of one rank, prepared ahead in background threads and handed over in order:
// all epochs of training in one stream, so that the next epoch is being prepared while this one
// is evaluated, or one pass over an evaluation set.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/base/status.h"
#include "common/sampling/request.h"
#include "trainer/pipeline/batch_maker.h"
#include "trainer/pipeline/batch_schedule.h"
#include "trainer/pipeline/ordered_pipeline.h"
#include "trainer/seeds/seed_source.h"
#include "trainer/seeds/seed_split.h"

namespace halograph {

struct StreamOptions {
  BatchPurpose purpose = BatchPurpose::kTrain;
  uint64_t seed = 0;
  int rank = 0;
  int world_size = 1;
  int64_t batch_size = 1000;
  int64_t epochs = 1;       // passes over the rows, 1 unless training
  int64_t max_steps = 0;    // of these passes: the minibatches behind are not made; 0: all are
  int64_t first_epoch = 0;  // what to begin with: the minibatches before are not made
  int64_t first_step = 0;
  size_t threads = 1;   // that prepare
  size_t prefetch = 4;  // minibatches prepared or in the making at most; 0: made when asked for
  // Ends the calls that prepare; null: nobody does. Outlives the stream.
  const CancelToken* cancel = nullptr;
};

// For one consumer thread. `maker` and `source` must outlive the stream.
class MinibatchStream {
 public:
  // `source`: the rows of all ranks; `shards` says which are this rank's. Training shuffles them
  // every epoch; the other purposes go through them in order.
  MinibatchStream(const BatchMaker* maker, const SeedSource* source, SeedShards shards,
                  StreamOptions options);

  [[nodiscard]] int64_t steps_per_epoch() const { return steps_; }
  // Minibatch (epoch, step), steps innermost, from the first that was asked for; nullopt after the
  // last. Errors as OrderedPipeline::Next, SeedSource::Collect and BatchMaker::Make.
  [[nodiscard]] StatusOr<std::optional<PreparedBatch>> Next() { return pipeline_->Next(); }

  // As OrderedPipeline::Close: cancel options.cancel first where a call may be waiting.
  void Close() { pipeline_->Close(); }

 private:
  [[nodiscard]] StatusOr<PreparedBatch> Prepare(int64_t index);

  const BatchMaker* const maker_;
  const SeedSource* const source_;
  const SeedShards shards_;
  const StreamOptions options_;
  const int64_t steps_;
  EpochOrders orders_;
  // Last: its threads use all of the above.
  std::unique_ptr<OrderedPipeline<PreparedBatch>> pipeline_;
};

}  // namespace halograph
