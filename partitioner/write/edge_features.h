// edges/<relation>/features: rows in CSC order, gathered from the mapped input by the original
// edge ids that the topology files hold.
#pragma once

#include "common/base/status.h"
#include "partitioner/write/write_context.h"

namespace halograph {

// Requires the relation's original_ids.npy of every partition to be written.
//   InvalidArgument    a NaN in a row that is used (file, row, column), unless options.allow_nan
//   ResourceExhausted  disk full
[[nodiscard]] Status WriteEdgeFeatures(const WriteContext& context, int relation);

}  // namespace halograph
