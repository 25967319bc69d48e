#include "common/sampling/merge_picks.h"

#include <algorithm>
#include <vector>

namespace halograph {
namespace {

// Copies what a share has of every edge to where its destination's edges begin.
template <typename T>
void Scatter(const PicksShare& share, std::span<const T> from, const std::vector<int64_t>& offsets,
             std::vector<T>* to) {
  const T* next = from.data();
  int64_t first = share.first_edge;
  for (size_t i = 0; i < share.positions.size(); ++i) {
    const int64_t count = share.Count(i);
    std::copy_n(next, count, to->data() + offsets[static_cast<size_t>(share.positions[i])] + first);
    next += count;
    first = 0;
  }
}

// `column` of all shares, if any has it.
template <typename T>
void MergeColumn(std::span<const PicksShare> shares, std::span<const T> PicksShare::*column,
                 const std::vector<int64_t>& offsets, std::vector<T>* to) {
  const bool asked = std::any_of(shares.begin(), shares.end(), [column](const PicksShare& share) {
    return !(share.*column).empty();
  });
  to->resize(asked ? static_cast<size_t>(offsets.back()) : 0);
  if (!asked) return;
  for (const PicksShare& share : shares) Scatter(share, share.*column, offsets, to);
}

void MergeDegrees(size_t destinations, std::span<const PicksShare> shares,
                  std::vector<int64_t>* degrees) {
  const bool asked = std::any_of(shares.begin(), shares.end(),
                                 [](const PicksShare& share) { return !share.degrees.empty(); });
  degrees->assign(asked ? destinations : 0, 0);
  for (const PicksShare& share : shares) {
    for (size_t i = 0; i < share.degrees.size(); ++i) {
      (*degrees)[static_cast<size_t>(share.positions[i])] = share.degrees[i];
    }
  }
}

}  // namespace

PicksShare ShareOf(std::span<const int64_t> positions, const NeighborPicks& picks) {
  return {.positions = positions,
          .offsets = picks.offsets,
          .sources = picks.sources,
          .edge_ids = picks.edge_ids,
          .weights = picks.weights,
          .degrees = picks.degrees};
}

void MergePicks(size_t destinations, std::span<const PicksShare> shares, NeighborPicks* picks) {
  std::vector<int64_t>& offsets = picks->offsets;
  offsets.assign(destinations + 1, 0);
  for (const PicksShare& share : shares) {
    for (size_t i = 0; i < share.positions.size(); ++i) {
      offsets[static_cast<size_t>(share.positions[i]) + 1] += share.Count(i);
    }
  }
  for (size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
  MergeColumn(shares, &PicksShare::sources, offsets, &picks->sources);
  MergeColumn(shares, &PicksShare::edge_ids, offsets, &picks->edge_ids);
  MergeColumn(shares, &PicksShare::weights, offsets, &picks->weights);
  MergeDegrees(destinations, shares, &picks->degrees);
}

}  // namespace halograph
