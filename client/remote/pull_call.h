// The calls of one Pull: how its rows are shared out to servers and messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "client/partial_stores.h"
#include "client/remote/cluster.h"
#include "common/graph/tensor_ref.h"

namespace halograph {

// Pulls rows as ScatteringKVStore::PullTo does, ids and destination already validated; to
// consecutive rows if `positions` is empty.
//   ResourceExhausted  one row exceeds the message limits: both are named
//   else               as RpcClient::Run
[[nodiscard]] Status PullRows(Cluster* cluster, CallScope* scope, const TensorRef& tensor,
                              const ResolvedTensor& resolved, std::span<const int64_t> ids,
                              std::span<const int64_t> positions, std::byte* destination,
                              const Meanwhile& meanwhile, CallStats* stats);

// Rows a call: replies near `planned_bytes` at most, and small enough that `rows` rows keep
// `calls_in_flight` calls busy. At least 1.
[[nodiscard]] int64_t RowsPerCall(int64_t rows, size_t row_bytes, int64_t planned_bytes,
                                  int calls_in_flight);

}  // namespace halograph
