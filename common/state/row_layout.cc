#include "common/state/row_layout.h"

#include <cassert>

namespace halograph {
namespace {

constexpr size_t kCacheLineBytes = 64;

size_t RoundUp(size_t bytes, size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

size_t StateBytes(const RowOptimizer& optimizer, size_t dim) {
  if (optimizer.kind == RowOptimizer::Kind::kNone) return 0;
  switch (StepOf(optimizer)) {
    case RowStep::kMomentum:
    case RowStep::kAdagrad:
      return dim * sizeof(float);
    case RowStep::kRowAdagrad:
      return sizeof(float);
    case RowStep::kAdam:
      return 2 * dim * sizeof(float) + sizeof(uint32_t);
    default:
      return 0;
  }
}

}  // namespace

RowLayout RowLayout::Of(const MutableTensorSpec& spec) {
  RowLayout layout{.dtype = spec.dtype, .dim = spec.dim};
  layout.value_bytes = RowBytes(spec.dtype, spec.dim);
  layout.state_at = RoundUp(layout.value_bytes, sizeof(float));
  layout.state_bytes = StateBytes(spec.optimizer, static_cast<size_t>(spec.dim));
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
