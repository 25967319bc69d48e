// Finds NaN and infinite values in features: one of them makes a whole training useless.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "common/base/status.h"
#include "common/storage/dtype.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

// Index of the first NaN or infinite value among the elements; none for integer dtypes.
[[nodiscard]] std::optional<size_t> FindNonFinite(DType dtype, std::span<const std::byte> elements);

// "<file>: NaN at row R, column C ...", or "infinite value at", for what stands there in the file.
[[nodiscard]] Status NonFiniteError(const InputTensor& tensor, int64_t file_row, int64_t column);

}  // namespace halograph
