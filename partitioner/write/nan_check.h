// Finds NaN in features: one NaN makes a whole training useless.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "common/base/status.h"
#include "common/storage/dtype.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

// Index of the first NaN among the elements; none for integer dtypes.
[[nodiscard]] std::optional<size_t> FindNan(DType dtype, std::span<const std::byte> elements);

// "<file>: NaN at row R, column C ..." for a NaN in the row of the file's matrix.
[[nodiscard]] Status NanError(const InputTensor& tensor, int64_t file_row, int64_t column);

}  // namespace halograph
