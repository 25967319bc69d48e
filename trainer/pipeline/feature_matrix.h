// Features as the model computes with them: float32 rows, aligned, converted from the dtype that
// was stored and sent, normalised where asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/storage/dtype.h"
#include "trainer/pipeline/feature_memory.h"

namespace halograph {

enum class FeatureNormalization {
  kNone,
  kRow,  // each row divided by the sum of its absolute values; rows of zeros stay
};

// A row-major float32 matrix, 64-byte aligned, not initialised, of pooled memory. Movable.
class FeatureMatrix {
 public:
  FeatureMatrix() = default;
  FeatureMatrix(int64_t rows, int64_t cols);

  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] int64_t cols() const { return cols_; }
  [[nodiscard]] std::span<float> values() { return {data_.get(), Count()}; }
  [[nodiscard]] std::span<const float> values() const { return {data_.get(), Count()}; }
  // Gives the memory away; free with FeatureMatrix::Free. The matrix is then empty.
  [[nodiscard]] float* Release();
  static void Free(void* data) { GiveFeatureMemory(data); }

 private:
  struct Deleter {
    void operator()(float* data) const { Free(data); }
  };
  [[nodiscard]] size_t Count() const { return static_cast<size_t>(rows_ * cols_); }

  int64_t rows_ = 0;
  int64_t cols_ = 0;
  std::unique_ptr<float, Deleter> data_;
};

// Divides each row of `values`, rows of `cols`, by the sum of its absolute values; the sum is
// taken in double, front to back. Rows of zeros stay as they are.
void NormalizeRows(std::span<float> values, int64_t cols);

}  // namespace halograph
