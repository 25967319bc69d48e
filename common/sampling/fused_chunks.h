// Sampling of chunks on several threads, handed over in order: what comes out does not depend on
// the threads, and no more than a few chunks wait in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/base/thread_pool.h"
#include "common/sampling/fused_workspace.h"
#include "common/sampling/layer_draws.h"

namespace halograph {

// Destinations a chunk: some 50 us of work, that the second cache holds.
inline constexpr int64_t kChunkDestinations = 512;

// Calls sample(c, room, &picks) for each c in [0, chunks), on the caller's thread and on those of
// `pool` whose queue takes a task, and take(c, picks) in order of c on the caller's thread only;
// returns when both are done for all. The caller samples too where nothing is ready to be taken. No
// thread is more than a few chunks ahead of the last one taken; it waits, asleep. `sample` and
// `take` may throw std::bad_alloc and std::length_error: the first one is thrown on to the caller,
// once no thread works any more. `take` returning false ends the work, too; so does OrderedChunks.
// `slots` is memory to be reused; `room` the caller's own.
[[nodiscard]] bool OrderedChunks(
    ThreadPool* pool, int64_t chunks, FusedRoom* room, std::vector<NeighborPicks>* slots,
    const std::function<void(int64_t chunk, FusedRoom* room, NeighborPicks* picks)>& sample,
    const std::function<bool(int64_t chunk, const NeighborPicks& picks)>& take);

}  // namespace halograph
