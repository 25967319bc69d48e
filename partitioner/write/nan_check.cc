#include "partitioner/write/nan_check.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace halograph {
namespace {

// Elements may be unaligned: the input's header need not be a multiple of their size.
template <typename T, typename Wanted>
std::optional<size_t> FindIf(std::span<const std::byte> elements, Wanted wanted) {
  const size_t count = elements.size() / sizeof(T);
  // Blocks without a branch inside, since there is hardly ever anything to find.
  constexpr size_t kValuesAtOnce = 1024;
  for (size_t begin = 0; begin < count; begin += kValuesAtOnce) {
    const size_t end = std::min(begin + kValuesAtOnce, count);
    bool any = false;
    for (size_t i = begin; i < end; ++i) {
      T value;
      std::memcpy(&value, elements.data() + i * sizeof(T), sizeof(T));
      any |= wanted(value);
    }
    if (!any) continue;
    for (size_t i = begin; i < end; ++i) {
      T value;
      std::memcpy(&value, elements.data() + i * sizeof(T), sizeof(T));
      if (wanted(value)) return i;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<size_t> FindNonFinite(DType dtype, std::span<const std::byte> elements) {
  switch (dtype) {
    case DType::kFloat32:
      return FindIf<float>(elements, [](float value) { return !std::isfinite(value); });
    case DType::kFloat64:
      return FindIf<double>(elements, [](double value) { return !std::isfinite(value); });
    case DType::kFloat16:
      return FindIf<uint16_t>(elements, [](uint16_t bits) { return (bits & 0x7fff) >= 0x7c00; });
    case DType::kBFloat16:
      return FindIf<uint16_t>(elements, [](uint16_t bits) { return (bits & 0x7fff) >= 0x7f80; });
    default:
      return std::nullopt;
  }
}

Status NonFiniteError(const InputTensor& tensor, int64_t file_row, int64_t column) {
  const size_t element = static_cast<size_t>(file_row) * tensor.array->row_bytes() +
                         static_cast<size_t>(column) * DTypeSize(tensor.array->dtype());
  const bool nan =
      std::isnan(ToFloat(tensor.array->dtype(), tensor.array->data().data() + element));
  return InvalidArgument(
      "{}: {} at row {}, column {} of feature {}; fix the input, or accept it with --allow-nan",
      tensor.path, nan ? "NaN" : "infinite value", file_row, column, tensor.spec.name);
}

}  // namespace halograph
