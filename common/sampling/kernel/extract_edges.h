// The edges of a layer-wise layer: those between its destinations and the sources that were drawn,
// with the full in-degrees by which means are divided (SAMPLING.md, "Layer-wise draws").
// Thread-safe; a workspace serves one call at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/sampling/kernel/column_workspace.h"
#include "common/sampling/topology_source.h"

namespace halograph {

// The edges from `columns` (global ids of sources, ascending and unique) into `destinations`
// (unique global ids, in any order). `extracted` is overwritten and its memory reused; after an
// error it holds nothing of use. Throws std::bad_alloc.
//   InvalidArgument    a destination that is in no part that is here; columns that do not ascend
//   OutOfRange         a column that the source type does not have
//   ResourceExhausted  more than 2^31 - 1 columns
//   DataLoss           offsets or sources that cannot be; names the relation and the node
[[nodiscard]] Status ExtractEdges(const ColumnEdges& edges, std::span<const int64_t> destinations,
                                  std::span<const int64_t> columns, const ExtractWanted& wanted,
                                  ColumnWorkspace* workspace, ExtractedEdges* extracted);

// What ExtractEdges checks of its columns, and how it finds ExtractedEdges::column_degrees, for
// stacks of frontiers (stacked_edges.h). `degrees` is appended to.
[[nodiscard]] Status CheckColumns(const ColumnEdges& edges, std::span<const int64_t> columns);
[[nodiscard]] Status FindColumnDegrees(const ColumnEdges& edges, std::span<const int64_t> columns,
                                       std::vector<int64_t>* degrees);

}  // namespace halograph
