// Column sums and edges of several minibatches' frontiers, by the way that takes less time: one
// frontier at a time (column_sums.h, extract_edges.h), or stacks that share the scan of what lies
// in many frontiers (stacked_sums.h, stacked_edges.h). The answer, errors too, does not depend on
// the way. Thread-safe; a workspace serves one call at a time.
#pragma once

#include <span>

#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/sampling/kernel/column_workspace.h"
#include "common/sampling/kernel/frontier_stack.h"
#include "common/sampling/topology_source.h"

namespace halograph {

// Sets *sums[i] to what SumColumns gives for groups[i], which are of the relation of `edges` and
// of no page; errors are those of the first group that has one. Stacks counts only (kOne), as long
// as `memory` has room for their tables; null: none. Throws std::bad_alloc.
[[nodiscard]] Status SumColumnsOfAll(const ColumnEdges& edges,
                                     std::span<const ColumnGroup* const> groups,
                                     StackMemory* memory, ColumnWorkspace* workspace,
                                     std::span<ColumnSums* const> sums,
                                     const WorkLimits& limits = {});

// The same for ExtractEdges.
[[nodiscard]] Status ExtractEdgesOfAll(const ColumnEdges& edges,
                                       std::span<const EdgeGroup* const> groups,
                                       StackMemory* memory, ColumnWorkspace* workspace,
                                       std::span<ExtractedEdges* const> extracted,
                                       const WorkLimits& limits = {});

}  // namespace halograph
