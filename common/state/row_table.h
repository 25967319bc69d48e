// Rows of one mutable tensor and their optimizer state, in huge-page memory: how they begin, what a
// push does to them, and their images for files. It knows no log, no file and no lock.
//
// Threads need 1 MiB of stack: rows are summed and made there.
//
// One thread may change it, or any number may read it. What is computed has the same bits with any
// number of threads of a pool and with any instruction set, as long as numbers are finite: where a
// sum or an update exceeds float32 or the dtype, values become infinite or NaN, in that row alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/status.h"
#include "common/base/thread_pool.h"
#include "common/state/mutable_tensor.h"
#include "common/state/push_order.h"
#include "common/state/pushed_rows.h"
#include "common/state/row_layout.h"
#include "common/storage/fused_array.h"

namespace halograph {

class RowTable {
 public:
  // Memory for `rows` rows; they hold anything until they are initialised or loaded.
  // ResourceExhausted naming the bytes.
  [[nodiscard]] static StatusOr<RowTable> Make(const MutableTensorSpec& spec, int64_t rows);
  // Bytes that Make takes; the largest int64 if they are more.
  [[nodiscard]] static int64_t MemoryBytes(const MutableTensorSpec& spec, int64_t rows);

  [[nodiscard]] int64_t rows() const { return rows_; }
  // Of what is pulled: dim elements of the spec's dtype.
  [[nodiscard]] size_t row_bytes() const { return layout_.value_bytes; }

  // Sets rows first, first + 1, ... to their beginning, and their optimizer state to zeros.
  // `total_rows`: of the whole tensor. `pool` shares the work; null: nobody.
  void Initialize(int64_t first, std::span<const int64_t> original_ids, int64_t total_rows,
                  ThreadPool* pool);

  // What no push may hold. InvalidArgument naming the position of the first NaN or infinite value
  // in the list.
  [[nodiscard]] static Status CheckFinite(const PushedRows& pushed, int64_t dim);

  // Applies the lists as one push: of a row that stands in several places, gradients (and values to
  // add) are summed in float32 in the order of lists and positions, then the row is updated once
  // (mutable_tensor.h has the formulas), computed in float32 and rounded to the dtype. Add and
  // Assign leave optimizer state as it is. Requires valid rows, whole finite values, and for
  // gradients an optimizer. Throws std::bad_alloc (16 bytes an entry); nothing was applied then.
  // Memory for the next push is kept, at most 16 MiB.
  //
  // How many rows they left not finite: with a value that is infinite or NaN, or with such a number
  // in the optimizer state, if they change it.
  int64_t ApplyGradients(std::span<const PushedRows> lists, ThreadPool* pool);
  int64_t Add(std::span<const PushedRows> lists, ThreadPool* pool);
  // The last place counts.
  int64_t Assign(std::span<const PushedRows> lists, ThreadPool* pool);
  // The lists' values are images of rows, as SaveImage gives them, of any numbers. The last place
  // counts. Never throws. How many of the images are not finite.
  int64_t AssignImages(std::span<const PushedRows> lists);
  // The same of rows without their state, which stays as it is. The lists' dtype is the table's.
  int64_t AssignBits(std::span<const PushedRows> lists);

  // Row rows[i] goes to out + positions[i] * row_bytes, or to place i if `positions` is empty.
  void Gather(std::span<const int64_t> rows, std::span<const int64_t> positions,
              std::byte* out) const;

  // Row and optimizer state of one row as files hold them: image_bytes() bytes, little-endian,
  // without padding (row_layout.h has the order); the same on every machine.
  [[nodiscard]] size_t image_bytes() const { return layout_.image_bytes(); }
  void SaveImage(int64_t row, std::byte* out) const;
  void LoadImage(int64_t row, const std::byte* image);

 private:
  RowTable(const MutableTensorSpec& spec, int64_t rows, FusedArray<std::byte> memory);

  [[nodiscard]] std::byte* Row(int64_t row) const {
    return memory_.data() + static_cast<size_t>(row) * layout_.stride;
  }
  int64_t Apply(RowStep step, std::span<const PushedRows> lists, ThreadPool* pool);

  MutableTensorSpec spec_;
  RowLayout layout_;
  int64_t rows_;
  FusedArray<std::byte> memory_;
  PushOrder order_;
};

}  // namespace halograph
