#include "trainer/pipeline/feature_matrix.h"

#include <cmath>

namespace halograph {

FeatureMatrix::FeatureMatrix(int64_t rows, int64_t cols, Precision precision)
    : rows_(rows), cols_(cols), precision_(precision) {
  data_.reset(TakeFeatureMemory(bytes().size()));
}

std::span<std::byte> FeatureMatrix::bytes() {
  const size_t size = precision_ == Precision::kBf16 ? sizeof(uint16_t) : sizeof(float);
  return {As<std::byte>(), Count() * size};
}

void* FeatureMatrix::Release() {
  rows_ = 0;
  cols_ = 0;
  return data_.release();
}

FeatureMatrix WithPrecision(FeatureMatrix matrix, Precision precision) {
  if (matrix.precision() == precision) return matrix;
  FeatureMatrix made(matrix.rows(), matrix.cols(), precision);
  const int64_t count = matrix.rows() * matrix.cols();
  if (precision == Precision::kBf16) {
    NarrowToBf16(matrix.values().data(), count, made.bf16_values().data());
  } else {
    WidenBf16(matrix.bf16_values().data(), count, made.values().data());
  }
  return made;
}

void NormalizeRows(std::span<float> values, int64_t cols) {
  const auto width = static_cast<size_t>(cols);
  for (size_t begin = 0; begin + width <= values.size() && width > 0; begin += width) {
    const std::span<float> row = values.subspan(begin, width);
    double sum = 0;
    for (float value : row) sum += std::abs(value);
    if (sum == 0) continue;
    const auto scale = static_cast<float>(1.0 / sum);
    for (float& value : row) value *= scale;
  }
}

}  // namespace halograph
