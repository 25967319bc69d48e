// The calls of one Pull: how its rows are shared out to servers and messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "client/remote/cluster.h"
#include "client/row_store.h"
#include "client/started.h"

namespace halograph {

// RowStore::StartPull. The calls for all rows of all requests are under way together. Mutable
// tensors that this client does not know are asked for first.
//   ResourceExhausted  one row exceeds the message limits: both are named
//   else               as CheckPull and RpcClient::Start
void StartPullRemotely(Cluster* cluster, std::span<const RowRequest> requests, CallContext& context,
                       StatusDone done);

// Rows a call: replies near `planned_bytes` at most, and small enough that `rows` rows keep
// `calls_in_flight` calls busy. At least 1.
[[nodiscard]] int64_t RowsPerCall(int64_t rows, size_t row_bytes, int64_t planned_bytes,
                                  int calls_in_flight);

}  // namespace halograph
