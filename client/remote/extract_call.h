// Extracted edges out of partition servers: destinations, and columns whose in-degrees are wanted,
// are shared out by owner, every owner is asked at once, and the answers are put back into the
// caller's order.
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
#include "proto/wire/extract.h"

namespace halograph {

// The calls of some groups and the answers that have come. Borrows the groups. Split, Plan and
// Assemble are called in this order, by one thread at a time; the calls run between the last two.
class ExtractCalls {
 public:
  ExtractCalls(Cluster* cluster, std::span<const EdgeGroup> groups)
      : cluster_(*cluster), served_(cluster->served()), groups_(groups) {}

  // Shares the groups out to sets of servers.
  //   FailedPrecondition  nobody serves the topology of a part that is asked about
  //   InvalidArgument     in-degrees of columns of a relation that leads to another type
  [[nodiscard]] Status Split();
  // What has neither destinations nor columns with in-degrees is asked of nobody. Every request
  // about destinations has all columns of their group; as many requests are made as it takes for
  // both to fit into messages. A server that does not fit all into its reply is asked for the rest.
  //   FailedPrecondition  a server is of a version that does not know the question
  //   ResourceExhausted   columns that do not fit into a message: says how many
  // Errors of the calls: DataLoss, naming the server, of a reply that does not fit its request;
  // ResourceExhausted of a destination whose edges do not fit into a message: names it and how many
  // they are; else as RpcClient::Start.
  [[nodiscard]] StatusOr<std::vector<Rpc>> Plan();
  // One a group.
  void Assemble(std::vector<ExtractedEdges>* edges);
  // Of requests and replies, once the calls are done. A request that is tried again counts once.
  [[nodiscard]] int64_t message_bytes() const { return message_bytes_; }

 private:
  // A run of a share of a group's destinations; or of its columns, whose in-degrees are wanted.
  struct Piece {
    size_t group = 0;
    bool degrees = false;  // of columns
    IdShare share = {};
  };
  using Request = std::vector<Piece>;
  struct Answer {
    Piece piece;
    ExtractedEdges edges;  // of destinations; of columns only their degrees, as `degrees`
  };

  [[nodiscard]] Status CheckColumns(const ReplicaSet& set, const EdgeGroup& group) const;
  // Bytes of a request that a piece takes beside its ids.
  [[nodiscard]] int64_t RequestOverhead(const EdgeGroup& group, bool degrees) const;
  // Bytes that one id of a piece takes in a reply: expected, servers cut what is longer.
  [[nodiscard]] int64_t ReplyBytesPerId(const EdgeGroup& group, bool degrees) const;
  // Cuts the pieces into requests of the set.
  void AddRpcs(const ReplicaSet& set, const Request& pieces, std::vector<Rpc>* calls);
  [[nodiscard]] Rpc ToRpc(const ReplicaSet& set, Request request);
  [[nodiscard]] std::string Encode(const ReplicaSet& set, const Request& request) const;
  [[nodiscard]] wire::ExtractExpected Expected(const Piece& piece) const;
  [[nodiscard]] Status OnReply(const ReplicaSet& set, const Request& request, ReplyPieces reply,
                               std::vector<Rpc>* more);
  [[nodiscard]] const Relation& RelationOf(const EdgeGroup& group) const {
    return cluster_.info().schema.relations[static_cast<size_t>(group.relation)];
  }

  Cluster& cluster_;
  const std::shared_ptr<const ServedParts> served_;
  const std::span<const EdgeGroup> groups_;
  std::vector<OwnerSplit> destinations_;  // per group, by set of servers
  std::vector<OwnerSplit> columns_;       // the same of columns whose in-degrees are wanted
  Mutex mutex_;
  std::vector<Answer> answers_;  // guarded by mutex_ while calls run
  std::atomic<int64_t> message_bytes_ = 0;
};

}  // namespace halograph
