// tasks/<task>/<set>/<type>: rows of seeds, labels and whatever else a set has, each with the
// partition that owns it, in input order, seeds as global ids.
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
