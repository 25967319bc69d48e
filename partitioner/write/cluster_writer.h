// Writes where the clusters of each part begin, and counts the edges that stay within one.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "partitioner/write/write_context.h"

namespace halograph {

// nodes/<type>/clusters.npy of every part; nothing if the numbering has no clusters.
// ResourceExhausted: disk full.
[[nodiscard]] Status WriteClusters(const WriteContext& context);

// Edges whose source is in the cluster of their destination, of all relations: in each part. After
// the relations' indptr.npy and indices.npy. Empty if the numbering has no clusters. Errors are
// those of mapping them.
[[nodiscard]] StatusOr<std::vector<int64_t>> EdgesWithinClusters(const WriteContext& context);

}  // namespace halograph
