#include "trainer/pipeline/seed_source.h"

#include <cstring>

namespace halograph {

Status NodeSeeds::Collect(std::span<const int64_t> rows, uint64_t /*key*/, StepSeeds* step) const {
  *step = {};
  std::vector<int64_t> ids;
  ids.reserve(rows.size());
  for (int64_t row : rows) ids.push_back(seeds_[static_cast<size_t>(row - first_row_)]);
  step->seeds.push_back({.type = type_, .ids = std::move(ids)});
  step->labels = {.dtype = labels_.dtype, .dim = labels_.dim, .data = {}};
  if (labels_.data.empty()) return OkStatus();
  const size_t bytes = labels_.row_bytes();
  step->labels.data.resize(rows.size() * bytes);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(step->labels.data.data() + i * bytes,
                labels_.data.data() + static_cast<size_t>(rows[i] - first_row_) * bytes, bytes);
  }
  return OkStatus();
}

}  // namespace halograph
