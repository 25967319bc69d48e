#include "trainer/pipeline/feature_pull.h"

#include <algorithm>
#include <utility>

#include "common/storage/widen_rows.h"

namespace halograph {

std::vector<int64_t> ColumnsOf(const BatchRecipe& recipe, size_t types) {
  std::vector<int64_t> columns(types);
  for (const NodeInput& input : recipe.inputs) columns[input.node_type] += input.spec.dim;
  return columns;
}

Precision PrecisionOf(const TensorSpec& spec) {
  return spec.dtype == DType::kBFloat16 ? Precision::kBf16 : Precision::kFloat32;
}

bool TakenAsStored(const NodeInput& input, int64_t columns) {
  const DType dtype = input.spec.dtype;
  return (dtype == DType::kBFloat16 || dtype == DType::kFloat32) && input.spec.dim == columns &&
         input.normalization == FeatureNormalization::kNone;
}

// On their way into a matrix of the model's: into its columns from `first_column` on.
class FeaturePull::Incoming {
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

FeaturePull::FeaturePull() = default;
FeaturePull::~FeaturePull() = default;

StatusOr<std::shared_ptr<FeaturePull>> FeaturePull::Create(
    const BatchRecipe& recipe, const InPlace& in_place,
    std::span<const std::vector<int64_t>> nodes) {
  std::shared_ptr<FeaturePull> pull(new FeaturePull());
  std::vector<int64_t> columns = ColumnsOf(recipe, nodes.size());
  std::vector<Precision> precisions(nodes.size(), Precision::kFloat32);
  for (const NodeInput& input : recipe.inputs) {
    const int type = input.node_type;
    if (TakenAsStored(input, columns[type])) precisions[type] = PrecisionOf(input.spec);
  }
  for (size_t type = 0; type < nodes.size(); ++type) {
    const bool pulled = columns[type] > 0 && !in_place[type].has_value();
    pull->features_.push_back(
        pulled ? FeatureMatrix(std::ssize(nodes[type]), columns[type], precisions[type])
               : FeatureMatrix());
  }
  std::fill(columns.begin(), columns.end(), 0);  // now: of the inputs so far
  for (const NodeInput& input : recipe.inputs) {
    const int type = input.node_type;
    if (input.normalization == FeatureNormalization::kStandard && input.standardizer == nullptr) {
      return Internal("feature '{}' of node type '{}' has no means and deviations",
                      input.feature.name, input.feature.type);
    }
    if (in_place[type].has_value()) {
      pull->in_place_.push_back({input.feature, nodes[type].size(), in_place[type]->row_bytes});
      continue;
    }
    const Incoming& incoming =
        pull->incoming_.emplace_back(input, &pull->features_[type], columns[type]);
    columns[type] += input.spec.dim;
    pull->requests_.push_back(
        {.tensor = input.feature, .ids = nodes[type], .out = incoming.stored()});
  }
  return pull;
}

void FeaturePull::CountInPlace(CallContext* context) const {
  for (const InPlaceRows& in_place : in_place_) {
    context->stats.local_bytes += static_cast<int64_t>(in_place.rows * in_place.row_bytes);
    context->Pulled(in_place.tensor, PulledFrom::kLocal, in_place.rows, in_place.row_bytes);
  }
}

std::vector<FeatureMatrix> FeaturePull::Take() {
  for (Incoming& rows : incoming_) rows.Convert();
  return std::move(features_);
}

}  // namespace halograph
