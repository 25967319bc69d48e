// Where a row's values and its optimizer state stand in memory: one after the other, so that an
// update touches one piece of memory. Plain values; const use is thread-safe.
//
// values [dim] of the dtype | at a multiple of 4 bytes: state float32 | kAdam: updates uint32
//
// State is float32 [dim] of kAdagrad and of kSgd with momentum, one float32 of kRowAdagrad, m [dim]
// and v [dim] of kAdam, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/state/mutable_tensor.h"

namespace halograph {

struct RowLayout {
  DType dtype = DType::kFloat32;
  int64_t dim = 1;
  size_t value_bytes = 4;
  size_t state_at = 4;
  size_t state_bytes = 0;
  size_t state_floats = 0;  // float32 numbers at its start
  // Those of them that are sums of squares, which are never below 0.
  size_t first_square = 0;
  size_t squares = 0;
  size_t stride = 4;  // from row to row

  // Of a row and its state as files hold them, without padding.
  [[nodiscard]] size_t image_bytes() const { return value_bytes + state_bytes; }

  [[nodiscard]] static RowLayout Of(const MutableTensorSpec& spec);
};

// What a push does to a row.
enum class RowStep : uint8_t { kSgd, kMomentum, kAdagrad, kRowAdagrad, kAdam, kAdd, kAssign };

// The step of a pushed gradient. Requires an optimizer.
[[nodiscard]] RowStep StepOf(const RowOptimizer& optimizer);

}  // namespace halograph
