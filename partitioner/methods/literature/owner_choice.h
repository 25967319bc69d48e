// Chooses one owner for each node among its replicas, by majority or at random, within the
// bounds of OwnerRoom. Nodes without edges are spread evenly. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/methods/degrees.h"
#include "partitioner/methods/literature/owner_room.h"
#include "partitioner/methods/literature/part_state.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {

class OwnerChoice {
 public:
  // Keeps references to `degrees` and `classes`.
  OwnerChoice(const Dataset& dataset, const Degrees& degrees, const TaskClasses& classes, int parts,
              const BalanceOptions& balance);

  // Nodes [first, last) of those that `counts` counts. Those with most to lose choose first: a
  // partition that becomes full turns away nodes that have as many edges elsewhere.
  void ByMajority(int64_t first, int64_t last, const PartCounts& counts);
  // All nodes, `key` being the chance.
  void ByChance(const NodeReplicas& replicas, uint64_t key);
  // All nodes without edges; after the others.
  void DealRest();

  // owners[type][input id]; to be moved from at the end.
  [[nodiscard]] std::vector<std::vector<uint16_t>>* owners() { return &owners_; }
  [[nodiscard]] const OwnerRoom& room() const { return room_; }
  // Nodes whose owner is none of their replicas, since all of those were full.
  [[nodiscard]] int64_t turned_away() const { return turned_away_; }
  // Of the nodes chosen for so far: how many have edges, and replicas in all.
  [[nodiscard]] int64_t nodes_with_edges() const { return nodes_with_edges_; }
  [[nodiscard]] int64_t replicas() const { return replicas_; }

 private:
  // Calls visit(node, type, owner slot) for [first, last), type by type.
  template <typename Visit>
  void ForEachNode(int64_t first, int64_t last, const Visit& visit);
  // lead(node): what the node has to lose, 0 to 255, which decides when it chooses; then
  // pick(node, weight) gives each its partition, or -1.
  template <typename LeadOf, typename Pick>
  void Choose(int64_t first, int64_t last, const LeadOf& lead, const Pick& pick);

  const UnionNodes nodes_;
  const Degrees& degrees_;
  const TaskClasses& classes_;
  OwnerRoom room_;
  double mean_in_degree_;
  std::vector<std::vector<uint16_t>> owners_;
  int64_t turned_away_ = 0, nodes_with_edges_ = 0, replicas_ = 0;
};

}  // namespace halograph
