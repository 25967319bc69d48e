// The calls of one Push: its messages to the owners, each with a number of its own.
#pragma once

#include "client/push_clients.h"
#include "client/remote/cluster.h"
#include "client/row_store.h"

namespace halograph {

// RowStore::Push. `clients`: of the store.
//   ResourceExhausted  one row exceeds the message limits; or as PushPlan::Make
//   else               as CheckPushes, StateServer, PushClients::Take and Acknowledge, and
//   RpcClient::Run
[[nodiscard]] StatusOr<std::vector<PushMark>> PushRemotely(Cluster* cluster, PushClients* clients,
                                                           std::span<const RowPush> pushes,
                                                           CallContext& context);

}  // namespace halograph
