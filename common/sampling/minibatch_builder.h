// From seeds to a minibatch, layer by layer, where the drawn edges come from is behind
// NeighborSource: the owners' servers, or some of them mapped. (For a topology that is all here,
// fused_sampler.h does both at once.)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/base/thread_pool.h"
#include "common/graph/schema.h"
#include "common/graph/topology.h"
#include "common/sampling/fused_workspace.h"
#include "common/sampling/layer_draws.h"
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

// Draws with the kernel from `topology`, which must hold every destination asked for. DataLoss as
// FusedSampler. Neither pointer is owned; `pool` may be null.
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

// What builders work in. They wait for answers most of the time, so there may be many at once, each
// with tables of less memory than the fused sampler's.
class BuilderWorkspaces : public FusedWorkspacePool {
 public:
  static constexpr int kLimit = 64;  // builders at once; more wait
  static constexpr int64_t kTableNodes = int64_t{1} << 24;

  // `schema` must outlive it.
  explicit BuilderWorkspaces(const Schema* schema)
      : FusedWorkspacePool(schema, kLimit, kTableNodes) {}
};

// Validates the request, then samples and compacts all layers. `workspaces`: made for the same
// schema. Thread-safe.
//   InvalidArgument, OutOfRange, NotFound  as ValidateRequest
//   ResourceExhausted            a node list longer than 2^31 - 1, or no memory
//   Internal                     an answer of the source that fits no question
//   else                         what the source returned
[[nodiscard]] StatusOr<Minibatch> BuildMinibatch(const Schema& schema, const SampleRequest& request,
                                                 NeighborSource& source,
                                                 BuilderWorkspaces* workspaces);

}  // namespace halograph
