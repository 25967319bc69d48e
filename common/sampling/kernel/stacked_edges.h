// The edges of a stack of frontiers (frontier_stack.h), each to columns of its own, by one scan of
// their distinct destinations: a word a source says for which frontiers it is a column.
// Thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "common/sampling/kernel/frontier_stack.h"
#include "common/sampling/topology_source.h"

namespace halograph {

// Whether that takes less time than one frontier at a time.
[[nodiscard]] bool StackedEdgesPay(const FrontierStack& stack);

// Sets *extracted[f] to what ExtractEdges gives for groups[f], whose destinations are frontier f,
// but for degrees of columns; their memory is reused. Takes 4 to 8 bytes an edge found while it
// runs, 12 to 24 with edge ids. Requires stack.whole(), groups that CheckColumns takes, and a
// workspace with a table of the sources. False: an edge has a source that its type does not have;
// then nothing is of use. Throws std::bad_alloc.
[[nodiscard]] bool ExtractStacked(const ColumnEdges& edges, const FrontierStack& stack,
                                  std::span<const EdgeGroup* const> groups, StackTables* tables,
                                  ColumnWorkspace* workspace,
                                  std::span<ExtractedEdges* const> extracted);

}  // namespace halograph
