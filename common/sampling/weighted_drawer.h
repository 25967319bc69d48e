// The picks of one destination by weight (SAMPLING.md, "Weighted picks"): the one home of weighted
// draws. Beside draws.h, which has the uniform ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "common/base/rng.h"
#include "common/graph/weight_table.h"
#include "common/sampling/request.h"

namespace halograph {

// One node's in-edges as weighted draws see them. Damaged tables give damaged picks, but positions
// within the list.
struct WeightedRow {
  const AliasEntry* entries = nullptr;
  const double* weights = nullptr;
  const HeavyEdges* heavy = nullptr;  // null: none are set apart
  int64_t degree = 0;
  int64_t drawable = 0;  // in-edges of positive weight; at most degree

  // Of a node of the table's segment, whose `degree` in-edges begin at `begin`.
  static WeightedRow Of(const WeightTable& table, int64_t node, int64_t begin, int64_t degree) {
    return {.entries = table.entries + begin,
            .weights = table.weights + begin,
            .heavy = table.Heavy(node, begin, degree),
            .degree = degree,
            .drawable = std::min(table.Drawable(node), degree)};
  }
};

// How many edges are picked of a node with `drawable` in-edges of positive weight.
inline int64_t WeightedPicksOf(int64_t drawable, int32_t fanout, bool replace) {
  if (fanout == kFullNeighborhood || drawable == 0) return drawable;
  return replace ? int64_t{fanout} : std::min<int64_t>(fanout, drawable);
}

// Whether the picks are every edge of positive weight in file order, without a draw.
inline bool WeightedTakesAll(int64_t drawable, int32_t fanout, bool replace) {
  return fanout == kFullNeighborhood || drawable == 0 || (!replace && fanout >= drawable);
}

// Not thread-safe; its memory is reused, and bounded by the largest degree (8.2 bytes an in-edge,
// given back above kKeptWeights).
class WeightedDrawer {
 public:
  // Writes the positions, in order; positions.size() must be what WeightedPicksOf gives.
  void Draw(uint64_t node_key, const WeightedRow& row, int32_t fanout, bool replace,
            std::span<int64_t> positions);

  // Asks for what the first `draws` draws of the node will read.
  static void Prefetch(uint64_t node_key, const WeightedRow& row, int64_t draws) {
    if (row.heavy != nullptr) {
      __builtin_prefetch(row.heavy);
      __builtin_prefetch(row.heavy->positions.data() + kHeavyEdges - 1);
      return;
    }
    for (int64_t i = 0; i < draws; ++i) {
      __builtin_prefetch(row.entries + Bounded(SubKey(node_key, static_cast<uint64_t>(i)),
                                               static_cast<uint64_t>(row.degree)));
    }
  }

 private:
  static constexpr size_t kKeptWeights = size_t{1} << 20;

  void DrawWithReplacement(uint64_t node_key, const WeightedRow& row, std::span<int64_t> positions);
  void DrawSuccessively(uint64_t node_key, const WeightedRow& row, std::span<int64_t> positions);
  // Successive sampling by at most `limit` draws; how many edges were picked.
  [[nodiscard]] size_t DrawByAlias(uint64_t node_key, const WeightedRow& row, uint64_t limit,
                                   std::span<int64_t> positions);
  [[nodiscard]] size_t DrawTopHeavy(uint64_t node_key, const WeightedRow& row, uint64_t limit,
                                    std::span<int64_t> positions);
  // The rest of them, from the weights themselves.
  void DrawRest(uint64_t node_key, uint64_t next_draw, const WeightedRow& row, size_t picked,
                std::span<int64_t> positions);
  // False if the candidate is one of the first `picked` already, else makes it the next.
  [[nodiscard]] bool Take(int64_t candidate, size_t picked, std::span<int64_t> positions);
  [[nodiscard]] std::span<const double> Block(size_t b) const;  // of left_
  void SumBlocks();

  absl::flat_hash_set<int64_t> taken_;  // beyond kScanPicks
  std::vector<double> left_;            // weights of the edges not picked, 0 for the others
  std::vector<double> block_sums_;      // of left_
};

}  // namespace halograph
