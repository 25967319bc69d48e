#include "partitioner/write/feature_dtype.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/graph/tensor_ref.h"
#include "common/storage/narrow_rows.h"

namespace halograph {
namespace {

// Requires another than kInput.
DType StoredDType(FeatureDType dtype) {
  switch (dtype) {
    case FeatureDType::kFloat16:
      return DType::kFloat16;
    case FeatureDType::kBFloat16:
      return DType::kBFloat16;
    case FeatureDType::kInt8:
      return DType::kScaledInt8;
    default:
      return DType::kFloat32;
  }
}

// What helps against a number that the dtype cannot hold.
std::string_view Advice(DType dtype, bool finite) {
  if (dtype == DType::kScaledInt8 && !finite) {
    return "int8 holds finite numbers only: fix the input, or use --feature-dtype bfloat16";
  }
  if (dtype == DType::kFloat16) {
    return "float16 holds magnitudes up to 65504: use --feature-dtype bfloat16, or scale the "
           "feature";
  }
  return "float32 and what is made of it hold magnitudes up to 3.4e38: scale the feature, or leave "
         "out --feature-dtype";
}

Status DoesNotFit(const InputTensor& tensor, const std::byte* row, int64_t file_row,
                  int64_t column) {
  const DType from = tensor.array->dtype();
  double value = 0;
  ConvertToDouble(from, row + static_cast<size_t>(column) * DTypeSize(from), 1, &value);
  return InvalidArgument("{}: {} at row {}, column {} of feature {}: {}", tensor.path, value,
                         file_row, column, tensor.spec.name,
                         Advice(tensor.spec.dtype, std::isfinite(value)));
}

}  // namespace

std::string_view ToString(FeatureDType dtype) {
  return kFeatureDTypeWords[static_cast<size_t>(dtype)];
}

StatusOr<FeatureDType> FeatureDTypeOf(std::string_view word) {
  const auto* const found =
      std::find(std::begin(kFeatureDTypeWords), std::end(kFeatureDTypeWords), word);
  if (found == std::end(kFeatureDTypeWords)) {
    return InvalidArgument("feature dtype '{}' is not known; use one of {}", word,
                           fmt::join(kFeatureDTypeWords, ", "));
  }
  return static_cast<FeatureDType>(found - std::begin(kFeatureDTypeWords));
}

std::vector<std::string> NarrowFeatures(FeatureDType dtype, const std::vector<std::string>& keep,
                                        Dataset* dataset) {
  std::vector<std::string> narrowed;
  if (dtype == FeatureDType::kInput) return narrowed;
  const DType to = StoredDType(dtype);
  const auto narrow = [&](InputTensor* tensor, bool edge, const std::string& owner) {
    TensorSpec& spec = tensor->spec;
    if (!CanNarrow(spec.dtype, to) || RowBytes(to, spec.dim) >= spec.row_bytes()) return;
    spec.dtype = to;
    narrowed.push_back(TensorRef{edge, owner, spec.name}.ToString());
  };
  for (InputNodeType& type : dataset->node_types) {
    for (InputTensor& tensor : type.features) narrow(&tensor, false, type.name);
  }
  for (InputRelation& relation : dataset->relations) {
    for (InputTensor& tensor : relation.features) {
      const bool kept = std::find(keep.begin(), keep.end(), tensor.spec.name) != keep.end();
      if (!kept) narrow(&tensor, true, relation.triple());
    }
  }
  return narrowed;
}

Status StoreRow(const InputTensor& tensor, const std::byte* row, int64_t file_row, std::byte* out) {
  const NpyArray& array = *tensor.array;
  if (array.dtype() == tensor.spec.dtype) {
    std::memcpy(out, row, array.row_bytes());
    return OkStatus();
  }
  const auto lost = NarrowRow(array.dtype(), row, tensor.spec.dim, tensor.spec.dtype, out);
  return lost ? DoesNotFit(tensor, row, file_row, *lost) : OkStatus();
}

}  // namespace halograph
