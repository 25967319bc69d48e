// What the phases of one run (training, evaluation, prediction) share. Used by one thread.
#pragma once

#include <memory>

#include "trainer/distributed/communicator.h"
#include "trainer/launch/options.h"
#include "trainer/launch/stop_signal.h"
#include "trainer/models/sage.h"
#include "trainer/pipeline/batch_maker.h"
#include "trainer/pipeline/labeled_seeds.h"
#include "trainer/pipeline/minibatch_stream.h"
#include "trainer/stores/stores.h"

namespace halograph {

struct Session {
  TrainOptions options;
  StopSignal* stop = nullptr;
  Stores stores;
  std::unique_ptr<Communicator> ranks;
  ClassificationTask task;
  std::unique_ptr<BatchMaker> train_maker;
  std::unique_ptr<BatchMaker> eval_maker;
  Sage model{nullptr};

  [[nodiscard]] SeedShards Shards(std::span<const int64_t> sorted_seeds) const {
    const PartitionBook& book = stores.graph->info().book;
    return SplitSeeds(sorted_seeds, book.NodeBoundaries(task.node_type), options.world_size);
  }
  // Cancelled once a signal came.
  [[nodiscard]] Status CheckStop() const {
    return stop->requested() ? Cancelled("stopped by signal") : OkStatus();
  }
};

}  // namespace halograph
