// Writes tasks/<task>/<set>/<type>: seeds, labels and the other arrays of a set. Each row goes
// to the partition that owns it, in input order; seeds become global ids.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "partitioner/write/write_context.h"

namespace halograph {

// Writes all arrays of one task set for every partition; returns the rows of each partition.
// Arrays negative_srcs and negative_dsts of a relation's set hold node ids too and are mapped
// likewise.
//   InvalidArgument    seeds that make no sense (ResolveTaskColumns)
//   ResourceExhausted  disk full
[[nodiscard]] StatusOr<std::vector<int64_t>> WriteTaskSet(const WriteContext& context,
                                                          const InputTask& task,
                                                          const InputTaskSet& set);

}  // namespace halograph
