#include "common/sampling/merge_edges.h"

#include <algorithm>
#include <vector>

namespace halograph {
namespace {

// Copies what a share has of every edge to where its destination's edges begin.
template <typename T>
void Scatter(const EdgesShare& share, const std::vector<T> ExtractedEdges::*column,
             const std::vector<int64_t>& offsets, std::vector<T>* to) {
  const std::vector<T>& from = share.edges->*column;
  if (from.empty()) return;
  const std::vector<int64_t>& ends = share.edges->offsets;
  for (size_t i = 0; i < share.positions.size(); ++i) {
    std::copy(from.begin() + ends[i], from.begin() + ends[i + 1],
              to->begin() + offsets[static_cast<size_t>(share.positions[i])]);
  }
}

// Of every column the in-degree that is known.
void MergeColumnDegrees(std::span<const EdgesShare> shares, std::vector<int64_t>* degrees) {
  degrees->clear();
  for (const EdgesShare& share : shares) {
    const std::vector<int64_t>& known = share.edges->column_degrees;
    if (degrees->size() < known.size()) degrees->resize(known.size(), -1);
    for (size_t c = 0; c < known.size(); ++c) (*degrees)[c] = std::max((*degrees)[c], known[c]);
  }
}

}  // namespace

void MergeEdges(size_t destinations, std::span<const EdgesShare> shares, ExtractedEdges* edges) {
  std::vector<int64_t>& offsets = edges->offsets;
  offsets.assign(destinations + 1, 0);
  edges->degrees.assign(destinations, 0);
  bool edge_ids = false;
  for (const EdgesShare& share : shares) {
    edge_ids = edge_ids || !share.edges->edge_ids.empty();
    for (size_t i = 0; i < share.positions.size(); ++i) {
      const auto at = static_cast<size_t>(share.positions[i]);
      offsets[at + 1] = share.edges->offsets[i + 1] - share.edges->offsets[i];
      edges->degrees[at] = share.edges->degrees[i];
    }
  }
  for (size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
  edges->columns.resize(static_cast<size_t>(offsets.back()));
  edges->edge_ids.resize(edge_ids ? edges->columns.size() : 0);
  for (const EdgesShare& share : shares) {
    Scatter(share, &ExtractedEdges::columns, offsets, &edges->columns);
    Scatter(share, &ExtractedEdges::edge_ids, offsets, &edges->edge_ids);
  }
  MergeColumnDegrees(shares, &edges->column_degrees);
}

}  // namespace halograph
