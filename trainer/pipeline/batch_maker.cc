#include "trainer/pipeline/batch_maker.h"

#include <memory>
#include <utility>

#include "common/base/stopwatch.h"
#include "common/storage/dtype.h"

namespace halograph {

BatchMaker::BatchMaker(GraphStore* graph, KVStore* kv, BatchRecipe recipe)
    : graph_(graph), kv_(kv), recipe_(std::move(recipe)) {}

StatusOr<PreparedBatch> BatchMaker::Make(std::span<const int64_t> seeds,
                                         uint64_t batch_seed) const {
  PreparedBatch batch;
  if (seeds.empty()) return batch;
  const Stopwatch sample_watch;
  const SampleRequest request{.seeds = {{.type = recipe_.node_type, .ids = seeds}},
                              .batch_seed = batch_seed,
                              .spec = &recipe_.sampling};
  auto sampled = graph_->Sample(request, &batch.sampled);
  if (!sampled.ok()) return Annotate(sampled.status(), "sampling a minibatch");
  batch.minibatch = std::move(sampled).value();
  batch.sample_seconds = sample_watch.Seconds();

  const Stopwatch pull_watch;
  HG_RETURN_IF_ERROR(Annotate(PullFeatures(batch.minibatch.nodes[recipe_.node_type], &batch),
                              "pulling features of a minibatch"));
  batch.pull_seconds = pull_watch.Seconds();
  return batch;
}

Status BatchMaker::PullFeatures(std::span<const int64_t> ids, PreparedBatch* batch) const {
  const TensorSpec& spec = recipe_.feature_spec;
  batch->features = FeatureMatrix(static_cast<int64_t>(ids.size()), spec.dim);
  const std::span<float> values = batch->features.values();
  if (spec.dtype == DType::kFloat32) {
    HG_RETURN_IF_ERROR(
        kv_->Pull(recipe_.feature, ids, std::as_writable_bytes(values), &batch->pulled));
  } else {
    const size_t bytes = ids.size() * spec.row_bytes();
    const std::unique_ptr<void, void (*)(void*)> memory(TakeFeatureMemory(bytes),
                                                        GiveFeatureMemory);
    auto* const stored = static_cast<std::byte*>(memory.get());
    HG_RETURN_IF_ERROR(kv_->Pull(recipe_.feature, ids, {stored, bytes}, &batch->pulled));
    ConvertToFloat(spec.dtype, stored, values.size(), values.data());
  }
  if (recipe_.normalization == FeatureNormalization::kRow) NormalizeRows(values, spec.dim);
  return OkStatus();
}

}  // namespace halograph
