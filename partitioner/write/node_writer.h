// Writes nodes/<type>: original ids and features, each in one sequential pass over the mapped
// input.
#pragma once

#include "common/base/status.h"
#include "partitioner/write/write_context.h"

namespace halograph {

// Writes original_ids.npy and features/*.npy of one node type for every partition.
//   InvalidArgument    a NaN among the features (file, row, column), unless options.allow_nan; a
//                      number that a tensor's spec.dtype cannot hold (StoreRow)
//   ResourceExhausted  disk full
[[nodiscard]] Status WriteNodes(const WriteContext& context, int node_type);

}  // namespace halograph
