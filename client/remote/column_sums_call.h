// Column sums out of partition servers: destinations are shared out by owner, pages go to who has
// their part, every owner is asked at once, and what they answer is added up.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "client/remote/cluster.h"
#include "common/base/mutex.h"
#include "common/graph/owner_split.h"
#include "common/sampling/topology_source.h"
#include "proto/wire/column_sums.h"

namespace halograph {

// The calls of some groups and the answers that have come. Borrows the groups. Split, Plan and
// Assemble are called in this order, by one thread at a time; the calls run between the last two.
class ColumnSumsCalls {
 public:
  ColumnSumsCalls(Cluster* cluster, std::span<const ColumnGroup> groups)
      : cluster_(*cluster), served_(cluster->served()), groups_(groups) {}

  // Shares the groups out to sets of servers. FailedPrecondition: nobody serves the topology of a
  // part that is asked about.
  [[nodiscard]] Status Split();
  // Groups without destinations and page are asked of nobody. Requests are as many as it takes for
  // their ids to fit into messages; all pages that a set of servers has are asked for one after the
  // other, as servers keep the counts of one part. A server that does not fit all candidates into
  // its reply is asked for those behind. FailedPrecondition: a server is of a version that does not
  // know the question. Errors of the calls: DataLoss, naming the server, of a reply that does not
  // fit its request; else as RpcClient::Start.
  [[nodiscard]] StatusOr<std::vector<Rpc>> Plan();
  // One a group. Internal: sums of more than 64 bits.
  [[nodiscard]] Status Assemble(std::vector<ColumnSums>* sums);
  // Of requests and replies, once the calls are done. A request that is tried again counts once.
  [[nodiscard]] int64_t message_bytes() const { return message_bytes_; }

 private:
  // A run of destinations of a group's share, or its page: candidates from a source on.
  struct Piece {
    size_t group = 0;
    std::span<const int64_t> destinations = {};
    int64_t from_source = 0;
  };
  using Request = std::vector<Piece>;

  // Cuts the pieces into requests of the set.
  void AddRpcs(const ReplicaSet& set, const Request& pieces, std::vector<Rpc>* calls);
  [[nodiscard]] Rpc ToRpc(const ReplicaSet& set, Request request);
  [[nodiscard]] std::string Encode(const ReplicaSet& set, const Request& request) const;
  [[nodiscard]] wire::ColumnSumsExpected Expected(const Piece& piece) const;
  [[nodiscard]] Status OnReply(const ReplicaSet& set, const Request& request, ReplyPieces reply,
                               std::vector<Rpc>* more);
  [[nodiscard]] const Relation& RelationOf(const ColumnGroup& group) const {
    return cluster_.info().schema.relations[static_cast<size_t>(group.relation)];
  }
  [[nodiscard]] int64_t SourceNodes(const ColumnGroup& group) const;

  Cluster& cluster_;
  const std::shared_ptr<const ServedParts> served_;
  const std::span<const ColumnGroup> groups_;
  std::vector<OwnerSplit> shares_;          // per group, by set of servers
  std::vector<std::vector<size_t>> pages_;  // per set of servers, groups with a page
  Mutex mutex_;
  std::vector<std::vector<ColumnSums>> answers_;  // per group; guarded by mutex_ while calls run
  std::atomic<int64_t> message_bytes_ = 0;
};

// FailedPrecondition: a server of the set does not know what layer-wise samplers ask.
[[nodiscard]] Status CheckKnowsColumns(const Cluster& cluster, const ServedParts& served,
                                       const ReplicaSet& set);

// Whether lists of ascending ids travel as differences: this client may, and all of the set know
// it.
[[nodiscard]] bool TakesDeltaIds(const Cluster& cluster, const ServedParts& served,
                                 const ReplicaSet& set);

}  // namespace halograph
