#include "common/state/row_layout.h"

#include <cassert>

namespace halograph {
namespace {

constexpr size_t kCacheLineBytes = 64;

size_t RoundUp(size_t bytes, size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

void SetState(const RowOptimizer& optimizer, size_t dim, RowLayout* layout) {
  if (optimizer.kind == RowOptimizer::Kind::kNone) return;
  switch (StepOf(optimizer)) {
    case RowStep::kMomentum:
      layout->state_floats = dim;
      break;
    case RowStep::kAdagrad:
      layout->state_floats = layout->squares = dim;
      break;
    case RowStep::kRowAdagrad:
      layout->state_floats = layout->squares = 1;
      break;
    case RowStep::kAdam:
      layout->state_floats = 2 * dim;
      layout->first_square = layout->squares = dim;
      break;
    default:
      break;
  }
  layout->state_bytes = layout->state_floats * sizeof(float);
  if (optimizer.kind == RowOptimizer::Kind::kAdam) layout->state_bytes += sizeof(uint32_t);
}

}  // namespace

RowLayout RowLayout::Of(const MutableTensorSpec& spec) {
  RowLayout layout{.dtype = spec.dtype, .dim = spec.dim};
  layout.value_bytes = RowBytes(spec.dtype, spec.dim);
  layout.state_at = RoundUp(layout.value_bytes, sizeof(float));
  SetState(spec.optimizer, static_cast<size_t>(spec.dim), &layout);
  // Rows begin with a cache line where that takes little memory: else they touch one line more.
  const size_t bytes = layout.state_at + layout.state_bytes;
  const size_t whole_lines = RoundUp(bytes, kCacheLineBytes);
  layout.stride = whole_lines - bytes <= bytes / 8 ? whole_lines : bytes;
  return layout;
}

RowStep StepOf(const RowOptimizer& optimizer) {
  switch (optimizer.kind) {
    case RowOptimizer::Kind::kAdagrad:
      return RowStep::kAdagrad;
    case RowOptimizer::Kind::kRowAdagrad:
      return RowStep::kRowAdagrad;
    case RowOptimizer::Kind::kAdam:
      return RowStep::kAdam;
    default:
      assert(optimizer.kind == RowOptimizer::Kind::kSgd);
      return optimizer.momentum > 0 ? RowStep::kMomentum : RowStep::kSgd;
  }
}

}  // namespace halograph
