// Rows of floating-point numbers made narrower, as they are stored and sent. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/storage/dtype.h"

namespace halograph {

// Whether NarrowRow makes this of that: of floating dtypes, float32, float16, bfloat16 and
// scaled_int8.
[[nodiscard]] bool CanNarrow(DType from, DType to);

// Writes a row of `dim` elements of `from` (any alignment) as RowBytes(to, dim) bytes of `to`.
// Numbers are rounded once, to nearest even. NaN and infinity stay what they are in the floating
// dtypes. scaled_int8: the scale is the largest magnitude / 127 as float32, 0 for a row of zeros
// (or of numbers so small that the scale would be 0); each value is number / scale, within -127 and
// 127. Returns the first column that `to` cannot hold, and then leaves `out` with anything: a
// finite number that would become infinite; for scaled_int8 also NaN and infinity. Requires
// CanNarrow(from, to).
[[nodiscard]] std::optional<int64_t> NarrowRow(DType from, const std::byte* row, int64_t dim,
                                               DType to, std::byte* out);

}  // namespace halograph
