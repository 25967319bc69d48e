#include "common/sampling/pick_drawer.h"

#include <algorithm>
#include <numeric>

#include "common/sampling/labor_picks.h"
#include "common/sampling/weighted_picks.h"

namespace halograph {
namespace {

// SAMPLING.md, "Picks".
class UniformPicks final : public PickDrawer {
 public:
  using PickDrawer::PickDrawer;

  bool uniform() const override { return true; }

  void Draw(uint64_t node_key, const PickRow& row, PickScratch* scratch) const override {
    std::vector<int64_t>& positions = scratch->positions;
    positions.resize(static_cast<size_t>(Count(row)));
    if (TakesAll(row)) {
      std::iota(positions.begin(), positions.end(), 0);
    } else if (rule().replace) {
      DrawWithReplacement(node_key, row.degree, positions);
    } else {
      scratch->floyd.Draw(node_key, row.degree, positions);
    }
  }

  int64_t Count(const PickRow& row) const override {
    return PicksOf(row.degree, rule().fanout, rule().replace);
  }

  bool TakesAll(const PickRow& row) const override {
    return halograph::TakesAll(row.degree, rule().fanout, rule().replace);
  }
};

bool HasTables(const RelationTopology& topology) {
  return std::all_of(
      topology.segments().begin(), topology.segments().end(),
      [](const CscSegment& segment) { return !segment.present() || segment.weights != nullptr; });
}

}  // namespace

StatusOr<std::shared_ptr<const PickDrawer>> MakeDrawer(const DrawRule& rule,
                                                       const RelationTopology& topology,
                                                       uint64_t layer_key) {
  switch (rule.kind) {
    case DrawKind::kNeighbor:
      if (rule.weight < 0 || rule.nothing()) return std::make_shared<const UniformPicks>(rule);
      if (HasTables(topology)) return std::make_shared<const WeightedPicks>(rule, topology);
      return FailedPrecondition("what is drawn by weight has no tables here");
    case DrawKind::kLabor:
      return std::make_shared<const LaborPicks>(rule, topology, layer_key);
    case DrawKind::kLadies:
    case DrawKind::kFastGcn:
    case DrawKind::kCluster:
    case DrawKind::kSaintNode:
    case DrawKind::kSaintEdge:
    case DrawKind::kSaintWalk:
      break;
  }
  return InvalidArgument("rules of kind {} are not drawn destination by destination",
                         static_cast<int>(rule.kind));
}

}  // namespace halograph
