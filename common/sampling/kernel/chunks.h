// Sampling of chunks on several threads, handed over in order: what comes out does not depend on
// the threads, and no more than a few chunks wait in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/base/thread_pool.h"
#include "common/sampling/kernel/outcome.h"
#include "common/sampling/kernel/workspace.h"

namespace halograph {

// Destinations a chunk at a fanout: some 20 us of work, so that little is left over at the end of a
// layer, and whose result the second cache holds.
[[nodiscard]] int64_t ChunkDestinations(int32_t fanout);

struct ChunksOutcome {
  FusedOutcome outcome;
  int64_t chunk = 0;  // that it ended with, if not done
};

// A caller and the threads of a pool, over one list of chunks after the other. The threads are
// called once, at the first list or by Wake, and stay until this is destroyed: between lists they
// look out for the next one for some 50 us, then sleep. For use by one thread.
class ChunkCrew {
 public:
  using Sample = std::function<FusedOutcome(int64_t chunk, size_t slot, FusedRoom* room)>;
  using Take = std::function<FusedOutcome(int64_t chunk, size_t slot)>;

  // Neither is owned; `pool` may be null. `room`: the caller's.
  ChunkCrew(ThreadPool* pool, FusedRoom* room) : pool_(pool), room_(room) {}
  ~ChunkCrew();
  ChunkCrew(const ChunkCrew&) = delete;
  ChunkCrew& operator=(const ChunkCrew&) = delete;

  // Chunks that may be sampled and not yet taken: each has a slot below this number.
  [[nodiscard]] size_t slots() const;

  // Calls the threads, so that they are there when a list comes: that takes a sleeping one longer
  // than a small layer. Optional.
  void Wake();

  // Calls sample(c, slot, room) for each c in [0, chunks), on the caller's thread and on those of
  // the pool whose queue took a task, and take(c, slot) in order of c on the caller's thread only;
  // returns when both are done for all. The caller takes before it samples. The first chunk that is
  // not done, or not taken, ends the call with its outcome; the first one that throws, with what it
  // threw. Either way no thread works on the list any more when this returns.
  [[nodiscard]] ChunksOutcome Run(int64_t chunks, const Sample& sample, const Take& take);

 private:
  class Shared;

  ThreadPool* pool_;
  FusedRoom* room_;
  std::shared_ptr<Shared> shared_;  // with the threads
};

}  // namespace halograph
