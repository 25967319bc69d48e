// The servers of one graph, connected and checked: what both remote stores share.
// Immutable after Connect; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/graph_store.h"
#include "client/remote/remote_store.h"
#include "client/remote/rpc.h"

namespace halograph {

class Cluster {
 public:
  // Errors as OpenRemoteStores.
  [[nodiscard]] static StatusOr<std::shared_ptr<Cluster>> Connect(const RemoteOptions& options);

  [[nodiscard]] const GraphInfo& info() const { return info_; }
  [[nodiscard]] RpcClient& rpc() { return rpc_; }
  // The server to ask for a partition's nodes and edges.
  [[nodiscard]] int ServerOfPart(int part) const {
    return server_of_part_[static_cast<size_t>(part)];
  }
  // What requests to and replies from this server should stay under.
  [[nodiscard]] int64_t PlannedMessageBytes(int server) const {
    return planned_bytes_[static_cast<size_t>(server)];
  }
  // True if the server may send replies that this client does not take.
  [[nodiscard]] bool SendsMoreThanWeTake(int server) const {
    return server_limits_[static_cast<size_t>(server)] > rpc_.options().max_message_bytes;
  }
  // `error` of a call to this server; if it is ResourceExhausted, with the limits and what to do.
  [[nodiscard]] Status ExplainTooLarge(int server, const Status& error) const;

 private:
  explicit Cluster(const RemoteOptions& options) : rpc_(options) {}
  [[nodiscard]] Status Describe();

  RpcClient rpc_;
  GraphInfo info_;
  std::vector<int> server_of_part_;
  std::vector<int64_t> planned_bytes_;
  std::vector<int64_t> server_limits_;
};

// Which rows of a request go to one server, in the caller's order.
struct ServerShare {
  std::vector<int64_t> ids;
  std::vector<int64_t> positions;  // of these in the caller's list
};

// Splits `ids`, owned as `boundaries` say, by server; one share a server of the cluster, maybe
// empty. Requires ids within the boundaries.
[[nodiscard]] std::vector<ServerShare> SplitByServer(const Cluster& cluster, int num_servers,
                                                     std::span<const int64_t> boundaries,
                                                     std::span<const int64_t> ids);

}  // namespace halograph
