#include "common/state/push_checks.h"

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

Status CheckPushedRows(const MutableTensorSpec& spec, PushKind kind, DType dtype, size_t ids,
                       size_t bytes) {
  const std::string name = spec.ref.ToString();
  if (dtype != DType::kFloat32 && dtype != DType::kFloat16 && dtype != DType::kBFloat16) {
    return InvalidArgument("{}: rows of {}: float32, float16 and bfloat16 can be pushed", name,
                           NameOf(dtype));
  }
  const bool image = kind == PushKind::kImage;
  if (image && dtype != spec.dtype) {
    return InvalidArgument("{}: images of {} rows; the tensor's are {}", name, DTypeName(dtype),
                           DTypeName(spec.dtype));
  }
  const size_t row_bytes = PushedRowBytes(spec, kind, dtype);
  // Divided, not multiplied: a product of two values from outside could overflow.
  if (bytes % row_bytes != 0 || bytes / row_bytes != ids) {
    return InvalidArgument("{}: {} bytes of rows for {} ids: {} row of {} {} has {} bytes", name,
                           bytes, ids, image ? "an image of a" : "a", spec.dim, DTypeName(dtype),
                           row_bytes);
  }
  if (kind == PushKind::kGradient && spec.optimizer.kind == RowOptimizer::Kind::kNone) {
    return InvalidArgument("{} has no optimizer: it takes values to add or to assign, no gradients",
                           name);
  }
  return OkStatus();
}

Status CheckPushedValues(const MutableTensorSpec& spec, std::span<const int64_t> ids, DType dtype,
                         std::span<const std::byte> values) {
  const auto found = FindNotFinite(dtype, values);
  if (!found.has_value()) return OkStatus();
  const auto columns = static_cast<size_t>(spec.dim);
  const size_t position = *found / columns;
  return InvalidArgument(
      "{}: the values pushed for id {}, at position {}, are not all finite: {} in column {}; "
      "nothing was applied",
      spec.ref.ToString(), ids[position], position,
      ToFloat(dtype, values.data() + *found * DTypeSize(dtype)), *found % columns);
}

}  // namespace halograph
