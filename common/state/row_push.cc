#include "common/state/row_push.h"

#include <string>

#include "common/state/row_kernels.h"

namespace halograph {
namespace {

std::string NameOf(DType dtype) {
  const auto number = static_cast<int>(dtype);
  const bool known = number >= 1 && number <= static_cast<int>(DType::kScaledInt8);
  return known ? std::string(DTypeName(dtype)) : fmt::format("unknown dtype {}", number);
}

}  // namespace

Status CheckPushedRows(const MutableTensorSpec& spec, const RowPush& push) {
  const DType dtype = push.dtype;
  if (dtype != DType::kFloat32 && dtype != DType::kFloat16 && dtype != DType::kBFloat16) {
    return InvalidArgument("{}: rows of {}: float32, float16 and bfloat16 can be pushed",
                           spec.ref.ToString(), NameOf(dtype));
  }
  const bool image = push.kind == PushKind::kImage;
  if (image && dtype != spec.dtype) {
    return InvalidArgument("{}: images of {} rows; the tensor's are {}", spec.ref.ToString(),
                           DTypeName(dtype), DTypeName(spec.dtype));
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
