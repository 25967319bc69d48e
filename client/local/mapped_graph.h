// What the two embedded stores share: the mapped parts, the threads that work on a call besides the
// caller, and what the stores say about themselves. Immutable; thread-safe.
#pragma once

#include <memory>

#include "client/graph_store.h"
#include "client/kv_store.h"
#include "common/base/thread_pool.h"
#include "common/graph/partition.h"

namespace halograph {

struct MappedGraph {
  GraphInfo info;
  std::unique_ptr<PartitionSet> parts;  // all of them
  std::unique_ptr<ThreadPool> pool;     // null: the caller works alone
};

[[nodiscard]] inline Status StoreIsShutDown() {
  return Cancelled("the embedded store was shut down");
}

[[nodiscard]] std::unique_ptr<GraphStore> MakeLocalGraphStore(
    std::shared_ptr<const MappedGraph> graph);
[[nodiscard]] std::unique_ptr<KVStore> MakeLocalKVStore(std::shared_ptr<const MappedGraph> graph);

}  // namespace halograph
