// What one minibatch in the making needs and the next one reuses: per node type the unique list and
// its map, and the buffers of the stream. Building one costs page faults (4 bytes a node of each
// type in time), so they are kept in a pool. A workspace serves one call at a time.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "common/graph/schema.h"
#include "common/sampling/draws.h"
#include "common/sampling/fused_array.h"
#include "common/sampling/fused_id_map.h"

namespace halograph {

// Up to this many nodes of a type its map is a table, beyond it a hash map: a table of 400 MB a
// workspace is the most that its speed is worth.
inline constexpr int64_t kMaxTableNodes = 100'000'000;

// The unique nodes of one type, in order of first appearance.
struct FusedNodes {
  FusedNodes(int64_t nodes, int64_t max_table_nodes);

  void Restart();
  // Room for `more` after the list's end. Voids pointers into the list.
  void Reserve(int64_t more);

  FusedArray<int64_t> ids;
  int64_t size = 0;
  std::variant<DirectIdMap, HashIdMap> map;
};

// Edges on their way through the kernel: address of the entry, source id, position.
struct FusedStage {
  static constexpr int64_t kCapacity = 2048;  // all three fit the first cache
  alignas(64) std::array<uint64_t, kCapacity> addresses;
  alignas(64) std::array<int64_t, kCapacity> ids;  // or uint32_t, as the relation has them
  alignas(64) std::array<int32_t, kCapacity> positions;
};

class FusedWorkspace {
 public:
  // Maps address space only; memory comes with use.
  // Throws std::bad_alloc. Tests lower `max_table_nodes`.
  explicit FusedWorkspace(const Schema& schema, int64_t max_table_nodes = kMaxTableNodes);

  std::vector<FusedNodes> nodes;  // per node type
  FusedStage stage;
  FloydDrawer floyd;
  std::vector<int64_t> positions;  // of one destination with many picks
};

// At most `limit` workspaces over one schema, made when first needed. Thread-safe.
class FusedWorkspacePool {
 public:
  // Requires limit > 0. `schema` must outlive the pool, the pool its leases.
  FusedWorkspacePool(const Schema* schema, int limit) : schema_(schema), limit_(limit) {}

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

  // Waits while all are out: for a minibatch of another caller, that is. Throws std::bad_alloc.
  [[nodiscard]] Lease Take();

 private:
  void Return(std::unique_ptr<FusedWorkspace> workspace);

  const Schema* schema_;
  const int limit_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<FusedWorkspace>> idle_;
  int out_ = 0;
};

}  // namespace halograph
