// Pushes to the tensors of this process.
#pragma once

#include "client/push_clients.h"
#include "client/row_store.h"
#include "common/state/parts/part_states.h"

namespace halograph {

// RowStore::Push. `states`: of all partitions; `clients`: of the store.
// Errors as CheckPushes, PartStates::CheckPush, PushPlan::Make, PushClients::Take and
// StateStore::Push.
[[nodiscard]] StatusOr<std::vector<PushMark>> PushLocally(const PartStates& states,
                                                          PushClients* clients,
                                                          std::span<const RowPush> pushes,
                                                          CallContext& context);

}  // namespace halograph
