// How threads that sample are shared out: to minibatches in the making, side by side, and to each
// of them. Side by side is what pays: a thread with a minibatch of its own never waits for another.
// But each minibatch in the making has tables of 4 bytes a node (nodes.h); where those of all
// would not fit, fewer minibatches are made at once, with more threads each.
#pragma once

#include <cstdint>

#include "common/graph/schema.h"

namespace halograph {

struct SamplerThreads {
  int threads = 1;        // that sample, altogether
  int per_minibatch = 0;  // at least so many for each minibatch; 0: as few as memory allows
  int64_t memory = 0;     // bytes for the tables of all minibatches in the making
};

struct SamplerPlan {
  int minibatches = 1;      // in the making at once, each by the thread that asked for it
  int helpers = 0;          // threads besides, which share the work on any of them
  int64_t table_bytes = 0;  // of one minibatch in the making
};

// The tables of one minibatch in the making. Node types too large for a table have none.
[[nodiscard]] int64_t SamplerTableBytes(const Schema& schema);

// As many minibatches at once as `threads` and the memory allow, one at least (its tables may then
// be larger than the memory); all other threads help. Requires threads > 0, the others not
// negative.
[[nodiscard]] SamplerPlan PlanSampler(const Schema& schema, const SamplerThreads& threads);

// An eighth of the memory of this machine, or of what the control group of this process may use.
[[nodiscard]] int64_t DefaultSamplerMemory();

}  // namespace halograph
