// The rows of one live tensor and their optimizer state, wherever they are: in memory (MemoryRows),
// or by key on a disk (KeyedRows) if they do not fit. The bits are the same.
//
// One thread may change them, or any number may read them. Memory never fails but with
// std::bad_alloc, as RowTable; a disk gives the errors of RowSpace. After an error of a change any
// part of it may be there: only a replay makes the rows whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/status.h"
#include "common/state/pushed_rows.h"
#include "common/state/state_store.h"

namespace halograph {

class StateRows {
 public:
  virtual ~StateRows() = default;

  [[nodiscard]] virtual int64_t rows() const = 0;
  // Of a row and its optimizer state, as RowTable::SaveImage.
  [[nodiscard]] virtual size_t image_bytes() const = 0;

  // Forgets all rows: each is to be loaded, or to begin, before it is used.
  [[nodiscard]] virtual Status Forget() = 0;
  // Rows [begin, end), none of which was loaded since Forget, are as the initializer says.
  [[nodiscard]] virtual Status Begin(int64_t begin, int64_t end) = 0;
  // images.size() is rows.size() * image_bytes().
  [[nodiscard]] virtual Status LoadImages(std::span<const int64_t> rows,
                                          std::span<const std::byte> images) = 0;

  // Applies the lists as one push; requires what RowTable::ApplyGradients does, and gives what it
  // gives: how many rows are not finite now.
  [[nodiscard]] virtual StatusOr<int64_t> Apply(PushKind kind,
                                                std::span<const PushedRows> lists) = 0;

  // As RowTable::Gather.
  [[nodiscard]] virtual Status Gather(std::span<const int64_t> rows,
                                      std::span<const int64_t> positions, std::byte* out) const = 0;
  // The image of rows[i] to out + i * image_bytes().
  [[nodiscard]] virtual Status SaveImages(std::span<const int64_t> rows, std::byte* out) const = 0;
};

}  // namespace halograph
