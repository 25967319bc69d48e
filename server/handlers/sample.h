// GraphService/Sample without its wire: one layer of neighbour sampling for destinations that are
// owned here. Immutable; thread-safe.
//
// A request is planned first: every name, fanout and id is checked, the edges of each destination
// are counted, and the answer is cut where a message ends. Then the sources are drawn straight
// into the reply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/sampling/layer_draws.h"
#include "proto/wire/sample_reply.h"
#include "proto/wire/sample_request.h"
#include "server/handlers/graph_counters.h"
#include "server/handlers/served_graph.h"

namespace halograph::server {

using LayerSampleGroup = wire::SampleGroup;
using LayerSampleRequest = wire::SampleRequest;

// The answer to one group, before its sources are drawn.
struct LayerSamplePlan {
  int relation = 0;
  LayerDraws draws;
  bool wide = false;  // sources take 8 bytes each instead of 4
  // The destinations answered: a prefix of the request's group, which must outlive the plan.
  std::span<const int64_t> destinations;
  std::vector<uint32_t> counts;  // edges of each
  int64_t edges = 0;             // their sum
  int64_t first_edge = 0;        // of the first: where they begin among those drawn
  int64_t more_edges = 0;        // of the first, if it is the only one: behind those given

  [[nodiscard]] wire::SampleGroupShape shape() const {
    return {.counts = counts,
            .edges = edges,
            .wide = wide,
            .edge_ids = draws.edge_ids,
            .weights = draws.weights >= 0,
            .degrees = draws.degrees,
            .more_edges = static_cast<uint64_t>(more_edges)};
  }
};

class SampleHandler {
 public:
  // Groups of one request.
  static constexpr size_t kMaxGroups = 1 << 16;

  // `graph` and `counters` must outlive the handler. `max_reply_bytes`: of a whole reply.
  // `counters`: null if nobody counts.
  SampleHandler(const ServedGraph* graph, int64_t max_reply_bytes,
                GraphCounters* counters = nullptr)
      : graph_(graph), max_reply_bytes_(max_reply_bytes), counters_(counters) {}

  // One plan a group, in order; fewer groups, and fewer destinations in the last, where the whole
  // answer would exceed the message limit; and of a first destination that exceeds it alone a
  // piece, where the request takes pieces.
  //   FailedPrecondition the topology is not served: says what to do
  //   InvalidArgument    more than kMaxGroups groups, a layer above 2^31 - 1, a rule of a kind that
  //                      is not known, weights wanted of uniform draws, or a piece of a request
  //                      that takes none
  //   NotFound           an unknown relation, or one that has no tables by the rule's weight
  //   OutOfRange         a fanout beyond its bounds, an id not owned here, or a piece that begins
  //                      behind the edges drawn
  //   ResourceExhausted  not even the first destination fits, and the request takes no pieces: says
  //                      which, and what to do
  [[nodiscard]] StatusOr<std::vector<LayerSamplePlan>> Plan(
      const LayerSampleRequest& request) const;

  // Draws what `plan` says and writes it, little-endian, to the arrays of `out` (any alignment),
  // which have the room that plan.shape() says. What was drawn is counted.
  //   DataLoss           damage that counting did not meet, or the files have changed since: names
  //                      the relation; what is in `out` is no answer
  [[nodiscard]] Status Draw(const LayerSamplePlan& plan, const wire::SampleGroupArrays& out) const;

 private:
  [[nodiscard]] StatusOr<LayerSamplePlan> Resolve(const LayerSampleRequest& request,
                                                  const LayerSampleGroup& group) const;
  // Counts the edges of each group and drops what no message holds.
  [[nodiscard]] Status CutToFit(const LayerSampleRequest& request,
                                std::vector<LayerSamplePlan>* plans) const;
  // Draws the edges [first, first + count) of the first destination, which may be many, and moves
  // `out` behind them.
  [[nodiscard]] Status DrawRange(const LayerSamplePlan& plan, int64_t first, int64_t count,
                                 NeighborPicks* picks, wire::SampleGroupArrays* out) const;
  // Writes them, and moves `out` behind them.
  static void WritePicks(const LayerSamplePlan& plan, const NeighborPicks& picks,
                         wire::SampleGroupArrays* out);
  // `picks` of `destinations` against what was counted and asked for: what is written must fit.
  [[nodiscard]] Status CheckDrawn(const LayerSamplePlan& plan, const NeighborPicks& picks,
                                  int64_t counted, std::span<const int64_t> destinations) const;
  [[nodiscard]] Status DrawInPieces(const LayerSamplePlan& plan, NeighborPicks* picks,
                                    wire::SampleGroupArrays out) const;

  const ServedGraph* graph_;
  int64_t max_reply_bytes_;
  GraphCounters* counters_;  // or null
};

}  // namespace halograph::server
