// Puts the answers to parts of a group, whoever gave them, back into the order of the group's
// destinations: counts, prefix sum, one exact allocation, then every answer to its place.
#pragma once

#include <cstdint>
#include <span>

#include "common/sampling/layer_draws.h"

namespace halograph {

// What was drawn for some destinations of a group. `sources` (and `edge_ids`, `weights`, as long,
// or empty where they were not asked for) hold what was drawn for the first, then the second...
struct PicksShare {
  std::span<const int64_t> positions;  // of the destinations in the group
  // Edges of each destination: exactly one of the two, counts as long as positions, or offsets one
  // longer.
  std::span<const uint32_t> counts = {};
  std::span<const int64_t> offsets = {};
  std::span<const int64_t> sources = {};
  std::span<const int64_t> edge_ids = {};
  std::span<const float> weights = {};
  std::span<const int64_t> degrees = {};  // one a destination, or none
  // Where the edges given of the first destination begin among those drawn for it: others have
  // those before them. Those behind the last one's may be others', too.
  int64_t first_edge = 0;

  [[nodiscard]] int64_t Count(size_t i) const {
    return offsets.empty() ? int64_t{counts[i]} : offsets[i + 1] - offsets[i];
  }
};

// Of what a source gave for destinations at `positions`. Borrowed.
[[nodiscard]] PicksShare ShareOf(std::span<const int64_t> positions, const NeighborPicks& picks);

// Fills `picks`, whose memory is used again, for a group of `destinations`; one without a share has
// no edges. Positions are below that, and are given once, or in pieces that are each given once.
// Throws std::bad_alloc.
void MergePicks(size_t destinations, std::span<const PicksShare> shares, NeighborPicks* picks);

}  // namespace halograph
