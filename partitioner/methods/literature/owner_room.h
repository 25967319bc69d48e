// How many nodes each partition may still own. Nodes are counted by class, so that every
// partition gets its share of train, valid and test nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "partitioner/methods/method.h"
#include "partitioner/stream/node_array.h"

namespace halograph {

inline constexpr int kNumTaskClasses = 8;  // one bit each for train, valid, test

// The class of each node: in which task sets it owns a row. A node that owns several rows of a set
// counts once. Immutable.
class TaskClasses {
 public:
  // Sets that `balance` leaves out count for nothing; without any no memory is taken.
  //   InvalidArgument  a task set that makes no sense (ResolveTaskColumns)
  [[nodiscard]] static StatusOr<TaskClasses> Of(const Dataset& dataset,
                                                const BalanceOptions& balance);
  // 0 to kNumTaskClasses - 1, of a union id.
  [[nodiscard]] int operator[](int64_t node) const {
    return classes_.size() == 0 ? 0 : classes_[node];
  }

 private:
  NodeArray<uint8_t> classes_;
};

// A partition owns at most this multiple of its even share. Nodes are counted per type, and within
// a type per class. The bound on nodes always holds. The bounds on classes and on edges hold as
// long as there is another choice.
inline constexpr double kOwnedNodes = 1.03;
inline constexpr double kOwnedEdges = 1.10;

// What a node weighs.
struct OwnedNode {
  int type = 0;
  int task_class = 0;
  uint32_t in_degree = 0;
};

// Of the nodes with edges.
struct OwnedTotals {
  std::vector<int64_t> nodes;  // [type * kNumTaskClasses + class]
  int64_t edges = 0;
  double small_in_degree = 0;  // mean in-degree of the nodes that have at most the mean in-degree
};

// How many nodes, in-edges and nodes of task sets each partition has taken and may take. All edge
// partitioners keep these bounds. Not thread-safe.
class OwnerRoom {
 public:
  // A bound that `balance` leaves out is not kept; without nodes and edges all nodes are bounded
  // together.
  OwnerRoom(const OwnedTotals& totals, int parts, const BalanceOptions& balance);

  [[nodiscard]] int parts() const { return parts_; }
  // In all bounds.
  [[nodiscard]] bool HasRoom(int part, const OwnedNode& node) const {
    return HasNodes(part, node) && HasClass(part, node) && HasEdges(part, node);
  }
  void Take(int part, const OwnedNode& node);
  // The partition to take a node that no wanted one has room for: with room in as many bounds as
  // there is, then the fewest in-edges, then the fewest nodes. O(parts).
  [[nodiscard]] int Emptiest(const OwnedNode& node) const;
  // The partition with the fewest nodes of the node's type; then of its class, then of all.
  // O(parts).
  [[nodiscard]] int FewestOfType(const OwnedNode& node) const;
  [[nodiscard]] int64_t of_type(int part, int type) const { return of_type_[TypeSlot(part, type)]; }
  [[nodiscard]] int64_t edges(int part) const { return edges_[static_cast<size_t>(part)]; }
  // Largest of a partition over the mean: of all nodes, of in-edges.
  [[nodiscard]] double NodeBalance() const;
  [[nodiscard]] double EdgeBalance() const;

 private:
  [[nodiscard]] size_t TypeSlot(int part, int type) const {
    return static_cast<size_t>(type) * static_cast<size_t>(parts_) + static_cast<size_t>(part);
  }
  [[nodiscard]] static size_t Group(const OwnedNode& node) {
    return static_cast<size_t>(node.type * kNumTaskClasses + node.task_class);
  }
  [[nodiscard]] size_t GroupSlot(int part, const OwnedNode& node) const {
    return Group(node) * static_cast<size_t>(parts_) + static_cast<size_t>(part);
  }
  [[nodiscard]] bool HasNodes(int part, const OwnedNode& node) const {
    return nodes_[static_cast<size_t>(part)] < all_cap_ &&
           of_type_[TypeSlot(part, node.type)] < type_caps_[static_cast<size_t>(node.type)];
  }
  [[nodiscard]] bool HasClass(int part, const OwnedNode& node) const {
    return of_group_[GroupSlot(part, node)] < group_caps_[Group(node)];
  }
  [[nodiscard]] bool HasEdges(int part, const OwnedNode& node) const {
    // A partition short of nodes will have to take more in the end, the small ones that others
    // have no room for: their edges are kept free.
    const int64_t short_of =
        std::max<int64_t>(0, least_nodes_ - 1 - nodes_[static_cast<size_t>(part)]);
    const auto kept_free = static_cast<int64_t>(static_cast<double>(short_of) * small_in_degree_);
    return edges_[static_cast<size_t>(part)] + node.in_degree + kept_free <= edge_cap_;
  }

  int parts_;
  int64_t all_cap_, edge_cap_;
  int64_t least_nodes_ = 0;  // that a partition gets if all others are full
  double small_in_degree_ = 0;
  std::vector<int64_t> type_caps_, group_caps_;
  std::vector<int64_t> nodes_, edges_;       // [parts]
  std::vector<int64_t> of_type_, of_group_;  // [types * parts], [types * classes * parts]
};

}  // namespace halograph
