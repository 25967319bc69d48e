// Rows of bfloat16: what --precision bf16 keeps of features and of what layers make products of. A
// bfloat16 is the upper half of a float32. The widest vectors of the processor are used, chosen
// when first called. Thread-safe.
#pragma once

#include <cstdint>

#include "trainer/options/row_choices.h"

namespace halograph {

// Row-major values of the caller's.
struct ConstBf16Rows {
  const uint16_t* data = nullptr;
  int64_t stride = 0;  // values from one row to the next
};
struct MutableBf16Rows {
  uint16_t* data = nullptr;
  int64_t stride = 0;
};

// Values rounded to the nearest bfloat16, halves to even, denormal numbers too. A number beyond the
// largest by half a step becomes infinite; NaN stays NaN, of its sign. The same bits on every
// processor.
void NarrowToBf16(const float* values, int64_t count, uint16_t* out);

// Exact.
void WidenBf16(const uint16_t* values, int64_t count, float* out);

}  // namespace halograph
