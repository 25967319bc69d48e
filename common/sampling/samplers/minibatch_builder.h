// From seeds to minibatches, layer by layer. Where the drawn edges come from is behind
// NeighborSource: the owners' servers, or some of them mapped. (For a topology that is all here,
// fused_sampler.h draws and compacts at once.)
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/base/thread_pool.h"
#include "common/graph/schema.h"
#include "common/graph/topology.h"
#include "common/sampling/kernel/workspace.h"
#include "common/sampling/layer_draws.h"
#include "common/sampling/minibatch.h"
#include "common/sampling/request.h"

namespace halograph {

// What one layer of one minibatch asks of one relation. Everything that its draws depend on is
// here, so groups of different minibatches and layers can be answered in one call.
struct LayerGroup {
  int relation = 0;
  DrawRule rule;            // of the relation
  uint64_t batch_seed = 0;  // of the minibatch
  int layer = 0;
  bool edge_ids = false;                  // fills NeighborPicks::edge_ids
  bool weights = false;                   // fills NeighborPicks::weights; needs one in the rule
  std::span<const int64_t> destinations;  // unique global ids
};

// Answers what was drawn. Edges that a minibatch leaves out are no matter of a source: who makes
// the minibatch removes them.
class NeighborSource {
 public:
  virtual ~NeighborSource() = default;
  // Fills picks[g] for groups[g]. All groups that are wanted at one time come in one call, so that
  // a remote source can ask every owner once.
  [[nodiscard]] virtual Status SampleLayer(std::span<const LayerGroup> groups,
                                           std::vector<NeighborPicks>* picks) = 0;
};

// Draws with the kernel from `topology`, which must hold every destination asked for. DataLoss as
// FusedSampler. Neither pointer is owned; `pool` may be null.
class LocalNeighborSource final : public NeighborSource {
 public:
  LocalNeighborSource(const Topology* topology, ThreadPool* pool)
      : topology_(topology), pool_(pool) {}
  [[nodiscard]] Status SampleLayer(std::span<const LayerGroup> groups,
                                   std::vector<NeighborPicks>* picks) override;

 private:
  const Topology* topology_;
  ThreadPool* pool_;
};

// What builders work in. They wait for answers most of the time, so there may be many at once, each
// with tables of less memory than the fused sampler's.
class BuilderWorkspaces : public FusedWorkspacePool {
 public:
  static constexpr int kLimit = 64;  // minibatches in the making at once; more wait
  static constexpr int64_t kTableNodes = int64_t{1} << 24;

  // `schema` must outlive it.
  explicit BuilderWorkspaces(const Schema* schema)
      : FusedWorkspacePool(schema, kLimit, kTableNodes) {}
};

// At most so many minibatches of one call are made together; more follow in groups of as many.
inline constexpr int kMinibatchesTogether = 32;

// Validates the requests, then samples and compacts their layers: minibatches[i] of requests[i], as
// many of each. Layer l of all minibatches that are made together is one call of SampleLayer. They
// are overwritten, and their memory reused; after an error they hold nothing of use. `workspaces`:
// made for the same schema; `limits` bounds the wait for them. Thread-safe.
//   InvalidArgument, OutOfRange, NotFound  as ValidateRequests
//   ResourceExhausted            a node list longer than 2^31 - 1, or no memory
//   Internal                     an answer of the source that fits no question
//   Cancelled, DeadlineExceeded  `limits`, while too many minibatches of others are in the making
//   else                         what the source returned
[[nodiscard]] Status BuildMinibatches(const Schema& schema, std::span<const SampleRequest> requests,
                                      NeighborSource& source, BuilderWorkspaces* workspaces,
                                      std::span<Minibatch> minibatches,
                                      const WorkLimits& limits = {});

// BuildMinibatches for a source that is not waited for: who makes this asks for each layer and
// gives it the answers. It borrows what BuildMinibatches does until it is destroyed, and is for one
// thread at a time. Errors are those, and nothing goes on after one.
//
//   MinibatchesInMaking making(schema, requests, workspaces, minibatches, limits);
//   while (*making.Next()) source.SampleLayer(making.groups(), making.picks());
class MinibatchesInMaking {
 public:
  MinibatchesInMaking(const Schema& schema, std::span<const SampleRequest> requests,
                      BuilderWorkspaces* workspaces, std::span<Minibatch> minibatches,
                      const WorkLimits& limits);
  ~MinibatchesInMaking();
  MinibatchesInMaking(const MinibatchesInMaking&) = delete;
  MinibatchesInMaking& operator=(const MinibatchesInMaking&) = delete;

  // Takes the answers to groups(), but for the first time. False: all minibatches are made.
  [[nodiscard]] StatusOr<bool> Next();
  // What is asked for now, and where the answers go; until the next Next.
  [[nodiscard]] std::span<const LayerGroup> groups() const;
  [[nodiscard]] std::vector<NeighborPicks>* picks();

 private:
  class Together;
  const Schema& schema_;
  std::span<const SampleRequest> requests_;  // of which no minibatch is begun
  BuilderWorkspaces* const workspaces_;
  std::span<Minibatch> minibatches_;  // theirs
  const WorkLimits limits_;
  bool valid_ = false;
  std::unique_ptr<Together> together_;  // those in the making
};

}  // namespace halograph
