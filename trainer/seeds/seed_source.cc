#include "trainer/seeds/seed_source.h"

#include <algorithm>
#include <cstring>

namespace halograph {

Status NodeSeeds::Collect(std::span<const int64_t> rows, uint64_t /*key*/, StepSeeds* step) const {
  *step = {};
  std::vector<size_t> positions;
  positions.reserve(rows.size());
  for (const int64_t row : rows) positions.push_back(static_cast<size_t>(row - first_row_));
  if (!types_.empty()) {
    std::stable_sort(positions.begin(), positions.end(),
                     [&](size_t a, size_t b) { return types_[a] < types_[b]; });
  }
  for (const size_t position : positions) {
    const int type = TypeOf(position);
    if (step->seeds.empty() || step->seeds.back().type != type) {
      step->seeds.push_back({.type = type, .ids = {}});
      step->seeds.back().ids.reserve(positions.size());
    }
    step->seeds.back().ids.push_back(seeds_[position]);
  }
  step->labels = {.dtype = labels_.dtype, .dim = labels_.dim, .data = {}};
  if (labels_.data.empty()) return OkStatus();
  const size_t bytes = labels_.row_bytes();
  step->labels.data.resize(rows.size() * bytes);
  for (size_t i = 0; i < positions.size(); ++i) {
    std::memcpy(step->labels.data.data() + i * bytes, labels_.data.data() + positions[i] * bytes,
                bytes);
  }
  return OkStatus();
}

Status NodeRange::Collect(std::span<const int64_t> rows, uint64_t /*key*/, StepSeeds* step) const {
  *step = {};
  if (!rows.empty()) step->seeds.push_back({.type = type_, .ids = {rows.begin(), rows.end()}});
  return OkStatus();
}

}  // namespace halograph
