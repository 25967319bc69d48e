#include "trainer/training/batch_feed.h"

#include "common/base/stopwatch.h"

namespace halograph {
namespace {

StreamOptions StreamOptionsOf(const Session& session, BatchPurpose purpose) {
  const TrainOptions& options = session.options;
  const bool train = purpose == BatchPurpose::kTrain;
  StreamOptions stream;
  stream.purpose = purpose;
  stream.seed = options.seed;
  stream.rank = options.rank;
  stream.world_size = options.world_size;
  stream.batch_size = train ? options.batch_size : options.eval_batch_size;
  stream.epochs = train ? options.epochs : 1;
  stream.threads = static_cast<size_t>(options.sample_threads);
  stream.prefetch = static_cast<size_t>(options.prefetch);
  return stream;
}

}  // namespace

BatchFeed::BatchFeed(const Session& session, BatchPurpose purpose, std::span<const int64_t> seeds,
                     std::span<const int64_t> labels)
    : session_(session),
      shards_(session.Shards(seeds)),
      left_(0),
      stream_(
          purpose == BatchPurpose::kTrain ? session.train_maker.get() : session.eval_maker.get(),
          seeds, labels, shards_, StreamOptionsOf(session, purpose)) {
  left_ = stream_.steps_per_epoch() * StreamOptionsOf(session, purpose).epochs;
}

BatchFeed::~BatchFeed() {
  if (left_ > 0) session_.stores.Shutdown();
}

StatusOr<PreparedBatch> BatchFeed::Next(FeedWaits* waits) {
  HG_RETURN_IF_ERROR(session_.CheckStop());
  const Stopwatch watch;
  auto next = stream_.Next();
  const double waited = watch.Seconds();
  // A signal shuts the stores down; what they then say is not the reason.
  if (!next.ok()) HG_RETURN_IF_ERROR(session_.CheckStop());
  HG_ASSIGN_OR_RETURN(std::optional<PreparedBatch> batch, std::move(next));
  if (!batch.has_value()) return Internal("a minibatch was asked for after the last");
  --left_;
  const double prepared = batch->sample_seconds + batch->pull_seconds;
  const double sampling = prepared > 0 ? batch->sample_seconds / prepared : 0.0;
  waits->sample_s += waited * sampling;
  waits->feature_s += waited * (1 - sampling);
  return std::move(*batch);
}

torch::Tensor TakeFeatures(PreparedBatch& batch) {
  const int64_t rows = batch.features.rows();
  const int64_t cols = batch.features.cols();
  return torch::from_blob(batch.features.Release(), {rows, cols}, FeatureMatrix::Free,
                          torch::kFloat32);
}

torch::Tensor LabelsOf(const PreparedBatch& batch) {
  return torch::from_blob(const_cast<int64_t*>(batch.labels.data()),
                          {static_cast<int64_t>(batch.labels.size())}, torch::kInt64);
}

}  // namespace halograph
