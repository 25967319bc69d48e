// Draws out of partition servers: destinations are shared out by owner, every owner is asked at
// once, and the answers are put back into the caller's order.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "client/remote/cluster.h"
#include "client/remote/sample_call.h"
#include "common/base/mutex.h"
#include "common/graph/owner_split.h"
#include "common/sampling/topology_source.h"
#include "proto/wire/capabilities.h"

namespace halograph {

// The calls of some groups and the answers that have come. Borrows the groups. Split, Plan and
// Assemble are called in this order, by one thread at a time; the calls run between the last two.
class LayerCalls {
 public:
  LayerCalls(Cluster* cluster, std::span<const LayerGroup> groups)
      : cluster_(*cluster),
        served_(cluster->served()),
        spec_{.schema = &cluster->info().schema, .groups = groups} {}

  // Shares destinations out to sets of servers. FailedPrecondition: no server serves the topology
  // of a destination: the part is named.
  [[nodiscard]] Status Split();
  // Groups without destinations, or of fanout 0, are asked of nobody. FailedPrecondition: a server
  // is of a version that does not know what a group asks for. Errors of the calls:
  //   DataLoss           a reply that does not fit its request: the server is named
  //   ResourceExhausted  the edges of one destination exceed the message limits, and a server of
  //                      its part is of a version that does not answer it in pieces
  //   else               as RpcClient::Start
  [[nodiscard]] StatusOr<std::vector<Rpc>> Plan();
  // One a group.
  void Assemble(std::vector<NeighborPicks>* picks);
  // Of requests and replies, once the calls are done. A request that is tried again counts once.
  [[nodiscard]] int64_t message_bytes() const { return message_bytes_; }

 private:
  using Request = std::vector<SamplePiece>;

  [[nodiscard]] bool TakesPieces(const ReplicaSet& set) const {
    return served_->FirstWithout(set, wire::kSampleEdgePieces) < 0;
  }
  [[nodiscard]] SampleForm FormFor(const ReplicaSet& set) const {
    return {.edge_pieces = TakesPieces(set),
            .rules = served_->FirstWithout(set, wire::kSampleRule) < 0};
  }
  [[nodiscard]] Status CheckKnown(const ReplicaSet& set, const LayerGroup& group) const;
  void AddRpcs(const ReplicaSet& set, Request request, std::vector<Rpc>* calls);
  [[nodiscard]] Rpc ToRpc(const ReplicaSet& set, Request request);
  [[nodiscard]] Status OnReply(const ReplicaSet& set, const Request& request, ReplyPieces reply,
                               std::vector<Rpc>* more);
  [[nodiscard]] Status OnError(const ReplicaSet& set, int asked, const Request& request,
                               const Status& error, std::vector<Rpc>* more);

  Cluster& cluster_;
  const std::shared_ptr<const ServedParts> served_;
  const SampleLayerSpec spec_;
  std::vector<OwnerSplit> shares_;  // per group, by set of servers
  Mutex mutex_;
  std::vector<SampleAnswer> answers_;  // guarded by mutex_ while calls run
  std::atomic<int64_t> message_bytes_ = 0;
};

}  // namespace halograph
