// From seeds to a minibatch, layer by layer: the one compaction of the tree. Where the drawn edges
// come from is behind NeighborSource: the kernel over mapped files, or the owners' servers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/base/thread_pool.h"
#include "common/graph/schema.h"
#include "common/graph/topology.h"
#include "common/sampling/kernel.h"
#include "common/sampling/minibatch.h"
#include "common/sampling/request.h"

namespace halograph {

// One relation's part of a layer to be sampled.
struct LayerGroup {
  int relation = 0;
  int32_t fanout = 0;
  int weight = -1;  // index of the edge feature to draw by; -1: uniformly
  uint64_t layer_key = 0;
  std::span<const int64_t> destinations;  // unique global ids
};

class NeighborSource {
 public:
  virtual ~NeighborSource() = default;
  // Fills picks[g] for groups[g]. All groups of one layer come in one call, so that a remote
  // source can ask every owner once. `layer`, `batch_seed`, `replace` are what layer keys are of.
  [[nodiscard]] virtual Status SampleLayer(int layer, uint64_t batch_seed, bool replace,
                                           std::span<const LayerGroup> groups,
                                           std::vector<NeighborPicks>* picks) = 0;
};

// Draws with the kernel from `topology`, which must hold every destination asked for. Neither
// pointer is owned; `pool` may be null.
class LocalNeighborSource final : public NeighborSource {
 public:
  LocalNeighborSource(const Topology* topology, ThreadPool* pool)
      : topology_(topology), pool_(pool) {}
  [[nodiscard]] Status SampleLayer(int layer, uint64_t batch_seed, bool replace,
                                   std::span<const LayerGroup> groups,
                                   std::vector<NeighborPicks>* picks) override;

 private:
  const Topology* topology_;
  ThreadPool* pool_;
};

// Validates the request, then samples and compacts all layers.
//   InvalidArgument, OutOfRange  as ValidateRequest
//   ResourceExhausted            a node list longer than 2^31 - 1
//   else                         what the source returned
[[nodiscard]] StatusOr<Minibatch> BuildMinibatch(const Schema& schema, const SampleRequest& request,
                                                 NeighborSource& source);

}  // namespace halograph
