// Column sums of a stack of frontiers (frontier_stack.h), by one scan of their distinct
// destinations: 64 counters a source, which an edge raises for all frontiers that it lies in.
// Thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "common/sampling/kernel/frontier_stack.h"
#include "common/sampling/topology_source.h"

namespace halograph {

// Whether that takes less time than one frontier at a time.
[[nodiscard]] bool StackedSumsPay(const FrontierStack& stack, int64_t num_sources);

// Sets *sums[f] to what SumColumns gives for frontier f and ColumnValue::kOne; their memory is
// reused. Requires stack.whole(). False: an edge has a source that its type does not have; then the
// sums hold nothing of use. Throws std::bad_alloc.
[[nodiscard]] bool SumStacked(const ColumnEdges& edges, const FrontierStack& stack,
                              StackTables* tables, std::span<ColumnSums* const> sums);

}  // namespace halograph
