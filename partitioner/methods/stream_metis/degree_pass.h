// Step 1 of stream-metis: one pass that counts.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/methods/degrees.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

// Ids of nodes and clusters are 32 bits; the last stands for none.
inline constexpr int64_t kMaxStreamNodes = int64_t{4294967295} - 1;

// Without self-loops: a node of total 0 has no neighbour.
//   ResourceExhausted  more than kMaxStreamNodes nodes, or no memory
// and whatever the edge stream reports.
[[nodiscard]] StatusOr<Degrees> CountStreamDegrees(const Dataset& dataset);

}  // namespace halograph
