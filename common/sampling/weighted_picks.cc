#include "common/sampling/weighted_picks.h"

#include <algorithm>
#include <cassert>

namespace halograph {

namespace {

constexpr int64_t kExpectedDraws = 16;  // of a node, asked for before the first is needed

}  // namespace

WeightedPicks::WeightedPicks(const DrawRule& rule, const RelationTopology& topology)
    : PickDrawer(rule) {
  for (const CscSegment& segment : topology.segments()) {
    assert(!segment.present() || segment.weights != nullptr);
    tables_.push_back(segment.weights != nullptr ? segment.weights[rule.weight] : WeightTable{});
  }
}

WeightedRow WeightedPicks::Find(const PickRow& row) const {
  const WeightTable& table = tables_[static_cast<size_t>(row.segment)];
  return WeightedRow::Of(table, row.node, row.begin, row.degree);
}

void WeightedPicks::Expect(std::span<const PickRow> rows,
                           std::span<const uint64_t> node_keys) const {
  for (const PickRow& row : rows) {
    __builtin_prefetch(tables_[static_cast<size_t>(row.segment)].drawable + row.node);
  }
  if (rule().fanout == kFullNeighborhood) return;  // read one after the other
  const int64_t draws = std::min<int64_t>(rule().fanout, kExpectedDraws);
  for (size_t i = 0; i < rows.size(); ++i) {
    WeightedDrawer::Prefetch(node_keys[i], Find(rows[i]), draws);
  }
}

void WeightedPicks::Draw(uint64_t node_key, const PickRow& row, PickScratch* scratch) const {
  const WeightedRow weighted = Find(row);
  scratch->positions.resize(
      static_cast<size_t>(WeightedPicksOf(weighted.drawable, rule().fanout, rule().replace)));
  scratch->weighted.Draw(node_key, weighted, rule().fanout, rule().replace, scratch->positions);
}

int64_t WeightedPicks::Count(const PickRow& row) const {
  return WeightedPicksOf(Find(row).drawable, rule().fanout, rule().replace);
}

}  // namespace halograph
