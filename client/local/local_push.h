// A push to the tensors of this process.
#pragma once

#include "client/push_clients.h"
#include "client/row_store.h"
#include "common/state/parts/part_states.h"

namespace halograph {

// RowStore::Push. `states`: of all partitions; `clients`: of the store.
// Errors as CheckPush, PushPlan::Make, PushClients::Take and StateStore::Push.
[[nodiscard]] StatusOr<PushMark> PushLocally(const PartStates& states, PushClients* clients,
                                             const RowPush& push, CallContext& context);

}  // namespace halograph
