// The servers of one graph, connected and checked: what the remote stores share. Thread-safe.
//
// Several servers may serve the same part's immutable data (replicas): a read may be asked of any
// of them, since all give the same bits (served_parts.h). rpc.h says which one is asked, and what
// happens when it does not answer. Servers that are lost, or were missing at the start, are asked
// for their description again and again (server_health.h says when), and serve from then on, with
// what they serve then; one that came back with another graph is refused, and a warning says so.
// One that moved is found at the address that --servers says then (server_finder.h).
// Mutable tensors are no replicas' business: a part's have one owner (ServedParts::Owner).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "client/graph_store.h"
#include "client/push_clients.h"
#include "client/remote/description.h"
#include "client/remote/rpc.h"
#include "client/remote/served_parts.h"
#include "client/remote/server_finder.h"
#include "common/base/mutex.h"
#include "common/graph/row_source.h"
#include "common/state/mutable_catalog.h"

namespace halograph {

class Cluster {
 public:
  // Where names or files say where the servers are, waits, but no longer than the timeout, until
  // they say so, and until those are there that the graph needs. Errors as OpenRemoteStores.
  [[nodiscard]] static StatusOr<std::shared_ptr<Cluster>> Connect(
      const RemoteOptions& options, const CancelToken* cancel = nullptr);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  [[nodiscard]] const GraphInfo& info() const { return info_; }
  [[nodiscard]] RpcClient& rpc() { return rpc_; }
  [[nodiscard]] const RpcClient& rpc() const { return rpc_; }
  // Who serves what now. A call goes by what it got at its beginning. Every part's features have a
  // server, and with RemoteOptions::needs_topology every part's topology.
  [[nodiscard]] std::shared_ptr<const ServedParts> served() const;
  // The owners of the mutable tensors of all partitions, each once. Errors as ServedParts::Owner.
  [[nodiscard]] StatusOr<std::vector<int>> StateServers() const;
  // What may be pulled; no row of it is here. Of mutable tensors those that this client created, or
  // has been told of (state_call.h).
  [[nodiscard]] const MutableCatalog& tensors() const { return *catalog_; }
  [[nodiscard]] MutableCatalog& mutable_tensors() { return *catalog_; }
  // Who this client is to the owners of mutable tensors.
  [[nodiscard]] PushClients& push_clients() { return *push_clients_; }
  // FailedPrecondition: the server does not know how to tell `what`.
  [[nodiscard]] Status TooOld(int server, std::string_view what) const;
  // FailedPrecondition, naming the partition and what to do: nobody serves its topology.
  [[nodiscard]] Status WithoutTopology(int part) const;
  // `error` of a call to this server; if it is ResourceExhausted, with the limits and what to do.
  [[nodiscard]] Status ExplainTooLarge(int server, const Status& error) const;

 private:
  explicit Cluster(const RemoteOptions& options) : rpc_(options) {}
  [[nodiscard]] Status Start(CallContext& context);
  // What the columns are that this client asks, if any.
  void TellOfColumns() const;
  // Sets info_.clusters, of what the servers' descriptions tell.
  void FindClusters();
  // Sets info_.task_rows.
  [[nodiscard]] Status FindTaskRows(CallContext& context);

  // Of sets and parts that no description tells of: older servers do not tell how many rows their
  // parts have, but each reply about a set does. One call at a time.
  [[nodiscard]] Status AskForTaskRows(CallContext& context);
  [[nodiscard]] Status AskForTaskRows(const Task& task, const TaskSetSpec& set, int part,
                                      CallContext& context, int64_t* rows);

  // Starts what looks after servers that are lost, if any can be.
  [[nodiscard]] Status StartLooking();
  // Until the end: looks at servers when they are due.
  void KeepLooking();
  // Asks a lost server for its description, and takes it in.
  [[nodiscard]] Status Look(int server);
  [[nodiscard]] Status TakeIn(int server, std::shared_ptr<const ServerDescription> description)
      HG_EXCLUDES(taking_);
  // Starts what finds servers that move, where they may.
  [[nodiscard]] Status StartFinding();
  // Moves the server there, if it is there that serves what this one did.
  [[nodiscard]] Status Relocate(int server, const ServerPlace& place);
  // Asks who listens there.
  [[nodiscard]] StatusOr<std::shared_ptr<const ServerDescription>> DescribeAt(
      const ServerPlace& place);

  RpcClient rpc_;
  GraphInfo info_;
  std::unique_ptr<TensorCatalog> features_;
  std::unique_ptr<MutableCatalog> catalog_;
  std::optional<PushClients> push_clients_;  // from Start on
  mutable Mutex mutex_;
  std::shared_ptr<const ServedParts> served_ HG_GUARDED_BY(mutex_);

  Mutex taking_;  // who changes served_
  CancelToken ending_;
  std::unique_ptr<ServerFinder> finder_;  // if servers can move
  std::thread looking_;                   // if replicas can be lost or found
};

// A read of what the servers of a set have. `set` lives as long as the call.
[[nodiscard]] Rpc RpcTo(const ReplicaSet& set, Method method);

}  // namespace halograph
