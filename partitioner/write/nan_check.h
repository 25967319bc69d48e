// Finds numbers in features that training cannot use: NaN and infinite values, one of which makes a
// whole training useless, and numbers that are others as float32, which trainers make of them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "common/base/status.h"
#include "common/storage/dtype.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

// Index of the first NaN or infinite value among the elements; none for integer dtypes.
[[nodiscard]] std::optional<size_t> FindNonFinite(DType dtype, std::span<const std::byte> elements);

// Index of the first finite number that float32 holds only as infinity; none for dtypes that it
// holds.
[[nodiscard]] std::optional<size_t> FindBeyondFloat32(DType dtype,
                                                      std::span<const std::byte> elements);
// Index of the first whole number from 2^24 on that is another one as float32. Of float64, numbers
// below 2^53 are looked at: all above are whole.
[[nodiscard]] std::optional<size_t> FindInexactInFloat32(DType dtype,
                                                         std::span<const std::byte> elements);

// Warns of numbers of one feature that are others in training, the first of each kind: file, row,
// column and what to do. Features that are stored in a narrower dtype have a loss that was asked
// for.
class Float32Watch {
 public:
  explicit Float32Watch(const InputTensor& tensor);
  // Rows of the tensor's array, `first` and those after it.
  void Look(int64_t first, int64_t rows);

 private:
  void Warn(int64_t first, size_t element, std::string_view why) const;

  const InputTensor& tensor_;
  bool beyond_, inexact_;  // to be looked for: not found yet
};

// "<file>: NaN at row R, column C ...", or "infinite value at", for what stands there in the file.
[[nodiscard]] Status NonFiniteError(const InputTensor& tensor, int64_t file_row, int64_t column);

}  // namespace halograph
