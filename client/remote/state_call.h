// What is asked of all servers that keep mutable tensors, side by side. Errors of a server are
// named after it (RpcClient::Run).
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include "client/remote/cluster.h"
#include "client/remote/message_io.h"
#include "client/row_store.h"
#include "common/state/state_store.h"

namespace halograph {

// What a tensor or snapshot that a server does not have means to a call that removes it, unless the
// call has removed it before, and the answer was lost.
enum class IfMissing { kIsAnError, kIsFineIfOthersHaveIt };

// Asks every server that keeps tensors the same.
struct Ask {
  Method method;
  std::string request;
  IfMissing missing = IfMissing::kIsAnError;
};

[[nodiscard]] Status AskAll(Cluster* cluster, const Ask& ask, CallContext& context);

// Asks every server that keeps tensors for a list, page by page. An older server, which knows no
// pages, gives all at once.
struct AskPages {
  Method method;
  std::function<std::string(int page_size, const std::string& token)> make_request = {};
  // Reads a page, maybe those of several servers at once; each server's come in their order.
  // Returns the token of the next one; empty: there is none.
  std::function<StatusOr<std::string>(ReplyPieces)> on_page = {};
};

//   DataLoss  a server's page leads to itself
//   else      as RpcClient::Run; too large pages say what to do
[[nodiscard]] Status AskAllPages(Cluster* cluster, const AskPages& ask, CallContext& context);

// What every partition has of every tensor.
[[nodiscard]] StatusOr<std::map<int, StateStats>> ReadStates(Cluster* cluster,
                                                             CallContext& context);
// Makes the cluster know the mutable tensors among `requests`, which another client may have
// created: asks the servers if one is neither a feature nor known. Without servers that keep
// tensors it does nothing.
[[nodiscard]] Status FindTensors(Cluster* cluster, std::span<const RowRequest> requests,
                                 CallContext& context);
// After an error that another specification than the one known may be the cause of: makes the
// cluster forget it.
void ForgetTensors(Cluster* cluster, std::span<const RowRequest> requests, const Status& error);

}  // namespace halograph
