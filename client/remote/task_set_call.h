// Reads a task set from all partitions, page by page, into one.
#pragma once

#include <string>

#include "client/kv_store.h"
#include "client/remote/cluster.h"

namespace halograph {

// As KVStore::ReadTaskSet. DataLoss: pages that do not fit the schema or each other.
[[nodiscard]] StatusOr<TaskSet> ReadTaskSetRemotely(Cluster* cluster, CallScope* scope,
                                                    const std::string& task, const std::string& set,
                                                    const std::string& type);

}  // namespace halograph
