#include "common/sampling/labor_picks.h"

#include <numeric>
#include <vector>

#include "common/base/prefetch.h"
#include "common/base/rng.h"

namespace halograph {

bool LaborPicks::TakesAll(const PickRow& row) const {
  return rule().fanout == kFullNeighborhood || row.degree <= rule().fanout;
}

template <typename See>
void LaborPicks::ForEachPick(const PickRow& row, See see) const {
  const CscSegment& segment = topology_.segments()[static_cast<size_t>(row.segment)];
  const auto degree = static_cast<uint64_t>(row.degree);
  const auto fanout = static_cast<uint64_t>(rule().fanout);
  for (int64_t p = 0; p < row.degree; ++p) {
    const auto source = static_cast<uint64_t>(segment.Source(row.begin + p));
    if (Bounded(SubKey(layer_key_, source), degree) < fanout) see(p);
  }
}

void LaborPicks::Expect(std::span<const PickRow> rows, std::span<const uint64_t>) const {
  for (const PickRow& row : rows) {
    const CscSegment& segment = topology_.segments()[static_cast<size_t>(row.segment)];
    if (segment.indices32 != nullptr) PrefetchToRead(segment.indices32 + row.begin);
    if (segment.indices64 != nullptr) PrefetchToRead(segment.indices64 + row.begin);
  }
}

void LaborPicks::Draw(uint64_t, const PickRow& row, PickScratch* scratch) const {
  std::vector<int64_t>& positions = scratch->positions;
  if (TakesAll(row)) {
    positions.resize(static_cast<size_t>(row.degree));
    return std::iota(positions.begin(), positions.end(), 0);
  }
  positions.clear();
  ForEachPick(row, [&positions](int64_t p) { positions.push_back(p); });
}

int64_t LaborPicks::Count(const PickRow& row) const {
  if (TakesAll(row)) return row.degree;
  int64_t count = 0;
  ForEachPick(row, [&count](int64_t) { ++count; });
  return count;
}

}  // namespace halograph
