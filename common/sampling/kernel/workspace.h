// What one minibatch in the making needs and the next one reuses: per node type the unique list and
// its map, and the buffers of the stream. Building one costs page faults (4 bytes a node of each
// type in time), so they are kept in a pool. A workspace serves one call at a time. And the lists
// of one minibatch, as a workspace holds them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/cancel.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/sampling/kernel/nodes.h"
#include "common/sampling/kernel/sinks.h"
#include "common/sampling/kernel/stream.h"
#include "common/sampling/layer_draws.h"
#include "common/sampling/minibatch.h"
#include "common/sampling/request.h"

namespace halograph {

// What one thread needs besides: no more than fits the second cache.
struct FusedRoom {
  FusedStage stage;
  FusedPositions positions;
  PickScratch picks;
};

// Source ids as the relation's file has them: one of the two is used. Edge ids and weights if asked
// for.
struct FusedSources {
  std::vector<uint32_t> narrow;
  std::vector<int64_t> wide;
  std::vector<int64_t> edge_ids;
  std::vector<float> weights;
};

class FusedWorkspace {
 public:
  // Maps address space only; memory comes with use.
  // Throws std::bad_alloc. Tests lower `max_table_nodes`.
  explicit FusedWorkspace(const Schema& schema, int64_t max_table_nodes = kMaxTableNodes);

  std::vector<FusedNodes> nodes;  // per node type
  FusedRoom room;
  std::vector<FusedSources> slots;  // of chunks that several threads sample
};

// At most `limit` workspaces over one schema, made when first needed. Thread-safe.
class FusedWorkspacePool {
 public:
  // Requires limit > 0. `schema` must outlive the pool, the pool its leases.
  FusedWorkspacePool(const Schema* schema, int limit, int64_t max_table_nodes = kMaxTableNodes)
      : schema_(schema), limit_(limit), max_table_nodes_(max_table_nodes) {}

  class Lease {
   public:
    Lease(FusedWorkspacePool* pool, std::unique_ptr<FusedWorkspace> workspace)
        : pool_(pool), workspace_(std::move(workspace)) {}
    ~Lease();
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    [[nodiscard]] FusedWorkspace& operator*() const { return *workspace_; }

   private:
    FusedWorkspacePool* pool_;
    std::unique_ptr<FusedWorkspace> workspace_;
  };

  // `count` at once, so that callers who need several do not wait for one another with some in
  // hand. Waits while too many are out, for minibatches of other callers, but no longer than
  // `limits` says: then Cancelled or DeadlineExceeded. Requires 1 <= count <= limit. Throws
  // std::bad_alloc.
  [[nodiscard]] StatusOr<std::vector<Lease>> Take(int count, const WorkLimits& limits);
  [[nodiscard]] int limit() const { return limit_; }
  // One; by whoever may wait for ever.
  [[nodiscard]] Lease Take() { return std::move(Take(1, {})->front()); }

 private:
  [[nodiscard]] bool HasLeft(int count) const HG_REQUIRES(mutex_) { return out_ + count <= limit_; }
  [[nodiscard]] std::vector<Lease> LendLocked(int count) HG_REQUIRES(mutex_);
  void Return(std::unique_ptr<FusedWorkspace> workspace);

  const Schema* schema_;
  const int limit_;
  const int64_t max_table_nodes_;
  Mutex mutex_;
  CondVar returned_;
  std::vector<std::unique_ptr<FusedWorkspace>> idle_ HG_GUARDED_BY(mutex_);
  int out_ HG_GUARDED_BY(mutex_) = 0;
};

// The unique lists of a minibatch in the making, of all node types: what the fused sampler and the
// builder over other sources share. Not thread-safe. Throws std::bad_alloc.
class MinibatchLists {
 public:
  // Empties the workspace's lists. Neither is owned.
  MinibatchLists(const Schema* schema, FusedWorkspace* workspace);

  [[nodiscard]] FusedNodes& of(int type) const { return workspace_->nodes[type]; }

  // Appends a valid request's seeds and sets their positions, list by list. ResourceExhausted:
  // CheckLength.
  [[nodiscard]] Status AddSeeds(const SampleRequest& request,
                                std::vector<std::vector<int32_t>>* positions);
  // After appending: ResourceExhausted if a list is longer than the 2^31 - 1 that a block numbers.
  [[nodiscard]] Status CheckLength(int type) const;
  // Lengths per type, as they are now.
  void GetSizes(std::vector<int64_t>* sizes) const;
  void CopyTo(std::vector<std::vector<int64_t>>* nodes) const;

 private:
  const Schema* schema_;
  FusedWorkspace* workspace_;
};

}  // namespace halograph
