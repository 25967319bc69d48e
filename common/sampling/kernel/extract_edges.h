// The edges of a layer-wise layer: those between its destinations and the sources that were drawn,
// with the full in-degrees by which means are divided (SAMPLING.md, "Layer-wise draws").
// Thread-safe; a workspace serves one call at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/sampling/kernel/column_workspace.h"

namespace halograph {

// What is wanted beside the edges.
struct ExtractWanted {
  bool edge_ids = false;
  // In-degrees of the columns as destinations of the same relation: its two types must be one.
  bool column_degrees = false;
};

struct ExtractedEdges {
  // Edges of destination i are offsets[i] .. offsets[i + 1], in file order, parallel ones too.
  std::vector<int64_t> offsets;         // destinations + 1
  std::vector<int32_t> columns;         // by edge: position of its source in the list of columns
  std::vector<int64_t> edge_ids;        // by edge: global id; empty unless wanted
  std::vector<int64_t> degrees;         // by destination: all its in-edges
  std::vector<int64_t> column_degrees;  // by column: the same; -1: in no part that is here. Empty
                                        // unless wanted
  bool operator==(const ExtractedEdges&) const = default;
};

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

}  // namespace halograph
