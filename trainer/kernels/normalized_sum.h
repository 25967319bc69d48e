// The propagation of GCN and of SGC: the sum over neighbours and self, symmetrically normalised
// by degrees (Kipf and Welling 2017, equation 2; Wu et al. 2019, equation 4), on a block's CSC.
#pragma once

#include "common/sampling/minibatch.h"
#include "trainer/blocks/block_transpose.h"
#include "trainer/kernels/block_on_device.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// 1 / sqrt(degree + 1) of a block's nodes, where the one is the self loop. float32.
struct DegreeScales {
  torch::Tensor sources;       // [sources]
  torch::Tensor destinations;  // [destinations]
};

// Where the block gives degrees, these are taken, of sources and destinations.
// Else the degree of a node is the number of its in-edges, or the sum of their coefficients, in the
// block that it is a destination of:
//   a destination  in this block
//   a source       in `outer`, the next block away from the seeds, whose destinations are this
//                  block's sources
//   in the outermost block (`outer` null), of a source that is a destination too: as that; of any
//   other, the number of times that this block lists it, or the sum of these edges' coefficients
// So with all neighbours, on an undirected graph, each degree is the graph's own but for nodes of
// the outermost ring, whose edges nobody asked for: of these the minibatch has seen the edges into
// the block, which are fewer. With drawn neighbours a degree is at most the fanout: what is summed
// and what it is divided by go together, so that a row with equal neighbours everywhere stays of
// its size. (Degrees in the block on either side, as they are often taken, count most sources
// once or twice even where the minibatch knows all of their edges.)
[[nodiscard]] DegreeScales ScalesByDegree(const Block& block, const Block* outer,
                                          int64_t num_sources);

// Row v: d(v) * (s(v) h[v] + the sum of s(u) h[u] over the sources u of v, as often as listed, each
// times the coefficient of its edge, where the block has these), where s and d are the scales of
// sources and destinations: a self loop has coefficient 1. [destinations, h.size(1)], float32, rows
// further apart than long (RowsWithRoom), differentiable in h. `h`: float32, or bfloat16, as is its
// gradient then, summed in float32 and rounded once; on the CPU, rows without gaps within; its
// first rows are the destinations'. `by_source`: of `block`; null: backward makes its own. Requires
// every index of `block` below h.size(0), and that both live until backward is done. The number of
// threads changes no bit. Throws c10::Error as libtorch does.
[[nodiscard]] torch::Tensor NormalizedSum(const torch::Tensor& h, const Block& block,
                                          const DegreeScales& scales,
                                          const TransposedBlock* by_source = nullptr);

// The same of blocks wherever they are: NormalizedSum by ScalesByDegree. `outer`: or none. On a
// device the way back to `h` needs the block by source.
[[nodiscard]] torch::Tensor NormalizedByDegree(const torch::Tensor& h, const BlockRef& block,
                                               const BlockRef& outer);

// The same, composed of libtorch's operations, in any floating type: the oracle of the tests.
[[nodiscard]] torch::Tensor ComposedNormalizedSum(const torch::Tensor& h, const Block& block,
                                                  const DegreeScales& scales);

}  // namespace halograph
