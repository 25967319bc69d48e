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

// Asks every server that keeps tensors the same; `on_reply`, if set, reads the answers, maybe
// several at once.
struct Ask {
  Method method;
  std::string request;
  std::function<Status(ReplyPieces)> on_reply = {};
  IfMissing missing = IfMissing::kIsAnError;
};

[[nodiscard]] Status AskAll(Cluster* cluster, const Ask& ask, CallContext& context);

// Replies of several servers are read at once: what they say is put together under a lock.
template <typename Reply, typename Take>
std::function<Status(ReplyPieces)> Reading(Mutex* mutex, Take take) {
  return [mutex, take](ReplyPieces pieces) {
    Reply reply;
    HG_RETURN_IF_ERROR(ParseReply(pieces, &reply));
    const MutexLock lock(*mutex);
    return take(reply);
  };
}

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
