#include "trainer/pipeline/batch_maker.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/base/stopwatch.h"
#include "common/storage/widen_rows.h"

namespace halograph {
namespace {

// Columns of each node type together.
std::vector<int64_t> ColumnsOf(const BatchRecipe& recipe, size_t types) {
  std::vector<int64_t> columns(types);
  for (const NodeInput& input : recipe.inputs) columns[input.node_type] += input.spec.dim;
  return columns;
}

Precision PrecisionOf(const TensorSpec& spec) {
  return spec.dtype == DType::kBFloat16 ? Precision::kBf16 : Precision::kFloat32;
}

// Whether a tensor's rows are, as they are stored, what layers' rows can be made of: those of other
// dtypes, and where several stand side by side, are converted to float32 first.
bool TakenAsStored(const NodeInput& input, int64_t columns) {
  const DType dtype = input.spec.dtype;
  return (dtype == DType::kBFloat16 || dtype == DType::kFloat32) && input.spec.dim == columns &&
         input.normalization == FeatureNormalization::kNone;
}

std::vector<std::optional<RowsInPlace>> FindInPlace(const GraphStore& graph, const RowStore& rows,
                                                    const BatchRecipe& recipe) {
  std::vector<std::optional<RowsInPlace>> found(graph.info().schema.node_types.size());
  if (recipe.input_rows != InputRows::kSelfAndMean) return found;
  const std::vector<int64_t> columns = ColumnsOf(recipe, found.size());
  for (const NodeInput& input : recipe.inputs) {
    if (!TakenAsStored(input, columns[input.node_type])) continue;
    found[input.node_type] = rows.InPlace(input.feature);
  }
  return found;
}

// Rows of one tensor on their way into a matrix of the model's: into its columns from
// `first_column` on.
class Incoming {
 public:
  Incoming(const NodeInput& input, FeatureMatrix* matrix, int64_t first_column)
      : input_(input),
        matrix_(matrix),
        first_column_(first_column),
        memory_(nullptr, GiveFeatureMemory) {
    const DType dtype =
        matrix->precision() == Precision::kBf16 ? DType::kBFloat16 : DType::kFloat32;
    if (alone() && input.spec.dtype == dtype) {
      stored_ = matrix_->bytes();
      return;
    }
    const size_t bytes = static_cast<size_t>(matrix->rows()) * input.spec.row_bytes();
    memory_.reset(TakeFeatureMemory(bytes));
    stored_ = {static_cast<std::byte*>(memory_.get()), bytes};
  }

  // Where the rows go, in the dtype that they are stored in.
  [[nodiscard]] std::span<std::byte> stored() const { return stored_; }

  void Convert() {
    if (matrix_->precision() == Precision::kBf16) return;  // it stays narrow
    float* const values = matrix_->values().data() + first_column_;
    if (memory_ != nullptr) {
      WidenRows({input_.spec.dtype, input_.spec.dim, stored_.data()}, matrix_->rows(), values,
                matrix_->cols());
    }
    switch (input_.normalization) {
      case FeatureNormalization::kNone:
        return;
      case FeatureNormalization::kRow:
        return NormalizeEach(values);
      case FeatureNormalization::kStandard:
        return input_.standardizer->Apply(values, matrix_->rows(), matrix_->cols());
    }
  }

 private:
  [[nodiscard]] bool alone() const { return matrix_->cols() == input_.spec.dim; }
  void NormalizeEach(float* values) const {
    const auto dim = static_cast<size_t>(input_.spec.dim);
    for (int64_t row = 0; row < matrix_->rows(); ++row) {
      NormalizeRows({values + row * matrix_->cols(), dim}, input_.spec.dim);
    }
  }

  const NodeInput& input_;
  FeatureMatrix* matrix_;
  const int64_t first_column_;
  std::unique_ptr<void, void (*)(void*)> memory_;  // null: straight into the matrix
  std::span<std::byte> stored_;
};

// Where the row of each of some nodes is.
class StoredRows {
 public:
  StoredRows() = default;
  StoredRows(const RowsInPlace& in_place, std::span<const int64_t> nodes)
      : memory_(TakeFeatureMemory(nodes.size() * sizeof(const std::byte*)), GiveFeatureMemory),
        rows_(static_cast<const std::byte**>(memory_.get()), nodes.size()) {
    in_place.Find(nodes, rows_);
  }
  [[nodiscard]] std::span<const std::byte* const> rows() const { return rows_; }

