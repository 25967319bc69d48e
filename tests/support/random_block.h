// Random blocks for tests of models.
#pragma once

#include <algorithm>

#include "common/base/rng.h"
#include "common/sampling/minibatch.h"

namespace halograph {

// What a block has beside its edges.
struct Factors {
  bool coefficients = false, degrees = false;
};
inline constexpr Factors kAllFactors[] = {{}, {true, false}, {false, true}, {true, true}};

// Coefficients are 0 of a fifth of the edges, degrees 0 to 9.
inline void AddFactors(uint64_t key, const Factors& factors, int64_t nodes, Block* block) {
  CounterRng rng(Mix(key + 1000));
  for (size_t e = 0; factors.coefficients && e < block->indices.size(); ++e) {
    const auto value = static_cast<float>(rng.NextBounded(1000)) / 400.0F;
    block->coefficients.push_back(value < 0.5F ? 0.0F : value);
  }
  for (int64_t v = 0; factors.degrees && v < nodes; ++v) {
    block->degrees.push_back(static_cast<float>(rng.NextBounded(10)));
  }
}

// In-degrees 0 to 5; parallel edges happen.
inline Block RandomBlock(uint64_t key, int64_t destinations, int64_t sources,
                         const Factors& factors = {}) {
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
  AddFactors(key, factors, std::max(destinations, sources), &block);
  return block;
}

// Two layers over 30 nodes, of which 12 and 5 are destinations; three listed seeds.
inline Minibatch RandomMinibatch(uint64_t key, const Factors& factors = {}) {
  Minibatch minibatch;
  minibatch.layers = {{{RandomBlock(key, 5, 12, factors)}, {5}, {12}},
                      {{RandomBlock(key + 1, 12, 30, factors)}, {12}, {30}}};
  minibatch.nodes = {std::vector<int64_t>(30)};
  minibatch.seed_positions = {{4, 0, 4}};
  return minibatch;
}

}  // namespace halograph
