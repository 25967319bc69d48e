// The nodes that a task is trained on, of all ranks together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/stores.h"
#include "common/base/status.h"

namespace halograph {

// By node type, ascending global ids, each once: of a task about nodes the seeds of its train set,
// of one about edges both ends of those. Nothing of types that are not `wanted` (by index). Any
// rank may call it alone, and all get the same.
//   NotFound  no such task; else what the store returned
[[nodiscard]] StatusOr<std::vector<std::vector<int64_t>>> NodesOfTrainSet(
    const Stores& stores, const std::string& task, const std::vector<bool>& wanted,
    const CancelToken* cancel);

// `most` of the ids [0, count), ascending, each as likely as any other and drawn by `key` alone;
// all if there are no more.
[[nodiscard]] std::vector<int64_t> DrawNodes(int64_t count, int64_t most, uint64_t key);

}  // namespace halograph
