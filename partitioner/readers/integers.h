// Lets code for one integer type work on arrays of any integer dtype.
#pragma once

#include <cstdint>

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

}  // namespace halograph
