// One layer of one minibatch on several threads: each samples chunks of destinations, the caller
// compacts them in order. What comes out is SampleFusedLayer's, bit for bit.
#pragma once

#include <span>

#include "common/sampling/kernel/chunks.h"
#include "common/sampling/kernel/layer.h"

namespace halograph {

// Whether `tasks` are work for more than one thread.
[[nodiscard]] bool PaysToSplit(std::span<const FusedLayerTask> tasks);

struct SplitOutcome {
  FusedOutcome outcome;
  size_t task = 0;  // that it ended in, if not done
};

// Fills blocks[i] for tasks[i], in order, as SampleFusedLayer does, but for the edges that a task
// leaves out. Throws std::bad_alloc.
[[nodiscard]] SplitOutcome SampleSplitLayer(std::span<const FusedLayerTask> tasks, ChunkCrew* crew,
                                            FusedWorkspace* workspace, std::span<Block> blocks);

}  // namespace halograph
