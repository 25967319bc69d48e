// What every KVStore checks of a Pull before it asks or reads anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/status.h"
#include "common/graph/tensor_ref.h"

namespace halograph {

// NotFound, OutOfRange and InvalidArgument as KVStore::Pull.
[[nodiscard]] StatusOr<ResolvedTensor> CheckPull(const Schema& schema, const TensorRef& ref,
                                                 std::span<const int64_t> ids,
                                                 std::span<const std::byte> destination);

}  // namespace halograph
