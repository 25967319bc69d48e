// What every KVStore checks of a Pull before it asks or reads anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/status.h"
#include "common/graph/row_source.h"

namespace halograph {

// NotFound, OutOfRange and InvalidArgument as KVStore::Pull.
[[nodiscard]] StatusOr<const CatalogTensor*> CheckPull(const TensorCatalog& tensors,
                                                       const TensorRef& ref,
                                                       std::span<const int64_t> ids,
                                                       std::span<const std::byte> destination);

}  // namespace halograph
