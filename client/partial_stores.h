// Stores that others are composed with: beside what every store does they give single layers and
// scattered rows, and let the caller work while answers are under way. Implementation: remote/.
//
// Thread-safe: any number of threads may call at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "client/graph_store.h"
#include "client/kv_store.h"
#include "common/base/status.h"
#include "common/graph/tensor_ref.h"
#include "common/sampling/minibatch_builder.h"

namespace halograph {

// The caller's own work during a call: called once, on the caller's thread, when all requests that
// can be under way are, and also if there is none; maybe not at all if the call fails. Must not
// throw, and should take milliseconds.
using Meanwhile = std::function<void()>;

class LayeredGraphStore : public GraphStore {
 public:
  // Layers of one minibatch, for one thread; the store outlives it. `meanwhile`, which may be
  // empty, is called in every SampleLayer. `stats`, if not null, is added to. Errors of SampleLayer
  // are those of Sample; a layer without destinations is Cancelled too after Shutdown.
  [[nodiscard]] virtual std::unique_ptr<NeighborSource> NewSource(Meanwhile meanwhile,
                                                                  CallStats* stats) = 0;
};

class ScatteringKVStore : public KVStore {
 public:
  // As Pull, but row ids[i] goes to destination + positions[i] * row_bytes. Requires what Pull
  // checks, and as many positions as ids. No ids: asks nobody, but is Cancelled after Shutdown.
  [[nodiscard]] virtual Status PullTo(const TensorRef& tensor, std::span<const int64_t> ids,
                                      std::span<const int64_t> positions, std::byte* destination,
                                      const Meanwhile& meanwhile, CallStats* stats) = 0;
};

}  // namespace halograph
