// Sampling of chunks on several threads, handed over in order: what comes out does not depend on
// the threads, and no more than a few chunks wait in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/base/thread_pool.h"
#include "common/sampling/fused_outcome.h"
#include "common/sampling/fused_workspace.h"
#include "common/sampling/layer_draws.h"

namespace halograph {

// Destinations a chunk at a fanout: some 100 us of work, whose result the second cache holds.
[[nodiscard]] int64_t ChunkDestinations(int32_t fanout);

struct ChunksOutcome {
  FusedOutcome outcome;
  int64_t chunk = 0;  // that it ended with, if not done
};

// Calls sample(c, room, &picks) for each c in [0, chunks), on the caller's thread and on those of
// `pool` whose queue takes a task, and take(c, picks) in order of c on the caller's thread only;
// returns when both are done for all. The caller samples too where nothing is ready to be taken. No
// thread is more than a few chunks ahead of the last one taken: it waits, asleep. The first chunk
// that is not done, or not taken, ends the call with its outcome. Both may throw: no thread works
// any more when it is thrown on to the caller. `slots` is memory to be reused; `room` the caller's.
[[nodiscard]] ChunksOutcome OrderedChunks(
    ThreadPool* pool, int64_t chunks, FusedRoom* room, std::vector<NeighborPicks>* slots,
    const std::function<FusedOutcome(int64_t chunk, FusedRoom* room, NeighborPicks* picks)>& sample,
    const std::function<FusedOutcome(int64_t chunk, const NeighborPicks& picks)>& take);

}  // namespace halograph
