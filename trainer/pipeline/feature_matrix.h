// Features as the model computes with them: rows of float32 or bfloat16, aligned, converted from
// the dtype that was stored and sent, normalised where asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/storage/dtype.h"
#include "trainer/blocks/gather_rows.h"
#include "trainer/options/row_choices.h"
#include "trainer/pipeline/feature_memory.h"

namespace halograph {

// A row-major matrix of float32, or of bfloat16 for Precision::kBf16; 64-byte aligned, not
// initialised, of pooled memory. Movable.
class FeatureMatrix {
 public:
  FeatureMatrix() = default;
  FeatureMatrix(int64_t rows, int64_t cols, Precision precision = Precision::kFloat32);

  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] int64_t cols() const { return cols_; }
  [[nodiscard]] Precision precision() const { return precision_; }
  // Requires float32.
  [[nodiscard]] std::span<float> values() { return {As<float>(), Count()}; }
  [[nodiscard]] std::span<const float> values() const { return {As<float>(), Count()}; }
  // Requires bfloat16.
  [[nodiscard]] std::span<uint16_t> bf16_values() { return {As<uint16_t>(), Count()}; }
  [[nodiscard]] std::span<const uint16_t> bf16_values() const { return {As<uint16_t>(), Count()}; }
  [[nodiscard]] std::span<std::byte> bytes();

  // f(rows) with its ConstRows or ConstBf16Rows.
  template <typename F>
  void VisitRows(const F& f) const {
    if (precision_ == Precision::kBf16) return f(ConstBf16Rows{As<uint16_t>(), cols_});
    f(ConstRows{As<float>(), cols_});
  }
  // f(rows) with its MutableRows or MutableBf16Rows.
  template <typename F>
  void VisitRows(const F& f) {
    if (precision_ == Precision::kBf16) return f(MutableBf16Rows{As<uint16_t>(), cols_});
    f(MutableRows{As<float>(), cols_});
  }

  // Gives the memory away; free with FeatureMatrix::Free. The matrix is then empty.
  [[nodiscard]] void* Release();
  static void Free(void* data) { GiveFeatureMemory(data); }

 private:
  struct Deleter {
    void operator()(void* data) const { Free(data); }
  };
  [[nodiscard]] size_t Count() const { return static_cast<size_t>(rows_ * cols_); }
  template <typename T>
  [[nodiscard]] T* As() const {
    return static_cast<T*>(data_.get());
  }

  int64_t rows_ = 0;
  int64_t cols_ = 0;
  Precision precision_ = Precision::kFloat32;
  std::unique_ptr<void, Deleter> data_;
};

// The same values, rounded if need be; `matrix` itself if it has that precision.
[[nodiscard]] FeatureMatrix WithPrecision(FeatureMatrix matrix, Precision precision);

// Divides each row of `values`, rows of `cols`, by the sum of its absolute values; the sum is
// taken in double, front to back. Rows of zeros stay as they are.
void NormalizeRows(std::span<float> values, int64_t cols);

}  // namespace halograph
