// Random blocks for tests of models.
#pragma once

#include "common/base/rng.h"
#include "common/sampling/minibatch.h"

namespace halograph {

// Degrees 0 to 5; parallel edges happen.
inline Block RandomBlock(uint64_t key, int64_t destinations, int64_t sources) {
  CounterRng rng(Mix(key));
  Block block;
  block.indptr.push_back(0);
  for (int64_t i = 0; i < destinations; ++i) {
    for (uint64_t edges = rng.NextBounded(6); edges > 0; --edges) {
      block.indices.push_back(
          static_cast<int32_t>(rng.NextBounded(static_cast<uint64_t>(sources))));
    }
    block.indptr.push_back(static_cast<int64_t>(block.indices.size()));
  }
  return block;
}

// Two layers over 30 nodes, of which 12 and 5 are destinations; three listed seeds.
inline Minibatch RandomMinibatch(uint64_t key) {
  Minibatch minibatch;
  minibatch.layers = {{{RandomBlock(key, 5, 12)}, {5}, {12}},
                      {{RandomBlock(key + 1, 12, 30)}, {12}, {30}}};
  minibatch.nodes = {std::vector<int64_t>(30)};
  minibatch.seed_positions = {{4, 0, 4}};
  return minibatch;
}

}  // namespace halograph
