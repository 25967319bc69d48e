// Reads rows of a task set from the parts that have them, page by page, into one.
#pragma once

#include "client/remote/cluster.h"
#include "client/task_sets.h"

namespace halograph {

// TaskSets::Read. DataLoss: pages that do not fit the schema or each other.
[[nodiscard]] StatusOr<TaskSet> ReadTaskSetRemotely(Cluster* cluster, const TaskSetRef& set,
                                                    IdRange rows, CallContext& context);

}  // namespace halograph
