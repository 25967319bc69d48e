// The embedded stores: both interfaces over a mapped partition folder that holds every part.
#pragma once

#include <filesystem>
#include <memory>

#include "client/graph_store.h"
#include "client/kv_store.h"
#include "common/base/thread_pool.h"
#include "common/graph/partition.h"

namespace halograph {

struct LocalStores {
  std::unique_ptr<GraphStore> graph;
  std::unique_ptr<KVStore> kv;
};

// Maps all parts of `graph`. `threads`: how many work on one call besides the caller (0: none).
// Errors as PartitionSet::Open; InvalidArgument: threads below 0 or above 1024.
[[nodiscard]] StatusOr<LocalStores> OpenLocalStores(const std::filesystem::path& graph,
                                                    VerifyLevel verify, int threads);

}  // namespace halograph
