// Rows of a tensor in memory.
#pragma once

#include <utility>

#include "common/state/engine/rows/row_origins.h"
#include "common/state/engine/rows/state_rows.h"
#include "common/state/helper_threads.h"
#include "common/state/row_table.h"

namespace halograph {

// A push of `kind` to a table, and how many rows it left not finite (row_table.h). `pool` shares
// the work; null: nobody.
int64_t ApplyTo(PushKind kind, std::span<const PushedRows> lists, RowTable* table,
                ThreadPool* pool);

class MemoryRows : public StateRows {
 public:
  // The table has origins.rows() rows. `helpers` outlives this; null: nobody helps.
  MemoryRows(RowTable table, RowOrigins origins, HelperThreads* helpers = nullptr)
      : table_(std::move(table)), origins_(std::move(origins)), helpers_(helpers) {}

  [[nodiscard]] int64_t rows() const override { return table_.rows(); }
  [[nodiscard]] size_t image_bytes() const override { return table_.image_bytes(); }
  [[nodiscard]] Status Forget() override { return OkStatus(); }
  [[nodiscard]] Status Begin(int64_t begin, int64_t end) override;
  [[nodiscard]] Status LoadImages(std::span<const int64_t> rows,
                                  std::span<const std::byte> images) override;
  [[nodiscard]] StatusOr<int64_t> Apply(PushKind kind, std::span<const PushedRows> lists) override;
  [[nodiscard]] Status Gather(std::span<const int64_t> rows, std::span<const int64_t> positions,
                              std::byte* out) const override;
  [[nodiscard]] Status SaveImages(std::span<const int64_t> rows, std::byte* out) const override;

 private:
  RowTable table_;
  const RowOrigins origins_;
  HelperThreads* const helpers_;
};

}  // namespace halograph
