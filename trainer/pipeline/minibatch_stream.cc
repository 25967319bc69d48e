#include "trainer/pipeline/minibatch_stream.h"

#include <utility>
#include <vector>

namespace halograph {
namespace {

std::span<const int64_t> ShardOf(std::span<const int64_t> all, IdRange shard) {
  if (all.empty()) return {};
  return all.subspan(static_cast<size_t>(shard.begin), static_cast<size_t>(shard.size()));
}

}  // namespace

MinibatchStream::MinibatchStream(const BatchMaker* maker, std::span<const int64_t> seeds,
                                 std::span<const int64_t> labels, SeedShards shards,
                                 StreamOptions options)
    : maker_(maker),
      seeds_(ShardOf(seeds, shards.of_rank[options.rank])),
      labels_(ShardOf(labels, shards.of_rank[options.rank])),
      shards_(std::move(shards)),
      options_(options),
      steps_(shards_.Steps(options.batch_size)),
      // Threads work on the minibatches of a window; with one step an epoch, that many epochs.
      orders_(static_cast<int64_t>(seeds_.size()), options.seed, options.rank,
              options.prefetch + 1) {
  pipeline_ = std::make_unique<OrderedPipeline<PreparedBatch>>(
      steps_ * options_.epochs, options_.threads, options_.prefetch,
      [this](int64_t index) { return Prepare(index); });
}

StatusOr<PreparedBatch> MinibatchStream::Prepare(int64_t index) {
  const int64_t epoch = index / steps_;
  const int64_t step = index % steps_;
  const IdRange rows = shards_.Batch(options_.rank, options_.batch_size, step);
  const bool train = options_.purpose == BatchPurpose::kTrain;
  const auto order = train ? orders_.Of(epoch) : nullptr;
  std::vector<int64_t> seeds;
  std::vector<int64_t> labels;
  seeds.reserve(static_cast<size_t>(rows.size()));
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const int64_t row = train ? (*order)[i] : i;
    seeds.push_back(seeds_[row]);
    if (!labels_.empty()) labels.push_back(labels_[row]);
  }
  const uint64_t batch_seed = BatchSeed(
      options_.seed, options_.purpose, static_cast<uint64_t>(epoch), static_cast<uint64_t>(step),
      static_cast<uint64_t>(options_.world_size), static_cast<uint64_t>(options_.rank));
  HG_ASSIGN_OR_RETURN(PreparedBatch batch, maker_->Make(seeds, batch_seed));
  batch.labels = std::move(labels);
  return batch;
}

}  // namespace halograph