 private:
  std::unique_ptr<void, void (*)(void*)> memory_ = {nullptr, GiveFeatureMemory};
  std::span<const std::byte*> rows_;
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

template <typename T>
int64_t BytesOf(const std::vector<T>& values) {
  return static_cast<int64_t>(values.size() * sizeof(T));
}

int64_t BytesOfBlock(const Block& block) {
  return BytesOf(block.indptr) + BytesOf(block.indices) + BytesOf(block.edge_ids) +
         BytesOf(block.weights);
}

int64_t BytesOfMinibatch(const Minibatch& minibatch) {
  int64_t bytes = 0;
  for (const SampledLayer& layer : minibatch.layers) {
    for (const Block& block : layer.blocks) bytes += BytesOfBlock(block);
  }
  for (const auto& nodes : minibatch.nodes) bytes += BytesOf(nodes);
  for (const auto& positions : minibatch.seed_positions) bytes += BytesOf(positions);
  return bytes;
}

// The positions of seeds that are not asked for tell nothing.
void KeepAsked(const StepSeeds& seeds, Minibatch* minibatch) {
  for (size_t i = 0; i < seeds.seeds.size(); ++i) {
    const int64_t asked = seeds.seeds[i].asked;
    if (asked >= 0) minibatch->seed_positions[i].resize(static_cast<size_t>(asked));
  }
}

}  // namespace

BatchMaker::BatchMaker(GraphStore* graph, RowStore* rows, BatchRecipe recipe)
    : graph_(graph),
      rows_(rows),
      recipe_(std::move(recipe)),
      in_place_(FindInPlace(*graph, *rows, recipe_)) {}

bool BatchMaker::reads_in_place() const {
  return std::all_of(recipe_.inputs.begin(), recipe_.inputs.end(), [&](const NodeInput& input) {
    return in_place_[input.node_type].has_value();
  });
}

Status BatchMaker::Sample(const StepSeeds& seeds, uint64_t batch_seed, const CallContext& like,
                          Step* step) const {
  if (step->rows == 0) return OkStatus();
  for (const StepSeeds::List& list : seeds.seeds) step->seed_types.push_back(list.type);
  const Stopwatch watch;
  const SampleRequest request = RequestFor(seeds, batch_seed, recipe_);
  CallContext sampling = InnerContext(like);
  HG_RETURN_IF_ERROR(
      Annotate(graph_->Sample(request, sampling, &step->minibatch), "sampling a minibatch"));
  KeepAsked(seeds, &step->minibatch);
  HG_ASSIGN_OR_RETURN(step->blocks, MakeLayerBlocks(graph_->info().schema, step->minibatch,
                                                    recipe_.form, recipe_.by_source));
  step->sampled = sampling.stats;
  step->sample_seconds = watch.Seconds();
  return OkStatus();
}

Status BatchMaker::PullRows(const CallContext& like, Step* step) const {
  if (step->rows == 0) return OkStatus();
  const Stopwatch watch;
  CallContext pulling = InnerContext(like);
  std::vector<FeatureMatrix> features;
  HG_RETURN_IF_ERROR(Annotate(PullFeatures(step->minibatch, pulling, &features),
                              "pulling features of a minibatch"));
  MakeInputRows(std::move(features), step);
  step->pulled = pulling.stats;
  step->pull_seconds = watch.Seconds();
  return OkStatus();
}

int64_t BatchMaker::BytesOf(const Step& step) const {
  const Minibatch& minibatch = step.minibatch;
  if (minibatch.nodes.empty()) return 0;  // no rows
  // Each other form of a block is about as large as the block.
  const int64_t forms = (recipe_.form == BlockForm::kSampled ? 0 : 1) +
                        (recipe_.by_source == BySource::kNone ? 0 : 1);
  int64_t bytes = (1 + forms) * BytesOfMinibatch(minibatch);
  const int64_t value = recipe_.precision == Precision::kBf16 ? sizeof(uint16_t) : sizeof(float);
  const std::vector<int64_t> columns = ColumnsOf(recipe_, minibatch.nodes.size());
  if (recipe_.input_rows == InputRows::kNodes) {
    for (size_t type = 0; type < minibatch.nodes.size(); ++type) {
      bytes += std::ssize(minibatch.nodes[type]) * columns[type] * value;
    }
    return bytes;
  }
  if (minibatch.layers.empty()) return bytes;
  const Schema& schema = graph_->info().schema;
  for (const Block& block : minibatch.layers.back().blocks) {
    const int64_t cols = columns[schema.DestinationType(block.relation)] +
                         columns[schema.SourceType(block.relation)];
    bytes += (std::ssize(block.indptr) - 1) * PaddedStride(cols) * value;
  }
  return bytes;
}

Status BatchMaker::PullFeatures(const Minibatch& minibatch, CallContext& context,
                                std::vector<FeatureMatrix>* features) const {
  const auto& nodes = minibatch.nodes;
  std::vector<int64_t> columns = ColumnsOf(recipe_, nodes.size());
  std::vector<Precision> precisions(nodes.size(), Precision::kFloat32);
  for (const NodeInput& input : recipe_.inputs) {
    const int type = input.node_type;
    if (TakenAsStored(input, columns[type])) precisions[type] = PrecisionOf(input.spec);
  }
  for (size_t type = 0; type < nodes.size(); ++type) {
    const bool pulled = columns[type] > 0 && !in_place_[type].has_value();
    features->push_back(
        pulled ? FeatureMatrix(std::ssize(nodes[type]), columns[type], precisions[type])
               : FeatureMatrix());
  }
  std::fill(columns.begin(), columns.end(), 0);  // now: of the inputs so far
  std::vector<Incoming> incoming;
  incoming.reserve(recipe_.inputs.size());
  std::vector<RowRequest> requests;
  for (const NodeInput& input : recipe_.inputs) {
    const int type = input.node_type;
    if (input.normalization == FeatureNormalization::kStandard && input.standardizer == nullptr) {
      return Internal("feature '{}' of node type '{}' has no means and deviations",
                      input.feature.name, input.feature.type);
    }
    if (in_place_[type].has_value()) {
      context.stats.local_bytes +=
          static_cast<int64_t>(nodes[type].size() * in_place_[type]->row_bytes);
      continue;
    }
    incoming.emplace_back(input, &(*features)[type], columns[type]);
    columns[type] += input.spec.dim;
    requests.push_back(
        {.tensor = input.feature, .ids = nodes[type], .out = incoming.back().stored()});
  }
  if (requests.empty()) return context.Check();
  HG_RETURN_IF_ERROR(rows_->Pull(requests, context));
  for (Incoming& rows : incoming) rows.Convert();
  return OkStatus();
}

void BatchMaker::MakeInputRows(std::vector<FeatureMatrix> features, Step* step) const {
  if (recipe_.input_rows == InputRows::kNodes) {
    for (FeatureMatrix& matrix : features) {
      step->features.push_back(WithPrecision(std::move(matrix), recipe_.precision));
    }
    return;
  }
  const Schema& schema = graph_->info().schema;
  std::vector<NodeRows> rows(features.begin(), features.end());
  std::vector<StoredRows> stored(features.size());
  for (const NodeInput& input : recipe_.inputs) {
    const int type = input.node_type;
    if (!in_place_[type].has_value()) continue;
    stored[type] = StoredRows(*in_place_[type], step->minibatch.nodes[type]);
    rows[type] = NodeRows(stored[type].rows(), input.spec.dim, PrecisionOf(input.spec));
  }
  for (const Block& block : step->minibatch.layers.back().blocks) {
    const Relation& relation = schema.relations[block.relation];
    step->self_and_mean.push_back(MakeSelfAndMean(
        block, rows[*schema.NodeTypeIndex(relation.destination)],
        rows[*schema.NodeTypeIndex(relation.source)], recipe_.precision, recipe_.pool));
  }
  step->features.resize(features.size());
}

}  // namespace halograph
