#include "trainer/pipeline/batch_maker.h"

#include <memory>
#include <utility>

#include "common/base/stopwatch.h"
#include "common/storage/dtype.h"

namespace halograph {
namespace {

// Rows of one tensor on their way into a matrix of the model's.
class Incoming {
 public:
  Incoming(const NodeInput& input, size_t rows, FeatureMatrix* matrix)
      : input_(input), matrix_(matrix), memory_(nullptr, GiveFeatureMemory) {
    *matrix_ = FeatureMatrix(static_cast<int64_t>(rows), input.spec.dim);
    if (input.spec.dtype == DType::kFloat32) {
      stored_ = std::as_writable_bytes(matrix_->values());
      return;
    }
    const size_t bytes = rows * input.spec.row_bytes();
    memory_.reset(TakeFeatureMemory(bytes));
    stored_ = {static_cast<std::byte*>(memory_.get()), bytes};
  }

  // Where the rows go, in the dtype that they are stored in.
  [[nodiscard]] std::span<std::byte> stored() const { return stored_; }

  void Convert() {
    const std::span<float> values = matrix_->values();
    if (memory_ != nullptr) {
      ConvertToFloat(input_.spec.dtype, stored_.data(), values.size(), values.data());
    }
    if (input_.normalization == FeatureNormalization::kRow) {
      NormalizeRows(values, input_.spec.dim);
    }
  }

 private:
  const NodeInput& input_;
  FeatureMatrix* matrix_;
  std::unique_ptr<void, void (*)(void*)> memory_;  // null: straight into the matrix
  std::span<std::byte> stored_;
};

// Borrows from `seeds` and `recipe`.
SampleRequest RequestFor(const StepSeeds& seeds, uint64_t batch_seed, const BatchRecipe& recipe) {
  SampleRequest request{.batch_seed = batch_seed,
                        .spec = &recipe.sampling,
                        .edge_ids = recipe.edge_ids,
                        .weights = recipe.weights};
  for (const auto& list : seeds.seeds) request.seeds.push_back({list.type, list.ids});
  for (const auto& edges : seeds.exclude) {
    request.exclude.push_back({edges.relation, edges.sources, edges.destinations});
  }
  return request;
}

}  // namespace

BatchMaker::BatchMaker(GraphStore* graph, KVStore* kv, BatchRecipe recipe)
    : graph_(graph), kv_(kv), recipe_(std::move(recipe)) {}

StatusOr<PreparedBatch> BatchMaker::Make(StepSeeds seeds, int64_t rows, uint64_t batch_seed,
                                         const CallContext& like) const {
  PreparedBatch batch;
  batch.rows = rows;
  batch.labels = std::move(seeds.labels);
  if (rows == 0) return batch;
  const Stopwatch sample_watch;
  const SampleRequest request = RequestFor(seeds, batch_seed, recipe_);
  CallContext sampling = InnerContext(like, {});
  HG_RETURN_IF_ERROR(
      Annotate(graph_->Sample(request, sampling, &batch.minibatch), "sampling a minibatch"));
  batch.sampled = sampling.stats;
  batch.sample_seconds = sample_watch.Seconds();

  const Stopwatch pull_watch;
  CallContext pulling = InnerContext(like, {});
  HG_RETURN_IF_ERROR(Annotate(PullFeatures(pulling, &batch), "pulling features of a minibatch"));
  batch.pulled = pulling.stats;
  batch.pull_seconds = pull_watch.Seconds();
  return batch;
}

Status BatchMaker::PullFeatures(CallContext& context, PreparedBatch* batch) const {
  batch->features.resize(batch->minibatch.nodes.size());
  std::vector<Incoming> incoming;
  incoming.reserve(recipe_.inputs.size());
  std::vector<RowRequest> requests;
  for (const NodeInput& input : recipe_.inputs) {
    const std::vector<int64_t>& ids = batch->minibatch.nodes[input.node_type];
    incoming.emplace_back(input, ids.size(), &batch->features[input.node_type]);
    requests.push_back({.tensor = input.feature, .ids = ids, .out = incoming.back().stored()});
  }
  HG_RETURN_IF_ERROR(kv_->Pull(requests, context));
  for (Incoming& rows : incoming) rows.Convert();
  return OkStatus();
}

}  // namespace halograph
