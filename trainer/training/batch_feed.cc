#include "trainer/training/batch_feed.h"

#include "common/base/stopwatch.h"

namespace halograph {
namespace {

StreamOptions StreamOptionsOf(const Session& session, BatchPurpose purpose, int64_t first_epoch,
                              int64_t first_step, const CancelToken* cancel) {
  const TrainOptions& options = session.options;
  const bool train = purpose == BatchPurpose::kTrain;
  StreamOptions stream;
  stream.purpose = purpose;
  stream.seed = options.seed;
  stream.rank = options.rank;
  stream.world_size = options.world_size;
  stream.batch_size = train ? options.batch_size : options.eval_batch_size;
  stream.epochs = train ? options.epochs : 1;
  stream.max_steps = train ? options.control.max_steps : 0;
  stream.first_epoch = first_epoch;
  stream.first_step = first_step;
  stream.threads = static_cast<size_t>(session.sampler.minibatches);
  stream.prefetch = static_cast<size_t>(options.prefetch);
  stream.cancel = cancel;
  return stream;
}

// Its first `cols` columns; the room behind them goes along.
torch::Tensor TakeMatrix(FeatureMatrix& matrix, int64_t cols) {
  const int64_t rows = matrix.rows();
  const int64_t stride = matrix.cols();
  const auto type = matrix.precision() == Precision::kBf16 ? torch::kBFloat16 : torch::kFloat32;
  return torch::from_blob(matrix.Release(), {rows, stride}, FeatureMatrix::Free, type)
      .narrow(1, 0, cols);
}

}  // namespace

BatchFeed::BatchFeed(const Session& session, BatchPurpose purpose, const SeedSource& source,
                     int64_t first_epoch, int64_t first_step, OnSignal on_signal)
    : session_(session),
      stoppable_(on_signal == OnSignal::kEnd),
      shards_(session.Shards(source)),
      on_run_cancel_(stoppable_ ? &session.cancel : nullptr, [this] { cancel_.Cancel(); }),
      stream_(
          purpose == BatchPurpose::kTrain ? session.train_maker.get() : session.eval_maker.get(),
          &source, shards_, StreamOptionsOf(session, purpose, first_epoch, first_step, &cancel_)) {}

BatchFeed::~BatchFeed() { cancel_.Cancel(); }

StatusOr<PreparedBatch> BatchFeed::Next(FeedWaits* waits) {
  HG_RETURN_IF_ERROR(CheckStop());
  const Stopwatch watch;
  auto next = stream_.Next();
  const double waited = watch.Seconds();
  // A signal cancels the calls; what they then say is not the reason.
  if (!next.ok()) HG_RETURN_IF_ERROR(CheckStop());
  HG_ASSIGN_OR_RETURN(std::optional<PreparedBatch> batch, std::move(next));
  if (!batch.has_value()) return Internal("a minibatch was asked for after the last");
  const double prepared = batch->sample_seconds + batch->pull_seconds;
  const double sampling = prepared > 0 ? batch->sample_seconds / prepared : 0.0;
  waits->sample_s += waited * sampling;
  waits->feature_s += waited * (1 - sampling);
  return std::move(*batch);
}

ModelInput InputOf(PreparedBatch& batch, std::optional<uint64_t> draws) {
  ModelInput input{.minibatch = &batch.minibatch, .nodes = {}, .draws = draws};
  for (FeatureMatrix& features : batch.features) {
    input.nodes.push_back(features.cols() > 0 ? TakeMatrix(features, features.cols())
                                              : torch::Tensor());
  }
  for (SelfAndMean& block : batch.self_and_mean) {
    input.self_and_mean.push_back(TakeMatrix(block.rows, block.cols));
  }
  if (!batch.blocks.layers.empty()) input.blocks = &batch.blocks;
  return input;
}

StatusOr<ModelInput> EvaluationInputOf(Session& session, PreparedBatch& batch,
                                       const CancelToken* cancel) {
  ModelInput input = InputOf(batch, {});
  if (session.learnt == nullptr) return input;
  HG_ASSIGN_OR_RETURN(const LearntRows rows, session.learnt->Start(batch.minibatch, cancel).get());
  session.learnt->Give(rows, false, &input);
  return input;
}

}  // namespace halograph
