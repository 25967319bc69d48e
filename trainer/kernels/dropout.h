// Dropout whose draws are a pure function of a key and of the place of a value. Neither the number
// of threads nor what was drawn before changes it, and no mask has to be kept to draw it again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "common/base/rng.h"

namespace halograph {

// Of one layer in one step. The value at (row, column) is kept if 16 bits, drawn for that place,
// are not below `dropped`; kept values are multiplied by scale(). So a share of dropped / 65,536 is
// left out, and the mean stays.
struct Dropout {
  uint32_t dropped = 0;  // 0: all values are kept, and scale() is 1; at most 65,535
  uint64_t key = 0;

  // `p`, in [0, 1): the share to leave out, taken to the nearest of 65,536. `step_key`: of the
  // draws of a step; none in evaluation, where all values are kept. `layer`: of the model.
  [[nodiscard]] static Dropout Of(double p, const std::optional<uint64_t>& step_key,
                                  uint64_t layer) {
    if (!step_key.has_value()) return {};
    const long steps = std::lround(p * 65536);
    return {static_cast<uint32_t>(std::clamp(steps, 0L, 65535L)), SubKey(*step_key, layer)};
  }

  [[nodiscard]] float scale() const { return 65536.0F / static_cast<float>(65536 - dropped); }

  // Bits of `columns` 4 * quad to 4 * quad + 3, 16 of each, the first column's lowest.
  [[nodiscard]] static uint64_t Bits(uint64_t row_key, int64_t quad) {
    return SubKey(row_key, static_cast<uint64_t>(quad));
  }
  [[nodiscard]] uint64_t RowKey(int64_t row) const {
    return SubKey(key, static_cast<uint64_t>(row));
  }
  [[nodiscard]] bool Keeps(int64_t row, int64_t column) const {
    const uint64_t bits = Bits(RowKey(row), column / 4) >> (16 * (column % 4));
    return static_cast<uint32_t>(bits & 0xffff) >= dropped;
  }
};

}  // namespace halograph
