// The calls of one Push: its messages to the owners, each with a number of its own.
#pragma once

#include "client/remote/cluster.h"
#include "client/row_store.h"

namespace halograph {

// RowStore::Push.
//   ResourceExhausted  one row exceeds the message limits; or as PushPlan::Make
//   else               as CheckPushes, ServedParts::OwnerSet, PushClients::Take and Acknowledge,
//   and RpcClient::Run
[[nodiscard]] StatusOr<std::vector<PushMark>> PushRemotely(Cluster* cluster,
                                                           std::span<const RowPush> pushes,
                                                           CallContext& context);

}  // namespace halograph
