// The one-layer sampler: for each destination, which in-edges are drawn. What a server answers
// with; the same kernel as that of whole minibatches, without the compaction. Thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/thread_pool.h"
#include "common/sampling/kernel/outcome.h"
#include "common/sampling/layer_draws.h"

namespace halograph {

// Samples one layer of one relation by the contract. Requires every destination
// present in the topology (callers validate: asserted only). The result does not depend on `pool`,
// which may be null. `picks` is overwritten, with edge ids, weights and degrees if `draws` asks for
// them; its memory is reused. Sources are as the files have them: who follows them checks them. Any
// outcome but those of a list. Throws std::bad_alloc.
[[nodiscard]] FusedOutcome SampleNeighbors(const LayerDraws& draws,
                                           std::span<const int64_t> destinations, ThreadPool* pool,
                                           NeighborPicks* picks);

// Of the edges that SampleNeighbors draws for `v`, in their order, those of the range
// [first, first + count), which must be within them: for a list that is longer than a message. The
// memory that it takes is that of the range where every edge is taken, and uniformly; else that of
// the draws. Requires what SampleNeighbors does; `picks` is overwritten, as if `v` were the only
// destination. Any outcome but those of a list.
[[nodiscard]] FusedOutcome SampleNeighborRange(const LayerDraws& draws, int64_t v, int64_t first,
                                               int64_t count, NeighborPicks* picks);

// Overwrites `degrees` with the in-degrees of destinations that are present in the topology. An
// outcome of damaged offsets is possible. Throws std::bad_alloc.
[[nodiscard]] FusedOutcome GetInDegrees(const RelationTopology& topology,
                                        std::span<const int64_t> destinations,
                                        std::vector<int64_t>* degrees);

// How many edges SampleNeighbors would draw for `v`: what a server needs to bound its answer. -1 if
// the offsets of `v` are damaged, which SampleNeighbors would find.
[[nodiscard]] int64_t CountPicks(const LayerDraws& draws, int64_t v);

}  // namespace halograph
