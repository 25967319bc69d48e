// Lets code for one integer type work on arrays of any integer dtype, as any numpy wrote them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "common/storage/dtype.h"

namespace halograph {

[[nodiscard]] constexpr bool IsInteger(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUInt8:
    case DType::kUInt16:
    case DType::kUInt32:
    case DType::kUInt64:
      return true;
    default:
      return false;
  }
}

// Calls f(T{}) with the C++ type of `dtype`. Requires IsInteger(dtype).
template <typename F>
void WithIntegerType(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kInt8:
      return f(int8_t{});
    case DType::kInt16:
      return f(int16_t{});
    case DType::kInt32:
      return f(int32_t{});
    case DType::kUInt8:
      return f(uint8_t{});
    case DType::kUInt16:
      return f(uint16_t{});
    case DType::kUInt32:
      return f(uint32_t{});
    case DType::kUInt64:
      return f(uint64_t{});
    default:
      return f(int64_t{});
  }
}

// Element i of an array at any alignment, in its own byte order.
template <typename T>
[[nodiscard]] T ElementAt(const std::byte* data, size_t i, bool big_endian) {
  std::byte bytes[sizeof(T)];
  std::memcpy(bytes, data + i * sizeof(T), sizeof(T));
  if (big_endian) std::reverse(std::begin(bytes), std::end(bytes));
  return std::bit_cast<T>(bytes);
}

}  // namespace halograph
