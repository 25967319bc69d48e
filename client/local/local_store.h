// The embedded stores: all interfaces over a mapped partition folder that holds every part.
#pragma once

#include <filesystem>

#include "client/stores.h"
#include "common/graph/partition.h"

namespace halograph {

// Maps all parts of `graph`. `threads`: how many work on one call besides the caller (0: none).
// Errors as PartitionSet::Open; InvalidArgument: threads below 0 or above 1024.
[[nodiscard]] StatusOr<Stores> OpenLocalStores(const std::filesystem::path& graph,
                                               VerifyLevel verify, int threads);

}  // namespace halograph
