#include <utility>

#include "tests/bench/hybrid/end_report.h"
#include "tests/bench/hybrid/two_step.h"
#include "tests/bench/sampling/two_step.h"

namespace halograph {

// The project's own.
FusedOutcome OwnNeighbors(const LayerDraws& draws, std::span<const int64_t> destinations,
                          ThreadPool* pool,
                          NeighborPicks* picks) __asm__("__real_" HALOGRAPH_SAMPLE_NEIGHBORS);

namespace {

EndReport layers("layers");

class TopologyRows {
 public:
  struct Row {
    const CscSegment* segment = nullptr;
    int64_t begin = 0;
    int64_t first_edge = 0;
    int64_t degree = 0;
  };
  explicit TopologyRows(const RelationTopology* topology) : topology_(*topology) {}

  Row Find(int64_t v) const {
    const CscSegment& segment = topology_.Owner(v);
    const int64_t* const ends = segment.indptr + (v - segment.nodes.begin);
    return {.segment = &segment,
            .begin = ends[0],
            .first_edge = segment.first_edge + ends[0],
            .degree = ends[1] - ends[0]};
  }
  int64_t Source(const Row& row, int64_t position) const {
    return row.segment->Source(row.begin + position);
  }

 private:
  const RelationTopology& topology_;
};

}  // namespace

FusedOutcome TwoStepNeighbors(const LayerDraws& draws, std::span<const int64_t> destinations,
                              ThreadPool* pool, NeighborPicks* picks) {
  if (!draws.drawer->uniform() || draws.rule().replace) {
    return OwnNeighbors(draws, destinations, pool, picks);
  }
  layers.Add();
  Coo coo = SampleToCoo(TopologyRows(draws.topology), destinations, draws.rule().fanout,
                        draws.layer_key, pool, &picks->offsets);
  picks->sources = std::move(coo.sources);
  return {};
}

}  // namespace halograph
