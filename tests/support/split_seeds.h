// The ranks' shards of seeds that are not in a partition folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/seeds/seed_split.h"

namespace halograph {

// SplitRows of ascending seeds, repeats allowed, and the ranges of nodes that the parts own.
inline SeedShards SplitSeeds(std::span<const int64_t> seeds, std::span<const int64_t> boundaries,
                             int world_size) {
  std::vector<int64_t> part_rows;
  for (const int64_t boundary : boundaries) {
    part_rows.push_back(std::lower_bound(seeds.begin(), seeds.end(), boundary) - seeds.begin());
  }
  return SplitRows(part_rows, world_size);
}

}  // namespace halograph
