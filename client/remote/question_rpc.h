// A call that asks some of a set of servers one kind of question (topology_source.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/remote/cluster.h"

namespace halograph {

// `set` and `message_bytes`, which counts the bytes of request and reply,
// as long as the call. Of an error it tells whether messages are too large.
[[nodiscard]] inline Rpc QuestionRpc(
    Cluster& cluster, const ReplicaSet& set, Method method, std::atomic<int64_t>* message_bytes,
    std::function<std::string()> encode,
    std::function<Status(ReplyPieces, std::vector<Rpc>* more)> on_reply) {
  Rpc rpc = RpcTo(set, method);
  rpc.make_request = [message_bytes, encode = std::move(encode)] {
    std::string message = encode();
    *message_bytes += static_cast<int64_t>(message.size());
    return message;
  };
  rpc.on_reply = [message_bytes, on_reply = std::move(on_reply)](ReplyPieces reply,
                                                                 std::vector<Rpc>* more) {
    for (const auto piece : reply) *message_bytes += static_cast<int64_t>(piece.size());
    return on_reply(reply, more);
  };
  rpc.on_error = [&cluster](int asked, const Status& error, std::vector<Rpc>*) {
    return cluster.ExplainTooLarge(asked, error);
  };
  return rpc;
}

}  // namespace halograph
