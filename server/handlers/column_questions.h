// What ColumnSums and Extract have in common: how their groups are looked up, and what they work
// in. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/idle_pool.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/sampling/kernel/column_workspace.h"
#include "server/handlers/served_graph.h"

namespace halograph::server {

// Groups of one request.
inline constexpr size_t kMaxColumnGroups = 1 << 16;

// As many as threads answer at once, each with tables of 4 to 8 bytes a node of the largest source
// type that was asked about.
using ColumnWorkspaces = IdlePool<ColumnWorkspace>;

// A relation that a group names.
struct ColumnRelation {
  int index = 0;      // in the schema
  ColumnEdges edges;  // of the parts served here; borrows the name
  bool wide = false;  // ids of sources take 8 bytes each instead of 4
};

// NotFound: no such relation. `name` must outlive what is returned.
[[nodiscard]] StatusOr<ColumnRelation> FindColumnRelation(const ServedGraph& graph,
                                                          const std::string& name);

// OutOfRange as ServedGraph::CheckOwned: nodes of the relation's destination type.
[[nodiscard]] Status CheckDestinations(const ServedGraph& graph, const ColumnRelation& relation,
                                       std::span<const int64_t> nodes);

// FailedPrecondition: the topology is not served. InvalidArgument: more than kMaxColumnGroups.
[[nodiscard]] Status CheckColumnGroups(const ServedGraph& graph, size_t groups);

// Bytes that a reply may have where a request allows `max_bytes` of it (0: any number).
// InvalidArgument: a negative number.
[[nodiscard]] StatusOr<int64_t> ColumnReplyBytes(int64_t max_reply_bytes, int64_t max_bytes);

// How many edges of one part each source has, for the pages of it that clients ask for. Counted at
// the first page, out of all edges; those of the parts served here stay for the relation that was
// asked about last, at 4 bytes a node of the source type for each part.
class OutDegreeCounts {
 public:
  using Counts = std::shared_ptr<const std::vector<uint32_t>>;

  // `graph` must outlive it.
  explicit OutDegreeCounts(const ServedGraph* graph) : graph_(graph) {}

  // By source, of a part that is served. Who comes while another counts the same waits. Errors as
  // CountOutDegrees.
  [[nodiscard]] StatusOr<Counts> Of(const ColumnRelation& relation, int part);
  // How often edges were counted.
  [[nodiscard]] int64_t times_counted() const { return times_counted_; }

 private:
  // Of one relation and part.
  struct Entry {
    Mutex mutex;
    Counts counts HG_GUARDED_BY(mutex);
  };
  [[nodiscard]] std::shared_ptr<Entry> EntryOf(int relation, int part);

  const ServedGraph* graph_;
  Mutex mutex_;
  int relation_ HG_GUARDED_BY(mutex_) = -1;
  std::map<int, std::shared_ptr<Entry>> of_parts_ HG_GUARDED_BY(mutex_);  // of that relation
  std::atomic<int64_t> times_counted_ = 0;
};

}  // namespace halograph::server
