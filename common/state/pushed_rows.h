// A list of rows that somebody pushes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/storage/dtype.h"

namespace halograph {

// Borrowed.
struct PushedRows {
  std::span<const int64_t> rows;           // local row of each entry, repeats allowed
  DType dtype = DType::kFloat32;           // kFloat32, kFloat16 or kBFloat16
  std::span<const std::byte> values = {};  // rows.size() * dim, any alignment
};

}  // namespace halograph
