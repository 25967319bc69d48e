// The numbers that rows of a mutable tensor begin with: pure functions of the initializer, the
// tensor's size, the original id of the row and the column. Part of the state format, since rows
// that nobody pushed are not stored: a change of one bit needs a new kind of initializer.
//
// Column c of the row with original id i draws from SubKey(SubKey(seed, i), c) (common/base/rng.h),
// 53 bits. kNormal makes columns 2k and 2k + 1 of their two draws (Box and Muller), with its own
// logarithm, sine and cosine out of IEEE additions, multiplications and divisions in float64, so
// that no mathematical library has a say. All is computed in float64 and rounded to float32, then
// to the tensor's dtype.
#pragma once

#include <cstdint>

#include "common/state/mutable_tensor.h"

namespace halograph {

class InitialValues {
 public:
  // `total_rows`: of the whole tensor.
  InitialValues(const MutableTensorSpec& spec, int64_t total_rows);

  // Writes dim values. Thread-safe.
  void Fill(int64_t original_id, float* row) const;

 private:
  const Initializer::Kind kind_;
  const uint64_t seed_;
  const int64_t dim_;
  double from_ = 0;   // or constant, or mean
  double width_ = 0;  // or standard deviation
};

// Of x > 0: the natural logarithm of a normal number. Of turns in [0, 1): sine and cosine of
// 2 pi turns. Absolute errors are below 1e-15 (of a logarithm, relative to its magnitude).
[[nodiscard]] double PlainLog(double x);
struct SineCosine {
  double sine;
  double cosine;
};
[[nodiscard]] SineCosine PlainSineCosine(double turns);

}  // namespace halograph
