// The element types that arrays, features and wire tensors have. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
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
  // A row is `dim` int8 values and then their scale, a little-endian float32: value times scale is
  // the number. Only rows as a whole mean something. Stored as uint8 [rows, dim + 4] in .npy.
  kScaledInt8 = 14,
};

[[nodiscard]] size_t DTypeSize(DType dtype);            // bytes an element, without a row's scale
[[nodiscard]] std::string_view DTypeName(DType dtype);  // "float32", as numpy names it
[[nodiscard]] bool IsFloating(DType dtype);
// Whether a row holds more than its elements: then functions of elements (ToFloat and the like) do
// not apply, and rows are read with WidenRows (widen_rows.h).
[[nodiscard]] constexpr bool HasRowScale(DType dtype) { return dtype == DType::kScaledInt8; }
// Bytes of a row of `dim` elements, its scale included.
[[nodiscard]] size_t RowBytes(DType dtype, int64_t dim);

// The .npy array that holds rows of `dim` elements: its dtype is one that numpy has.
struct StoredArray {
  DType dtype = DType::kFloat32;
  int rank = 2;  // 1: [rows], 2: [rows, cols]
  int64_t cols = 1;
};
[[nodiscard]] StoredArray StoredAs(DType dtype, int rank, int64_t dim);

// InvalidArgument naming the text and the names known.
[[nodiscard]] StatusOr<DType> ParseDTypeName(std::string_view name);

// numpy's descr, little-endian: "<f4", "|u1", "|b1".
[[nodiscard]] std::string_view NpyDescr(DType dtype);

// As float32 from one element of `dtype` at `data` (any alignment). Here and below: requires a
// dtype without a scale of the row.
[[nodiscard]] float ToFloat(DType dtype, const std::byte* data);

// Converts `count` elements at `source` (any alignment) to float32.
void ConvertToFloat(DType dtype, const std::byte* source, size_t count, float* destination);

// The same to float64; rounds 64-bit integers that it cannot hold to nearest even.
void ConvertToDouble(DType dtype, const std::byte* source, size_t count, double* destination);

}  // namespace halograph
