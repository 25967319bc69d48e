// The one sampling kernel: one relation of one layer in one pass, in which rows, draws, reads and
// compaction of many edges at a time are under way together. Two forms: compacted into a block, and
// collected as global ids. Thread-safe, as long as each call has memory of its own.
#pragma once

#include <cstdint>
#include <span>

#include "common/sampling/kernel/excluded_edges.h"
#include "common/sampling/kernel/outcome.h"
#include "common/sampling/kernel/workspace.h"
#include "common/sampling/layer_draws.h"
#include "common/sampling/minibatch.h"

namespace halograph {

struct FusedLayerTask {
  LayerDraws draws;
  int destination_type = 0;
  int source_type = 0;
  int64_t num_destinations = 0;  // the first ones of the destination type's list
  // Destinations with edges to leave out. Only sampling in chunks (split.h) does so: the
  // compacting form has a source in the list before it could be told from others.
  std::span<const ExcludedRow> excluded = {};
};

// Appends new sources to the workspace's list of the source type and fills all arrays of `block`,
// whose memory is reused. Requires that nothing is left out. Any outcome is possible. Throws
// std::bad_alloc.
[[nodiscard]] FusedOutcome SampleFusedLayer(const FusedLayerTask& task, FusedWorkspace* workspace,
                                            Block* block);

// The same of the destinations from `first` on; the block holds what was drawn of those before.
[[nodiscard]] FusedOutcome SampleFusedLayerFrom(int64_t first, const FusedLayerTask& task,
                                                FusedWorkspace* workspace, Block* block);

// Overwrites `sources`, whose memory is reused, with what is asked for, and sets indptr[i + 1] to
// how many there are up to the last of destination i; indptr[0 .. destinations] come as 0, and stay
// so where the fanout is 0. Sources are as the files have them, unchecked; any outcome is possible
// but those of the list. Throws std::bad_alloc.
[[nodiscard]] FusedOutcome SampleFusedSources(const LayerDraws& draws,
                                              std::span<const int64_t> destinations,
                                              FusedRoom* room, int64_t* indptr,
                                              FusedSources* sources);

// The same as wide ids, whatever the files have.
[[nodiscard]] FusedOutcome SampleFusedSources(const LayerDraws& draws,
                                              std::span<const int64_t> destinations,
                                              FusedRoom* room, NeighborPicks* picks);

}  // namespace halograph
