// The servers of one graph, connected and checked: what both remote stores share.
// Immutable after Connect; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/graph_store.h"
#include "client/remote/description.h"
#include "client/remote/rpc.h"
#include "common/graph/row_source.h"

namespace halograph {

class Cluster {
 public:
  // Errors as OpenRemoteStores.
  [[nodiscard]] static StatusOr<std::shared_ptr<Cluster>> Connect(
      const RemoteOptions& options, const CancelToken* cancel = nullptr);

  [[nodiscard]] const GraphInfo& info() const { return info_; }
  [[nodiscard]] RpcClient& rpc() { return rpc_; }
  // The server to ask for a partition's features and task sets.
  [[nodiscard]] int FeatureServer(int part) const {
    return feature_server_[static_cast<size_t>(part)];
  }
  // The server to ask for a partition's in-edges.
  // FailedPrecondition, naming the partition and what to do: none serves them (never with
  // RemoteOptions::needs_topology).
  [[nodiscard]] StatusOr<int> TopologyServer(int part) const;
  // By part; -1: none (topology only).
  [[nodiscard]] std::span<const int> feature_servers() const { return feature_server_; }
  [[nodiscard]] std::span<const int> topology_servers() const { return topology_server_; }
  // What may be pulled; no row of it is here.
  [[nodiscard]] const TensorCatalog& tensors() const { return *tensors_; }
  // Whether the server knows what is beside the first version of the protocol.
  [[nodiscard]] bool Knows(int server, std::string_view capability) const;
  // FailedPrecondition: the server does not know how to tell `what`.
  [[nodiscard]] Status TooOld(int server, std::string_view what) const;
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
  [[nodiscard]] Status Describe(CallContext& context);
  // Notes whom to ask for what. Sets all but task_rows.
  void TakeDescriptions(std::vector<ServerDescription> descriptions);
  // Names the servers that nobody will ask: others before them serve the same parts.
  void WarnOfUnused(const std::vector<ServerDescription>& descriptions) const;
  // Sets info_.task_rows.
  [[nodiscard]] Status FindTaskRows(const std::vector<ServerDescription>& descriptions,
                                    CallContext& context);

  // Of sets and parts that no description tells of: older servers do not tell how many rows their
  // parts have, but each reply about a set does. One call at a time.
  [[nodiscard]] Status AskForTaskRows(CallContext& context);
  [[nodiscard]] Status AskForTaskRows(const Task& task, const TaskSetSpec& set, int part,
                                      CallContext& context, int64_t* rows);

  RpcClient rpc_;
  GraphInfo info_;
  std::unique_ptr<TensorCatalog> tensors_;
  std::vector<int> feature_server_;
  std::vector<int> topology_server_;  // -1: none
  std::vector<int64_t> planned_bytes_;
  std::vector<int64_t> server_limits_;
  std::vector<std::vector<std::string>> capabilities_;  // per server
};

}  // namespace halograph
