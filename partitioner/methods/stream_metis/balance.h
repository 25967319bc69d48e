// The last step of stream-metis: bounds that do not hold yet are made to hold, as Rebalance does
// for METIS, but with neighbours counted from the stream. Nodes move one by one from where there is
// too much to where there is room, those that lose the fewest neighbours for what they relieve
// first.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/methods/stream_metis/refinement.h"

namespace halograph {

// No pass where all bounds hold already. Else passes until they do, nothing helps any more, or
// there were kMaxBalancePasses. Returns the moves. Errors as NeighbourCounts.
inline constexpr int64_t kMaxBalancePasses = 8;
[[nodiscard]] StatusOr<int64_t> BalanceOwners(const RefinedOwners& state);

}  // namespace halograph
