// One relation of one layer in one pass: rows, draws, reads and compaction of many edges at a time
// are under way together.
#pragma once

#include <cstdint>

#include "common/graph/topology.h"
#include "common/sampling/fused_workspace.h"
#include "common/sampling/minibatch.h"

namespace halograph {

struct FusedLayerTask {
  const RelationTopology* topology = nullptr;  // holds every destination
  int destination_type = 0;
  int source_type = 0;
  int64_t num_destinations = 0;  // the first ones of the destination type's list
  int32_t fanout = 0;            // valid
  bool replace = false;
  uint64_t layer_key = 0;
};

// Appends new sources to the workspace's list of the source type and fills indptr and indices of
// `block`, whose memory is reused. False if the list grew beyond 2^31 - 1. Throws std::bad_alloc.
[[nodiscard]] bool SampleFusedLayer(const FusedLayerTask& task, FusedWorkspace* workspace,
                                    Block* block);

}  // namespace halograph
