// The three topology files of one relation and partition while they are being written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "common/base/status.h"
#include "partitioner/write/mapped_npy.h"

namespace halograph {

struct CscFiles {
  MappedNpy indptr;        // int64 [core + 1]
  MappedNpy indices;       // uint32 or int64 [edges]
  MappedNpy original_ids;  // int64 [edges]

  [[nodiscard]] Status Close();
};

// Finds parallel edges (same source) within each node's in-edges; with `drop` only the first stays
// and the files shrink. Returns how many were found. IdT: the type of indices. Memory: O(largest
// in-degree).
template <typename IdT>
[[nodiscard]] StatusOr<int64_t> FindDuplicates(CscFiles* files, bool drop);

}  // namespace halograph
