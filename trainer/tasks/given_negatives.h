// Whether a task is evaluated against negatives that its data gives.
#pragma once

#include "client/stores.h"
#include "common/base/status.h"
#include "common/graph/schema.h"
#include "trainer/options/link_options.h"
#include "trainer/seeds/seed_split.h"

namespace halograph {

// Whether its validation and test sets have rows of label 0: the same on all ranks. Each reads the
// sets as far as CountRowKinds does for the largest K. Rank 0 warns of a set that has fewer than K
// negatives.
//   FailedPrecondition  a set has negatives and no edge, or one set has some and the other none
//   InvalidArgument     --hits-at without such rows; with them --eval-negatives other than its
//                       default
//   else                as CountRowKinds
[[nodiscard]] StatusOr<bool> HasGivenNegatives(const Stores& stores, const Task& task,
                                               const LinkOptions& options, RankOfWorld who);

}  // namespace halograph
