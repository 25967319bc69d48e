#include "client/cached/planner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/graph/owner_split.h"

namespace halograph {

Status Planner::CheckStep(int64_t step, std::span<const int64_t> ids) const {
  if (step >= 0 && step < announced_) {
    return AlreadyExists("step {} was announced before; the next one is {}", step, announced_);
  }
  if (step != announced_) {
    return InvalidArgument("step {} was announced, but the next one is {}; announce all, in order",
                           step, announced_);
  }
  if (ids.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return ResourceExhausted("step {} reads {} rows; a step may read {}", step, ids.size(),
                             std::numeric_limits<int32_t>::max());
  }
  const Status status = CheckIdRange(ids, rows_, "the cache's rows");
  return status.ok() ? status : Annotate(status, fmt::format("step {}", step));
}

bool Planner::wants_more() const {
  return !closed() && bytes() - table_bytes() < slots_ * static_cast<int64_t>(kPlanBytesASlot);
}

std::vector<uint8_t> RankClasses(std::span<const float> weights) {
  constexpr float kOctaves = 24;
  float largest = 0;
  for (const float weight : weights) {
    if (std::isfinite(weight)) largest = std::max(largest, weight);
  }
  std::vector<uint8_t> classes(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const float weight = weights[i];
    if (!(weight > 0)) continue;  // also what is no number
    if (std::isinf(weight)) {
      classes[i] = kRowClasses - 1;
      continue;
    }
    // Classes 1 to kRowClasses - 2, whatever the unit of the weights.
    const float below = std::min((std::log2(largest) - std::log2(weight)) / kOctaves, 1.0F);
    classes[i] = static_cast<uint8_t>(kRowClasses - 2 -
                                      std::lround(below * static_cast<float>(kRowClasses - 3)));
  }
  return classes;
}

int64_t UsableSlots(size_t cache_bytes, size_t row_bytes) {
  // Above this, slots and marks of the table of last uses would not fit into 31 bits.
  constexpr size_t kMostSlots = (size_t{1} << 31) - 4;
  const size_t most_row_bytes = std::numeric_limits<size_t>::max() - kPlanBytesASlot;
  if (row_bytes > most_row_bytes) return 0;
  return static_cast<int64_t>(std::min(cache_bytes / (row_bytes + kPlanBytesASlot), kMostSlots));
}

}  // namespace halograph
