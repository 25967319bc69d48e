// What the phases of one run (training, evaluation, prediction) share. Used by one thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "client/cached/cached_rows.h"
#include "client/open/open_stores.h"
#include "common/base/stopwatch.h"
#include "common/base/thread_pool.h"
#include "common/program/stop_signal.h"
#include "trainer/device/batch_copier.h"
#include "trainer/distributed/communicator.h"
#include "trainer/embeddings/learnt_inputs.h"
#include "trainer/models/model.h"
#include "trainer/options/train_options.h"
#include "trainer/output/trace_file.h"
#include "trainer/pipeline/batch_maker.h"
#include "trainer/pipeline/weight_sums.h"
#include "trainer/seeds/seed_split.h"
#include "trainer/tasks/task.h"
#include "trainer/training/device_rows.h"
#include "trainer/training/train_metrics.h"

namespace halograph {

// What a sampler knows of the whole graph, from before the first step.
struct SamplerTables {
  std::shared_ptr<const WalkWeights> walks;       // of --sampler saint-walk; else null
  std::shared_ptr<const WeightSums> weight_sums;  // where estimates are divided by them; else null

  [[nodiscard]] bool empty() const { return walks == nullptr && weight_sums == nullptr; }
};

struct Session {
  TrainOptions options;   // of this rank: see OptionsOfRank
  RankSeat seat;          // among the ranks of this process; without a host, alone
  Stopwatch since_start;  // of the run
  StopSignal* stop = nullptr;
  std::shared_ptr<TraceFile> trace;  // of this rank (--trace); or null
  // Of this rank; or null: nobody reads them. Before the stores: their calls count.
  std::shared_ptr<TrainMetrics> metrics;
  // Ends the calls that opening, training and evaluation make of the stores; a stop signal cancels
  // it. Predictions are made all the same, so that a stopped run leaves them. Before the stores: it
  // outlives their calls.
  CancelToken cancel;
  Stores stores;
  // Where the rows of training come from, if remote ones are cached; else null.
  std::unique_ptr<CachedRows> cache;
  MetricReader cache_fetches;  // reads the cache
  double row_forecast = 0;     // rows that an epoch will read by way of it; 0: not known
  SamplerPlan sampler;         // how many minibatches are prepared at once
  SamplerTables tables;        // of the sampler of training
  std::unique_ptr<Communicator> ranks;
  std::unique_ptr<TrainingTask> task;
  std::unique_ptr<ThreadPool> preparing;  // helps threads that prepare minibatches; or null
  FeatureScales feature_scales;  // of all features that are taken in; of kStandard, else empty
  std::unique_ptr<BatchMaker> train_maker;
  std::unique_ptr<BatchMaker> eval_maker;
  Device device;                              // of the model, and of what it reads
  CompactIds compact;                         // of --compact device; else null
  std::unique_ptr<const BatchCopier> copier;  // of the minibatches; null where `device` is the CPU
  std::unique_ptr<const DeviceRows>
      device_rows;  // that stay there (--device-cache-memory); or null
  std::shared_ptr<Model> model;
  std::vector<int64_t> input_dims;       // ModelShape's, of the model
  std::unique_ptr<LearntInputs> learnt;  // null: all inputs are features
  std::string advice;                    // what an error that ends the run is to end with
  // Whether the user knows that --prefetch-memory is less than a step takes.
  std::shared_ptr<std::atomic<bool>> told_of_memory = std::make_shared<std::atomic<bool>>(false);

  // The weights that are trained: the model's, then the task's.
  [[nodiscard]] std::vector<torch::Tensor> Parameters() const {
    std::vector<torch::Tensor> all = model->parameters();
    for (torch::Tensor& parameter : task->parameters()) all.push_back(std::move(parameter));
    return all;
  }
  [[nodiscard]] SeedShards Shards(const SeedSource& source) const {
    return SplitRows(source.part_rows(), options.world_size);
  }
  // Cancelled once a signal came.
  [[nodiscard]] Status CheckStop() const {
    return stop->requested() ? Cancelled("stopped by signal") : OkStatus();
  }
};

}  // namespace halograph
