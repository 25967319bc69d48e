#include "trainer/pipeline/minibatch_stream.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/rng.h"

namespace halograph {

MinibatchStream::MinibatchStream(const BatchMaker* maker, const SeedSource* source,
                                 SeedShards shards, StreamOptions options)
    : maker_(maker),
      source_(source),
      shards_(std::move(shards)),
      options_(options),
      steps_(shards_.Steps(options.batch_size)),
      // Threads work on the minibatches of a window; with one step an epoch, that many epochs.
      orders_(shards_.of_rank[options.rank].size(), options.seed, options.rank,
              options.prefetch + 1) {
  const int64_t first = options_.first_epoch * steps_ + options_.first_step;
  const int64_t all = steps_ * options_.epochs;
  const int64_t end = options_.max_steps > 0 ? std::min(all, options_.max_steps) : all;
  pipeline_ = std::make_unique<OrderedPipeline<PreparedBatch>>(
      std::max<int64_t>(0, end - first), options_.threads, options_.prefetch,
      [this, first](int64_t index) { return Prepare(first + index); });
}

StatusOr<PreparedBatch> MinibatchStream::Prepare(int64_t index) {
  const int64_t epoch = index / steps_;
  const int64_t step = index % steps_;
  const IdRange batch_rows = shards_.Batch(options_.rank, options_.batch_size, step);
  const int64_t shard_begin = shards_.of_rank[options_.rank].begin;
  const auto order = options_.purpose == BatchPurpose::kTrain ? orders_.Of(epoch) : nullptr;
  std::vector<int64_t> rows;
  rows.reserve(static_cast<size_t>(batch_rows.size()));
  for (int64_t i = batch_rows.begin; i < batch_rows.end; ++i) {
    rows.push_back(shard_begin + (order != nullptr ? (*order)[i] : i));
  }
  const auto rank = static_cast<uint64_t>(options_.rank);
  const uint64_t draws =
      SubKey(StepKey(options_.seed, TrainerStream::kTask, static_cast<uint64_t>(epoch),
                     static_cast<uint64_t>(step), rank),
             static_cast<uint64_t>(options_.purpose));
  StepSeeds seeds;
  HG_RETURN_IF_ERROR(source_->Collect(rows, draws, &seeds));
  const uint64_t batch_seed =
      BatchSeed(options_.seed, options_.purpose, static_cast<uint64_t>(epoch),
                static_cast<uint64_t>(step), static_cast<uint64_t>(options_.world_size), rank);
  // Calls of one minibatch are found together in the servers' logs.
  const CallContext context{
      .cancel = options_.cancel,
      .trace_id = fmt::format("rank{}-purpose{}-epoch{}-step{}", options_.rank,
                              static_cast<int>(options_.purpose), epoch, step)};
  return maker_->Make(std::move(seeds), std::ssize(rows), batch_seed, context);
}

}  // namespace halograph
