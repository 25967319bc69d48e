// Rows as a model computes with them: float32, made of the dtype that they are stored and sent in.
// The widest vectors of the processor are used, chosen when first called. Exact for every value of
// float16, bfloat16 and scaled_int8 (there: value times scale, rounded once), so numbers have the
// same bits on every processor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/storage/dtype.h"

namespace halograph {

// Rows of `dim` elements that stand one after the other, RowBytes(dtype, dim) each, any alignment.
struct NarrowRows {
  DType dtype = DType::kFloat32;
  int64_t dim = 0;
  const std::byte* data = nullptr;
};

// Row i of `count` goes to out + i * stride. Requires stride >= dim. Thread-safe.
void WidenRows(const NarrowRows& rows, int64_t count, float* out, int64_t stride);

}  // namespace halograph
