#include "common/state/row_push.h"

#include <cstring>
#include <random>
#include <string>

#include "common/state/row_kernels.h"

namespace halograph {
namespace {

std::string NameOf(DType dtype) {
  const auto number = static_cast<int>(dtype);
  const bool known = number >= 1 && number <= static_cast<int>(DType::kScaledInt8);
  return known ? std::string(DTypeName(dtype)) : fmt::format("unknown dtype {}", number);
}

float FloatAt(const std::byte* from) {
  float value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// NaN is not below 0.
Status CheckImages(const MutableTensorSpec& spec, const RowPush& push) {
  const RowLayout layout = RowLayout::Of(spec);
  if (layout.squares == 0) return OkStatus();
  const size_t first = layout.value_bytes + layout.first_square * sizeof(float);
  for (size_t i = 0; i < push.ids.size(); ++i) {
    const std::byte* const squares = push.rows.data() + i * layout.image_bytes() + first;
    bool below = false;
    for (size_t s = 0; s < layout.squares; ++s) below |= FloatAt(squares + s * sizeof(float)) < 0;
    if (!below) continue;
    size_t s = 0;
    while (!(FloatAt(squares + s * sizeof(float)) < 0)) ++s;
    return InvalidArgument(
        "{}: the image pushed for id {}, at position {}, has {} for the sum of squares {} of its "
        "optimizer state, which is never below 0; nothing was applied",
        spec.ref.ToString(), push.ids[i], i, FloatAt(squares + s * sizeof(float)), s);
  }
  return OkStatus();
}

}  // namespace

uint64_t DrawClientId() {
  std::random_device device;
  uint64_t drawn = 0;
  while (drawn == 0) drawn = (uint64_t{device()} << 32) | device();
  return drawn;
}

Status CheckPushedRows(const MutableTensorSpec& spec, const RowPush& push) {
  const DType dtype = push.dtype;
  if (dtype != DType::kFloat32 && dtype != DType::kFloat16 && dtype != DType::kBFloat16) {
    return InvalidArgument("{}: rows of {}: float32, float16 and bfloat16 can be pushed",
                           spec.ref.ToString(), NameOf(dtype));
  }
  const bool image = push.kind == PushKind::kImage;
  if (!MustBeFinite(push.kind) && dtype != spec.dtype) {
    return InvalidArgument("{}: {} of {} rows; the tensor's are {}", spec.ref.ToString(),
                           image ? "images" : "bits", DTypeName(dtype), DTypeName(spec.dtype));
  }
  const size_t row_bytes = PushedRowBytes(spec, push.kind, dtype);
  // Divided, not multiplied: a product of two values from outside could overflow.
  if (push.rows.size() % row_bytes != 0 || push.rows.size() / row_bytes != push.ids.size()) {
    return InvalidArgument("{}: {} bytes of rows for {} ids: {} row of {} {} has {} bytes",
                           spec.ref.ToString(), push.rows.size(), push.ids.size(),
                           image ? "an image of a" : "a", spec.dim, DTypeName(dtype), row_bytes);
  }
  if (push.kind == PushKind::kGradient && spec.optimizer.kind == RowOptimizer::Kind::kNone) {
    return InvalidArgument("{} has no optimizer: it takes values to add or to assign, no gradients",
                           spec.ref.ToString());
  }
  return OkStatus();
}

Status CheckPushedValues(const MutableTensorSpec& spec, const RowPush& push) {
  if (push.kind == PushKind::kImage) return CheckImages(spec, push);
  if (!MustBeFinite(push.kind)) return OkStatus();
  const auto found = FindNotFinite(push.dtype, push.rows);
  return found.has_value() ? NotFiniteAt(spec, push, *found) : OkStatus();
}

Status NotFiniteAt(const MutableTensorSpec& spec, const RowPush& push, size_t element) {
  const auto columns = static_cast<size_t>(spec.dim);
  const size_t position = element / columns;
  return InvalidArgument(
      "{}: the values pushed for id {}, at position {}, are not all finite: {} in column {}; "
      "nothing was applied",
      spec.ref.ToString(), push.ids[position], position,
      ToFloat(push.dtype, push.rows.data() + element * DTypeSize(push.dtype)), element % columns);
}

}  // namespace halograph
