// The calls of one Push: its messages to the owners, each with a number of its own.
#pragma once

#include "client/remote/cluster.h"
#include "client/row_store.h"

namespace halograph {

// RowStore::StartPush.
//   ResourceExhausted  one row exceeds the message limits; or as PushPlan::Make
//   else               as CheckPushes, ServedParts::OwnerSet, PushClients::Take and Acknowledge,
//   and RpcClient::Start
void StartPushRemotely(Cluster* cluster, std::span<const RowPush> pushes, CallContext& context,
                       RowStore::PushDone done);

}  // namespace halograph
