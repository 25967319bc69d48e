// GraphService/ColumnSums without its wire: what the edges of each candidate source add up to, over
// destinations that are owned here, or over all edges of a part that is served here. Thread-safe.
//
// Where a message does not hold all candidates of a group, the client asks again for those behind,
// and they are added up once more. Beside the tables of its workspace a call takes what it answers,
// and 16 bytes a candidate of the group that it works on, twice that while they grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/sampling/topology_source.h"
#include "proto/wire/column_sums.h"
#include "server/handlers/column_questions.h"
#include "server/handlers/graph_counters.h"

namespace halograph::server {

// The answer to one group.
struct ColumnSumsAnswer {
  ColumnSums sums;
  bool wide = false;    // sources take 8 bytes each instead of 4
  bool more = false;    // candidates behind these are missing
  bool deltas = false;  // sources travel as differences

  [[nodiscard]] wire::ColumnSumsGroupShape shape() const {
    return {
        .sources = sums.sources, .sums = sums.sums, .wide = wide, .more = more, .deltas = deltas};
  }
};

class ColumnSumsHandler {
 public:
  // `graph`, `workspaces` and `counters` must outlive the handler. `max_reply_bytes`: of a whole
  // reply. `counters`: null if nobody counts.
  ColumnSumsHandler(const ServedGraph* graph, ColumnWorkspaces* workspaces, int64_t max_reply_bytes,
                    GraphCounters* counters = nullptr)
      : graph_(graph),
        workspaces_(workspaces),
        max_reply_bytes_(max_reply_bytes),
        counters_(counters),
        out_degrees_(graph) {}

  // One answer a group, in order; fewer groups, and fewer candidates in the last, where the whole
  // answer would exceed the message limit. In-edges of destinations count as looked at.
  //   FailedPrecondition the topology is not served: says what to do
  //   InvalidArgument    too many groups, a value that is not known, a page beside destinations or
  //                      of degree shares, an asymmetry of anything but a page of all sources of a
  //                      relation of a type with itself, or max_bytes below 0
  //   NotFound           an unknown relation
  //   OutOfRange         an id or part not owned here, a source outside its type, or one with more
  //                      than 2^32 - 1 edges
  //   ResourceExhausted  not even one candidate fits
  //   DataLoss           damaged offsets or sources: names the relation and the node
  //   Cancelled, DeadlineExceeded  `limits`, which are looked at between groups, and within an
  //                      asymmetry
  [[nodiscard]] StatusOr<std::vector<ColumnSumsAnswer>> Answer(
      const wire::ColumnSumsRequest& request, const WorkLimits& limits = {}) const;

  [[nodiscard]] const OutDegreeCounts& out_degrees() const { return out_degrees_; }

 private:
  [[nodiscard]] StatusOr<ColumnRelation> Check(const wire::ColumnSumsGroup& group) const;
  [[nodiscard]] Status CheckPage(const wire::ColumnSumsGroup& group,
                                 const ColumnRelation& relation) const;
  [[nodiscard]] Status CheckAsymmetry(const wire::ColumnSumsGroup& group,
                                      const ColumnRelation& relation) const;
  // Sets the candidates of the group that `room` bytes hold; takes away what they take. `all`: its
  // memory is reused.
  [[nodiscard]] Status AnswerGroup(const wire::ColumnSumsGroup& group,
                                   const ColumnRelation& relation, const WorkLimits& limits,
                                   ColumnSums* all, int64_t* room, ColumnSumsAnswer* answer) const;
  [[nodiscard]] static Status AnswerAsymmetry(const wire::ColumnSumsGroup& group,
                                              const ColumnRelation& relation,
                                              const WorkLimits& limits, int64_t* room,
                                              ColumnSumsAnswer* answer);
  [[nodiscard]] Status AnswerPage(const wire::ColumnSumsGroup& group,
                                  const ColumnRelation& relation, int64_t* room,
                                  ColumnSumsAnswer* answer) const;

  const ServedGraph* graph_;
  ColumnWorkspaces* workspaces_;
  int64_t max_reply_bytes_;
  GraphCounters* counters_;              // or null
  mutable OutDegreeCounts out_degrees_;  // thread-safe
};

}  // namespace halograph::server
