// What a block needs beside its edges where its rule gives estimates of sums over all in-edges
// (IsEstimate, rule.h), and each destination is drawn for by itself.
#pragma once

#include <cstdint>
#include <span>

#include "common/sampling/minibatch.h"
#include "common/sampling/rule.h"

namespace halograph {

// How many in-edges of a destination, drawn or not, a minibatch leaves out.
struct LeftOutEdges {
  int64_t destination = 0;  // position
  int64_t edges = 0;
};

// Overwrites the block's coefficients and degrees, of whose rule IsEstimate. Each of d in-edges of
// a destination is drawn with the chance fanout / d, or 1 where d <= fanout: one over that is its
// coefficient, whatever is left out. `degrees`: d of the destinations, then of other sources.
// Block::degrees are these without the edges in `left_out`, which are among them. Requires the
// block's indptr. Throws std::bad_alloc.
void FillEstimates(const DrawRule& rule, std::span<const int64_t> degrees,
                   std::span<const LeftOutEdges> left_out, Block* block);

// Appends the degrees of sources that were not known then.
void AddSourceDegrees(std::span<const int64_t> degrees, Block* block);

}  // namespace halograph
