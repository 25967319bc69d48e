#include "partitioner/write/nan_check.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "common/base/log.h"
#include "common/storage/integers.h"

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

// The conversion is exact where it leads back to the same number; long double holds all of 64 bits.
template <typename T>
bool ChangesInFloat32(T value) {
  return static_cast<long double>(static_cast<float>(value)) != static_cast<long double>(value);
}

std::string NumberText(DType dtype, const std::byte* at) {
  if (!IsInteger(dtype)) {
    double value = 0;
    ConvertToDouble(dtype, at, 1, &value);
    return fmt::format("{}", value);
  }
  std::string text;
  WithIntegerType(dtype, [&](auto value) {
    std::memcpy(&value, at, sizeof(value));
    text = fmt::format("{}", value);
  });
  return text;
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

std::optional<size_t> FindBeyondFloat32(DType dtype, std::span<const std::byte> elements) {
  if (dtype != DType::kFloat64) return std::nullopt;
  return FindIf<double>(elements, [](double value) {
    return std::isfinite(value) && !std::isfinite(static_cast<float>(value));
  });
}

std::optional<size_t> FindInexactInFloat32(DType dtype, std::span<const std::byte> elements) {
  switch (dtype) {
    case DType::kFloat64:
      return FindIf<double>(elements, [](double value) {
        constexpr double kAllWhole = 1LL << 53;
        return std::abs(value) < kAllWhole && value == std::trunc(value) &&
               static_cast<double>(static_cast<float>(value)) != value;
      });
    case DType::kInt32:
      return FindIf<int32_t>(elements, ChangesInFloat32<int32_t>);
    case DType::kUInt32:
      return FindIf<uint32_t>(elements, ChangesInFloat32<uint32_t>);
    case DType::kInt64:
      return FindIf<int64_t>(elements, ChangesInFloat32<int64_t>);
    case DType::kUInt64:
      return FindIf<uint64_t>(elements, ChangesInFloat32<uint64_t>);
    default:
      return std::nullopt;
  }
}

Float32Watch::Float32Watch(const InputTensor& tensor)
    : tensor_(tensor),
      beyond_(tensor.array->dtype() == DType::kFloat64),
      inexact_(tensor.spec.dtype == tensor.array->dtype() || tensor.spec.dtype == DType::kFloat32) {
}

void Float32Watch::Look(int64_t first, int64_t rows) {
  const NpyArray& array = *tensor_.array;
  const auto elements = array.data().subspan(static_cast<size_t>(first) * array.row_bytes(),
                                             static_cast<size_t>(rows) * array.row_bytes());
  if (beyond_) {
    if (const auto found = FindBeyondFloat32(array.dtype(), elements)) {
      beyond_ = false;
      Warn(first, *found, "training takes it as infinite, since it is beyond float32 (3.4e38)");
    }
  }
  if (!inexact_) return;
  if (const auto found = FindInexactInFloat32(array.dtype(), elements)) {
    inexact_ = false;
    Warn(first, *found,
         "training takes it as another number, since float32 holds no digits below the first 24 "
         "bits (whole numbers up to 16777216)");
  }
}

void Float32Watch::Warn(int64_t first, size_t element, std::string_view why) const {
  const NpyArray& array = *tensor_.array;
  const auto index = static_cast<int64_t>(element);
  const std::byte* const at = array.data().data() + static_cast<size_t>(first) * array.row_bytes() +
                              element * DTypeSize(array.dtype());
  spdlog::warn(
      "{}: {} at row {}, column {} of feature {}: {}; scale the feature, or subtract what "
      "its numbers have in common",
      tensor_.path, NumberText(array.dtype(), at), first + index / array.cols(),
      index % array.cols(), tensor_.spec.name, why);
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
