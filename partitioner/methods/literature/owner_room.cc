#include "partitioner/methods/literature/owner_room.h"

#include <limits>
#include <numeric>
#include <tuple>

#include "partitioner/methods/constraints.h"
#include "partitioner/methods/literature/part_state.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {

StatusOr<TaskClasses> TaskClasses::Of(const Dataset& dataset, const BalanceOptions& balance) {
  TaskClasses classes;
  if (BalancedSets(GraphCounts::Of(dataset), balance) == 0) return classes;
  const UnionNodes nodes(dataset);
  HG_ASSIGN_OR_RETURN(classes.classes_,
                      NodeArray<uint8_t>::Make(nodes.count(), "task sets of nodes"));
  const auto add = [&](bool wanted, std::string_view set, uint8_t bit) {
    if (!wanted) return OkStatus();
    return ForEachTaskRow(dataset, nodes.offsets(), set,
                          [&](int64_t node) { classes.classes_[node] |= bit; });
  };
  HG_RETURN_IF_ERROR(add(balance.train, "train", 1));
  HG_RETURN_IF_ERROR(add(balance.valid, "valid", 2));
  HG_RETURN_IF_ERROR(add(balance.test, "test", 4));
  return classes;
}

namespace {

constexpr int64_t kNoCap = std::numeric_limits<int64_t>::max();

}  // namespace

OwnerRoom::OwnerRoom(const OwnedTotals& totals, int parts, const BalanceOptions& balance)
    : parts_(parts), all_cap_(kNoCap), edge_cap_(kNoCap) {
  const std::vector<int64_t>& nodes = totals.nodes;
  const int64_t all = std::accumulate(nodes.begin(), nodes.end(), int64_t{0});
  const size_t types = nodes.size() / kNumTaskClasses;
  const auto slots = static_cast<size_t>(parts);
  if (balance.edges) edge_cap_ = ShareCap(totals.edges, parts, kOwnedEdges);
  if (balance.edges && balance.nodes) {
    least_nodes_ = std::max<int64_t>(0, all - (parts - 1) * ShareCap(all, parts, kOwnedNodes));
    small_in_degree_ = totals.small_in_degree;
  }
  if (!balance.edges && !balance.nodes) all_cap_ = ShareCap(all, parts, kOwnedNodes);
  for (size_t type = 0; type < types; ++type) {
    const auto classes = nodes.begin() + static_cast<std::ptrdiff_t>(type * kNumTaskClasses);
    const int64_t count = std::accumulate(classes, classes + kNumTaskClasses, int64_t{0});
    type_caps_.push_back(balance.nodes ? ShareCap(count, parts, kOwnedNodes) : kNoCap);
    for (int c = 0; c < kNumTaskClasses; ++c) {
      // Nodes in no set are bounded by their type.
      group_caps_.push_back(c == 0 ? kNoCap : ShareCap(*(classes + c), parts, kOwnedNodes));
    }
  }
  nodes_.assign(slots, 0);
  edges_.assign(slots, 0);
  of_type_.assign(types * slots, 0);
  of_group_.assign(nodes.size() * slots, 0);
}

void OwnerRoom::Take(int part, const OwnedNode& node) {
  ++nodes_[static_cast<size_t>(part)];
  edges_[static_cast<size_t>(part)] += node.in_degree;
  ++of_type_[TypeSlot(part, node.type)];
  ++of_group_[GroupSlot(part, node)];
}

int OwnerRoom::Emptiest(const OwnedNode& node) const {
  const auto rank = [&](int part) {
    return std::tuple(!HasNodes(part, node), !HasEdges(part, node), !HasClass(part, node),
                      edges_[static_cast<size_t>(part)], nodes_[static_cast<size_t>(part)]);
  };
  int best = 0;
  for (int part = 1; part < parts_; ++part) {
    if (rank(part) < rank(best)) best = part;
  }
  return best;
}

int OwnerRoom::FewestOfType(const OwnedNode& node) const {
  const auto rank = [&](int part) {
    return std::tuple(of_type_[TypeSlot(part, node.type)], of_group_[GroupSlot(part, node)],
                      nodes_[static_cast<size_t>(part)]);
  };
  int best = 0;
  for (int part = 1; part < parts_; ++part) {
    if (rank(part) < rank(best)) best = part;
  }
  return best;
}

double OwnerRoom::NodeBalance() const { return MaxOverMean(nodes_); }
double OwnerRoom::EdgeBalance() const { return MaxOverMean(edges_); }

}  // namespace halograph
