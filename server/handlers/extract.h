// GraphService/Extract without its wire: the edges between destinations that are owned here and
// given sources, and in-degrees of nodes that are owned here. Thread-safe. A call takes memory for
// what a message holds, and for the edges of some destinations more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/sampling/topology_source.h"
#include "proto/wire/extract.h"
#include "server/handlers/column_questions.h"
#include "server/handlers/graph_counters.h"

namespace halograph::server {

// The answer to the first destinations of a group and, behind all of them, to the first of
// degrees_of.
struct ExtractAnswer {
  std::vector<uint32_t> counts;
  std::vector<int32_t> columns;
  std::vector<int64_t> edge_ids;
  std::vector<int64_t> degrees;
  std::vector<int64_t> other_degrees;

  [[nodiscard]] wire::ExtractGroupShape shape() const {
    return {.counts = counts,
            .columns = columns,
            .edge_ids = edge_ids,
            .degrees = degrees,
            .other_degrees = other_degrees};
  }
};

class ExtractHandler {
 public:
  // In-edges looked at between two looks at the message limit: bounds the memory of what is
  // extracted and then does not fit.
  static constexpr int64_t kEdgesAtOnce = 1 << 18;

  // `graph`, `workspaces` and `counters` must outlive the handler. `max_reply_bytes`: of a whole
  // reply. `counters`: null if nobody counts.
  ExtractHandler(const ServedGraph* graph, ColumnWorkspaces* workspaces, int64_t max_reply_bytes,
                 int64_t edges_at_once = kEdgesAtOnce, GraphCounters* counters = nullptr)
      : graph_(graph),
        workspaces_(workspaces),
        max_reply_bytes_(max_reply_bytes),
        edges_at_once_(edges_at_once),
        counters_(counters) {}

  // One answer a group, in order; fewer groups, and less of the last, where the whole answer would
  // exceed the message limit. Columns of a group that is not answered are not looked at. What is
  // answered is counted.
  //   FailedPrecondition the topology is not served: says what to do
  //   InvalidArgument    too many groups, columns that do not ascend, or max_bytes below 0
  //   NotFound           an unknown relation
  //   OutOfRange         an id not owned here, or a column outside its type
  //   ResourceExhausted  not even the first destination fits: names it and the number of its edges,
  //                      and says what to do
  //   DataLoss           damaged offsets or sources: names the relation and the node
  //   Cancelled, DeadlineExceeded  `limits`, which are looked at between some edges
  [[nodiscard]] StatusOr<std::vector<ExtractAnswer>> Answer(const wire::ExtractRequest& request,
                                                            const WorkLimits& limits = {}) const;

 private:
  // The first of a group that did not fit.
  struct TooLarge {
    int64_t node = -1;  // none was tried
    int64_t edges = 0;  // from the columns
  };
  // What `room` bytes hold; takes away what that takes. False: not all of it.
  [[nodiscard]] StatusOr<bool> AddEdges(const wire::ExtractGroup& group, const ColumnEdges& edges,
                                        const WorkLimits& limits, int64_t* room,
                                        ExtractAnswer* answer, TooLarge* left) const;
  void Count(int relation, const ExtractAnswer& answer) const;
  [[nodiscard]] StatusOr<bool> AddDegrees(const wire::ExtractGroup& group, const ColumnEdges& edges,
                                          int64_t* room, ExtractAnswer* answer) const;

  const ServedGraph* graph_;
  ColumnWorkspaces* workspaces_;
  int64_t max_reply_bytes_;
  int64_t edges_at_once_;
  GraphCounters* counters_;  // or null
};

}  // namespace halograph::server
