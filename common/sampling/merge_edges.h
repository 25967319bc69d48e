// Puts extracted edges of several owners together: in the caller's order of destinations. A pure
// function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/sampling/topology_source.h"

namespace halograph {

// What one owner answered for some of the destinations. Borrowed.
struct EdgesShare {
  std::span<const int64_t> positions;  // of its destinations among the caller's
  const ExtractedEdges* edges = nullptr;
};
[[nodiscard]] inline EdgesShare ShareOf(std::span<const int64_t> positions,
                                        const ExtractedEdges& edges) {
  return {positions, &edges};
}

// Requires that each share has edges of as many destinations as positions, that these are those of
// 0 .. destinations - 1, each once, and that all shares were asked for the same columns and columns
// alike. `edges` is overwritten, its memory reused; no share may be of it. Of a column's in-degrees
// the one that an owner knows counts. Throws std::bad_alloc.
void MergeEdges(size_t destinations, std::span<const EdgesShare> shares, ExtractedEdges* edges);

}  // namespace halograph
