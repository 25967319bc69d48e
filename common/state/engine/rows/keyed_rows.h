// Rows of a tensor that do not fit into memory: images by key on a disk. Rows that were never
// changed or loaded are not there: each read makes them again. A push loads the rows that it
// changes into a small table, some at a time, and the kernels of rows in memory do the rest.
#pragma once

#include <memory>
#include <vector>

#include "common/state/engine/rows/row_origins.h"
#include "common/state/engine/rows/state_rows.h"
#include "common/state/env.h"
#include "common/state/initial_values.h"
#include "common/state/row_layout.h"
#include "common/state/row_table.h"

namespace halograph {

class KeyedRows : public StateRows {
 public:
  // Bytes of images that a push, or a read, has in memory at a time; one row at least.
  static constexpr int64_t kBytesAtATime = int64_t{4} << 20;

  // ResourceExhausted: no memory.
  [[nodiscard]] static StatusOr<std::unique_ptr<KeyedRows>> Make(
      const MutableTensorSpec& spec, RowOrigins origins, std::shared_ptr<RowSpace> space,
      int64_t bytes_at_a_time = kBytesAtATime);
  // Forgets its rows, if it can.
  ~KeyedRows() override;

  [[nodiscard]] int64_t rows() const override { return origins_.rows(); }
  [[nodiscard]] size_t image_bytes() const override { return table_.image_bytes(); }
  [[nodiscard]] Status Forget() override { return space_->Drop(owner_); }
  [[nodiscard]] Status Begin(int64_t begin, int64_t end) override;
  [[nodiscard]] Status LoadImages(std::span<const int64_t> rows,
                                  std::span<const std::byte> images) override;
  [[nodiscard]] StatusOr<int64_t> Apply(PushKind kind, std::span<const PushedRows> lists) override;
  [[nodiscard]] Status Gather(std::span<const int64_t> rows, std::span<const int64_t> positions,
                              std::byte* out) const override;
  [[nodiscard]] Status SaveImages(std::span<const int64_t> rows, std::byte* out) const override;

 private:
  KeyedRows(const MutableTensorSpec& spec, RowOrigins origins, std::shared_ptr<RowSpace> space,
            RowTable table);

  // The rows of `table_`.
  [[nodiscard]] size_t rows_at_a_time() const { return static_cast<size_t>(table_.rows()); }
  // The image that a row begins with.
  void Fill(int64_t row, float* values, std::byte* image) const;
  // Changes `rows`, which ascend and are at most as many as `table_` has. The lists are of their
  // places. How many are not finite now.
  [[nodiscard]] StatusOr<int64_t> ApplyTo(std::span<const int64_t> rows, PushKind kind,
                                          std::span<const PushedRows> lists);

  const RowLayout layout_;
  const InitialValues initial_;
  const RowOrigins origins_;
  const std::shared_ptr<RowSpace> space_;
  const uint32_t owner_;
  RowTable table_;                 // of the rows that are being changed
  std::vector<std::byte> images_;  // theirs
};

}  // namespace halograph
