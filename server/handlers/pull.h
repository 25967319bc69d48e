// KVService/Pull without its wire: rows of one tensor by global id, of the graph or mutable.
// Immutable; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/graph/row_source.h"
#include "common/state/parts/part_states.h"
#include "server/handlers/graph_counters.h"
#include "server/handlers/served_graph.h"

namespace halograph::server {

struct PullRequest {
  TensorRef tensor;
  std::vector<int64_t> ids;  // global, any order, repeats allowed
  int64_t min_lsn = 0;       // of a mutable tensor: pushes that the rows must show; 0: none
};

// What the reply will be, known before a row is touched.
struct PullPlan {
  TensorRef ref;
  const CatalogTensor* tensor = nullptr;  // lives as long as the graph served
  std::vector<int64_t> shape;             // [rows] or [rows, dim]
  size_t bytes = 0;                       // of the rows
  // Of a mutable tensor; else null.
  const MutableTensor* changing = nullptr;
  int part = -1;        // that owns the rows, where they wait for min_lsn
  int64_t min_lsn = 0;  // 0: they do not wait
};

class PullHandler {
 public:
  // What a reply holds beside its rows, at most.
  static constexpr int64_t kHeaderBytes = 64;

  // `graph`, `states` and `counters` must outlive the handler. `max_reply_bytes`: of a whole reply.
  // `states` is null if the server keeps no mutable tensors, `counters` if nobody counts.
  PullHandler(const ServedGraph* graph, int64_t max_reply_bytes, const PartStates* states = nullptr,
              GraphCounters* counters = nullptr)
      : graph_(graph), states_(states), counters_(counters), max_reply_bytes_(max_reply_bytes) {}

  //   NotFound           unknown type, relation or tensor
  //   OutOfRange         an id not owned here
  //   ResourceExhausted  the reply would be larger than a message may be: says how many rows fit
  //   InvalidArgument    min_lsn of a feature, below 0, or for ids of several parts
  [[nodiscard]] StatusOr<PullPlan> Plan(const PullRequest& request) const;

  // Whether the rows show what plan.min_lsn asks for, so that Gather does not wait. True also if
  // the tensor was dropped meanwhile: Gather says so.
  [[nodiscard]] bool Ready(const PullPlan& plan) const;

  // Whether plan.min_lsn may come to be applied: false if it is above all that were given. Gather
  // says so then.
  [[nodiscard]] bool MayBecomeReady(const PullPlan& plan) const;

  // Whether Gather may wait for the disk of the mutable tensors: their rows are there, or a
  // snapshot is being restored.
  [[nodiscard]] bool MayWaitForDisk(const PullPlan& plan) const;

  // Row ids[i] goes to destination + i * row_bytes. Requires `plan` to be Plan's for these ids,
  // and plan.bytes bytes of room. Errors: those of the rows' source; mapped rows do not fail,
  // mutable ones as StateStore::Pull, which waits for plan.min_lsn within `limits`. The rows are
  // counted.
  [[nodiscard]] Status Gather(const PullPlan& plan, std::span<const int64_t> ids,
                              std::byte* destination, const WorkLimits& limits = {}) const;

 private:
  [[nodiscard]] Status PlanChanging(const PullRequest& request, PullPlan* plan) const;
  [[nodiscard]] Status CopyRows(const PullPlan& plan, std::span<const int64_t> ids,
                                std::byte* destination, const WorkLimits& limits) const;

  const ServedGraph* graph_;
  const PartStates* states_;
  GraphCounters* counters_;  // or null
  int64_t max_reply_bytes_;
};

}  // namespace halograph::server
