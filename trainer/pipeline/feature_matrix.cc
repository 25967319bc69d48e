#include "trainer/pipeline/feature_matrix.h"

#include <cmath>

namespace halograph {

FeatureMatrix::FeatureMatrix(int64_t rows, int64_t cols) : rows_(rows), cols_(cols) {
  data_.reset(static_cast<float*>(TakeFeatureMemory(Count() * sizeof(float))));
}

float* FeatureMatrix::Release() {
  rows_ = 0;
  cols_ = 0;
  return data_.release();
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
