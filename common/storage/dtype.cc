#include "common/storage/dtype.h"

#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <type_traits>

namespace halograph {
namespace {

struct DTypeInfo {
  DType dtype;
  size_t size;
  std::string_view name;
  std::string_view descr;
};

// In the order of the enumeration's values, which start at 1.
constexpr std::array<DTypeInfo, 14> kDTypes = {{
    {DType::kFloat32, 4, "float32", "<f4"},
    {DType::kFloat64, 8, "float64", "<f8"},
    {DType::kFloat16, 2, "float16", "<f2"},
    {DType::kBFloat16, 2, "bfloat16", "<u2"},
    {DType::kInt8, 1, "int8", "|i1"},
    {DType::kInt16, 2, "int16", "<i2"},
    {DType::kInt32, 4, "int32", "<i4"},
    {DType::kInt64, 8, "int64", "<i8"},
    {DType::kUInt8, 1, "uint8", "|u1"},
    {DType::kUInt16, 2, "uint16", "<u2"},
    {DType::kUInt32, 4, "uint32", "<u4"},
    {DType::kUInt64, 8, "uint64", "<u8"},
    {DType::kBool, 1, "bool", "|b1"},
    {DType::kScaledInt8, 1, "scaled_int8", "|u1"},
}};

const DTypeInfo& Info(DType dtype) { return kDTypes[static_cast<size_t>(dtype) - 1]; }

// IEEE 754 binary16 -> binary32. Exact for every value.
struct Half {
  uint16_t bits;
  explicit operator float() const {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t exponent = (bits >> 10) & 0x1fu;
    const uint32_t mantissa = bits & 0x3ffu;
    // Zero and subnormal: a multiple of 2^-24, which binary32 holds as a normal number.
    const uint32_t small = std::bit_cast<uint32_t>(static_cast<float>(mantissa) * 0x1.0p-24f);
    const uint32_t biased = exponent == 0x1fu ? 0xffu : exponent + (127 - 15);
    const uint32_t normal = (biased << 23) | (mantissa << 13);
    return std::bit_cast<float>(sign | (exponent == 0 ? small : normal));
  }
};

// The upper half of a binary32.
struct Brain {
  uint16_t bits;
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

struct Bool {
  uint8_t byte;
  explicit operator float() const { return byte != 0 ? 1.0f : 0.0f; }
};

template <typename T, typename Out>
void Convert(const std::byte* source, size_t count, Out* destination) {
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, source + i * sizeof(T), sizeof(T));
    if constexpr (std::is_arithmetic_v<T>) {
      destination[i] = static_cast<Out>(value);
    } else {
      destination[i] = static_cast<float>(value);
    }
  }
}

template <typename Out>
void ConvertTo(DType dtype, const std::byte* source, size_t count, Out* destination) {
  assert(!HasRowScale(dtype));
  switch (dtype) {
    case DType::kFloat32:
      return Convert<float>(source, count, destination);
    case DType::kFloat64:
      return Convert<double>(source, count, destination);
    case DType::kFloat16:
      return Convert<Half>(source, count, destination);
    case DType::kBFloat16:
      return Convert<Brain>(source, count, destination);
    case DType::kInt8:
    case DType::kScaledInt8:
      return Convert<int8_t>(source, count, destination);
    case DType::kInt16:
      return Convert<int16_t>(source, count, destination);
    case DType::kInt32:
      return Convert<int32_t>(source, count, destination);
    case DType::kInt64:
      return Convert<int64_t>(source, count, destination);
    case DType::kUInt8:
      return Convert<uint8_t>(source, count, destination);
    case DType::kUInt16:
      return Convert<uint16_t>(source, count, destination);
    case DType::kUInt32:
      return Convert<uint32_t>(source, count, destination);
    case DType::kUInt64:
      return Convert<uint64_t>(source, count, destination);
    case DType::kBool:
      return Convert<Bool>(source, count, destination);
  }
}

}  // namespace

size_t DTypeSize(DType dtype) { return Info(dtype).size; }
std::string_view DTypeName(DType dtype) { return Info(dtype).name; }
std::string_view NpyDescr(DType dtype) { return Info(dtype).descr; }

bool IsFloating(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 ||
         dtype == DType::kBFloat16;
}

size_t RowBytes(DType dtype, int64_t dim) {
  return static_cast<size_t>(dim) * DTypeSize(dtype) + (HasRowScale(dtype) ? sizeof(float) : 0);
}

StoredArray StoredAs(DType dtype, int rank, int64_t dim) {
  if (dtype == DType::kBFloat16) return {DType::kUInt16, rank, dim};
  if (!HasRowScale(dtype)) return {dtype, rank, dim};
  return {DType::kUInt8, 2, static_cast<int64_t>(RowBytes(dtype, dim))};
}

StatusOr<DType> ParseDTypeName(std::string_view name) {
  std::string known;
  for (const DTypeInfo& info : kDTypes) {
    if (info.name == name) return info.dtype;
    known.append(known.empty() ? "" : ", ").append(info.name);
  }
  return InvalidArgument("dtype '{}' is not known; use one of {}", name, known);
}

float ToFloat(DType dtype, const std::byte* data) {
  float value = 0;
  ConvertToFloat(dtype, data, 1, &value);
  return value;
}

void ConvertToFloat(DType dtype, const std::byte* source, size_t count, float* destination) {
  if (dtype == DType::kFloat32) {
    if (count > 0) std::memcpy(destination, source, count * sizeof(float));
    return;
  }
  ConvertTo(dtype, source, count, destination);
}

void ConvertToDouble(DType dtype, const std::byte* source, size_t count, double* destination) {
  ConvertTo(dtype, source, count, destination);
}

}  // namespace halograph
