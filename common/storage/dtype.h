// The element types that arrays, features and wire tensors have. Pure functions.
#pragma once

#include <cstddef>
#include <string_view>

#include "common/base/status.h"

namespace halograph {

// Values are part of the wire format (proto/halograph/v1/kv.proto): never renumber.
enum class DType : int {
  kFloat32 = 1,
  kFloat64 = 2,
  kFloat16 = 3,
  kBFloat16 = 4,  // numpy has none: stored as uint16 in .npy, named in the manifest
  kInt8 = 5,
  kInt16 = 6,
  kInt32 = 7,
  kInt64 = 8,
  kUInt8 = 9,
  kUInt16 = 10,
  kUInt32 = 11,
  kUInt64 = 12,
  kBool = 13,
};

[[nodiscard]] size_t DTypeSize(DType dtype);            // bytes an element
[[nodiscard]] std::string_view DTypeName(DType dtype);  // "float32", as numpy names it
[[nodiscard]] bool IsFloating(DType dtype);

// InvalidArgument naming the text and the names known.
[[nodiscard]] StatusOr<DType> ParseDTypeName(std::string_view name);

// numpy's descr, little-endian: "<f4", "|u1", "|b1".
[[nodiscard]] std::string_view NpyDescr(DType dtype);

// As float32 from one element of `dtype` at `data` (any alignment).
[[nodiscard]] float ToFloat(DType dtype, const std::byte* data);

// Converts `count` elements at `source` (any alignment) to float32.
void ConvertToFloat(DType dtype, const std::byte* source, size_t count, float* destination);

// The same to float64; rounds 64-bit integers that it cannot hold to nearest even.
void ConvertToDouble(DType dtype, const std::byte* source, size_t count, double* destination);

}  // namespace halograph
