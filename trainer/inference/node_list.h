// The nodes that a user lists by original ids, as the graph knows them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/kv_store.h"
#include "common/base/cancel.h"
#include "common/base/status.h"

namespace halograph {

// Original ids from a file: .npy of one dimension, int64 or int32, or else a text of one number a
// line, empty lines left out.
//   InvalidArgument     no number, or no node at all: the line is named
//   FailedPrecondition  an array of another dtype or shape
//   else                as NpyArray::Open and ReadTextFile, with the path
[[nodiscard]] StatusOr<std::vector<int64_t>> ReadNodeList(const std::string& path);

// Global ids of the nodes of `type` that have these original ids, ascending, each once. Looks at
// the original ids of all nodes of the type, some at a time.
//   NotFound  no node has an id: the first few are named
//   else      as KVStore::Pull
[[nodiscard]] StatusOr<std::vector<int64_t>> FindNodes(KVStore& kv, int type,
                                                       std::vector<int64_t> original_ids,
                                                       const CancelToken* cancel);

}  // namespace halograph
