// The order in which nodes are visited: blocks of neighbouring ids, shuffled. Lists on disk are
// read in long pieces, and no order of the input is followed twice.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "common/base/rng.h"

namespace halograph {

inline constexpr int64_t kVisitBlock = 4096;

// Calls visit(begin, end) for every block of 0 .. nodes - 1 once; a pure function of nodes and key.
template <typename Visit>
void ForEachBlock(int64_t nodes, uint64_t key, Visit visit) {
  std::vector<int64_t> blocks(static_cast<size_t>((nodes + kVisitBlock - 1) / kVisitBlock));
  std::iota(blocks.begin(), blocks.end(), 0);
  CounterRng rng(key);
  for (size_t i = blocks.size(); i > 1; --i) std::swap(blocks[i - 1], blocks[rng.NextBounded(i)]);
  for (const int64_t block : blocks) {
    const int64_t begin = block * kVisitBlock;
    visit(begin, begin + kVisitBlock < nodes ? begin + kVisitBlock : nodes);
  }
}

}  // namespace halograph
