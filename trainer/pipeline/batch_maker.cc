#include "trainer/pipeline/batch_maker.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/base/stopwatch.h"
#include "common/storage/widen_rows.h"

namespace halograph {
namespace {

// Rows of one tensor on their way into a matrix of the model's: into its columns from
// `first_column` on.
class Incoming {
 public:
  Incoming(const NodeInput& input, FeatureMatrix* matrix, int64_t first_column)
      : input_(input),
        matrix_(matrix),
        first_column_(first_column),
        memory_(nullptr, GiveFeatureMemory) {
    if (alone() && input.spec.dtype == DType::kFloat32) {
      stored_ = std::as_writable_bytes(matrix_->values());
      return;
    }
    const size_t bytes = static_cast<size_t>(matrix->rows()) * input.spec.row_bytes();
    memory_.reset(TakeFeatureMemory(bytes));
    stored_ = {static_cast<std::byte*>(memory_.get()), bytes};
  }

  // Where the rows go, in the dtype that they are stored in.
  [[nodiscard]] std::span<std::byte> stored() const { return stored_; }

  void Convert() {
    float* const values = matrix_->values().data() + first_column_;
    if (memory_ != nullptr) {
      WidenRows({input_.spec.dtype, input_.spec.dim, stored_.data()}, matrix_->rows(), values,
                matrix_->cols());
    }
    if (input_.normalization != FeatureNormalization::kRow) return;
    const auto dim = static_cast<size_t>(input_.spec.dim);
    for (int64_t row = 0; row < matrix_->rows(); ++row) {
      NormalizeRows({values + row * matrix_->cols(), dim}, input_.spec.dim);
    }
  }

 private:
  [[nodiscard]] bool alone() const { return matrix_->cols() == input_.spec.dim; }

  const NodeInput& input_;
  FeatureMatrix* matrix_;
  const int64_t first_column_;
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
  if (recipe_.transposed) {
    batch.transposed = TransposeLayers(graph_->info().schema, batch.minibatch);
  }
  batch.sampled = sampling.stats;
  batch.sample_seconds = sample_watch.Seconds();

  const Stopwatch pull_watch;
  CallContext pulling = InnerContext(like, {});
  std::vector<FeatureMatrix> features;
  HG_RETURN_IF_ERROR(Annotate(PullFeatures(batch.minibatch, pulling, &features),
                              "pulling features of a minibatch"));
  MakeInputRows(std::move(features), &batch);
  batch.pulled = pulling.stats;
  batch.pull_seconds = pull_watch.Seconds();
  return batch;
}

Status BatchMaker::PullFeatures(const Minibatch& minibatch, CallContext& context,
                                std::vector<FeatureMatrix>* features) const {
  const auto& nodes = minibatch.nodes;
  std::vector<int64_t> columns(nodes.size());
  for (const NodeInput& input : recipe_.inputs) columns[input.node_type] += input.spec.dim;
  for (size_t type = 0; type < nodes.size(); ++type) {
    features->push_back(columns[type] > 0 ? FeatureMatrix(std::ssize(nodes[type]), columns[type])
                                          : FeatureMatrix());
  }
  std::fill(columns.begin(), columns.end(), 0);  // now: of the inputs so far
  std::vector<Incoming> incoming;
  incoming.reserve(recipe_.inputs.size());
  std::vector<RowRequest> requests;
  for (const NodeInput& input : recipe_.inputs) {
    const int type = input.node_type;
    incoming.emplace_back(input, &(*features)[type], columns[type]);
    columns[type] += input.spec.dim;
    requests.push_back(
        {.tensor = input.feature, .ids = nodes[type], .out = incoming.back().stored()});
  }
  HG_RETURN_IF_ERROR(kv_->Pull(requests, context));
  for (Incoming& rows : incoming) rows.Convert();
  return OkStatus();
}

void BatchMaker::MakeInputRows(std::vector<FeatureMatrix> features, PreparedBatch* batch) const {
  if (recipe_.input_rows == InputRows::kNodes) {
    batch->features = std::move(features);
    return;
  }
  const Schema& schema = graph_->info().schema;
  for (const Block& block : batch->minibatch.layers.back().blocks) {
    const Relation& relation = schema.relations[block.relation];
    const FeatureMatrix& destinations = features[*schema.NodeTypeIndex(relation.destination)];
    const FeatureMatrix& sources = features[*schema.NodeTypeIndex(relation.source)];
    batch->self_and_mean.push_back(MakeSelfAndMean(block, destinations, sources, recipe_.pool));
  }
  batch->features.resize(features.size());
}

}  // namespace halograph
