#include "partitioner/write/renumbering.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "common/base/prefetch.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {

namespace {

// Nodes ahead whose owner and id are asked for: they lie in no order.
constexpr int64_t kNodesAhead = 32;

// Slots of keys, the last for kNoOrderKey.
int64_t KeySlots(const std::vector<uint32_t>& keys) {
  int64_t slots = 1;
  for (const uint32_t key : keys) {
    if (key != kNoOrderKey) slots = std::max(slots, int64_t{key} + 2);
  }
  return slots;
}

// Where the nodes of a type stand first of all: part by part, and in these sub-part by sub-part or
// cluster by cluster.
struct Ranges {
  const std::vector<uint16_t>& owners;
  const std::vector<uint16_t>& within;  // its sub-part or cluster; empty: parts are whole
  const std::vector<size_t>& first;     // of each part, and how many there are

  [[nodiscard]] size_t operator()(int64_t id) const {
    const auto node = static_cast<size_t>(id);
    return within.empty() ? owners[node] : first[owners[node]] + within[node];
  }
  void AskFor(int64_t id) const {
    PrefetchToRead(owners.data() + id);
    if (!within.empty()) PrefetchToRead(within.data() + id);
  }
};

// ids[id] for all nodes of a type, in the order (range, key, input id); next[r]: the first id of
// range r. Sorts by counting.
template <typename IdT>
Status NumberByKey(const Ranges& range_of, const std::vector<uint32_t>& keys,
                   std::vector<int64_t> next, IdT* ids) {
  const auto nodes = static_cast<int64_t>(keys.size());
  const int64_t slots = KeySlots(keys);
  const auto slot_of = [&](uint32_t key) {
    return key == kNoOrderKey ? slots - 1 : static_cast<int64_t>(key);
  };
  HG_ASSIGN_OR_RETURN(auto starts, NodeArray<IdT>::Make(slots + 1, "nodes of each cluster"));
  HG_ASSIGN_OR_RETURN(auto by_key, NodeArray<IdT>::Make(nodes, "nodes in the order of clusters"));
  for (const uint32_t key : keys) ++starts[slot_of(key) + 1];
  for (int64_t slot = 0; slot < slots; ++slot) starts[slot + 1] += starts[slot];
  for (int64_t id = 0; id < nodes; ++id) {
    by_key[starts[slot_of(keys[static_cast<size_t>(id)])]++] = static_cast<IdT>(id);
  }
  for (int64_t i = 0; i < nodes; ++i) {
    if (i + kNodesAhead < nodes) {
      range_of.AskFor(by_key[i + kNodesAhead]);
      PrefetchToWrite(ids + by_key[i + kNodesAhead]);
    }
    const IdT id = by_key[i];
    ids[id] = static_cast<IdT>(next[range_of(id)]++);
  }
  return OkStatus();
}

// Of the owners and of what parts are divided into, `what` ("sub-part"), of one type.
Status CheckRanges(const InputNodeType& input, const Ranges& ranges, std::string_view what) {
  const std::vector<uint16_t>& owners = ranges.owners;
  const size_t parts = ranges.first.size() - 1;
  if (static_cast<int64_t>(owners.size()) != input.count) {
    return Internal("renumber: {} owners for node type {}, which has {} nodes", owners.size(),
                    input.name, input.count);
  }
  for (size_t id = 0; id < owners.size(); ++id) {
    if (owners[id] < parts) continue;
    return Internal("renumber: node {} of type {} has owner {}, there are {} partitions", id,
                    input.name, owners[id], parts);
  }
  const std::vector<uint16_t>& within = ranges.within;
  if (within.empty()) return OkStatus();
  if (within.size() != owners.size()) {
    return Internal("renumber: {} {}s for node type {}, which has {} nodes", within.size(), what,
                    input.name, input.count);
  }
  for (size_t id = 0; id < within.size(); ++id) {
    const size_t each = ranges.first[size_t{owners[id]} + 1] - ranges.first[owners[id]];
    if (within[id] < each) continue;
    return Internal("renumber: node {} of type {} is in {} {}, there are {}", id, input.name, what,
                    within[id], each);
  }
  return OkStatus();
}

// Where each range begins, and the end of the last.
std::vector<int64_t> Starts(const Ranges& ranges) {
  std::vector<int64_t> starts(ranges.first.back() + 1, 0);
  const auto nodes = static_cast<int64_t>(ranges.owners.size());
  for (int64_t id = 0; id < nodes; ++id) ++starts[ranges(id) + 1];
  for (size_t r = 1; r < starts.size(); ++r) starts[r] += starts[r - 1];
  return starts;
}

// Of the keys of one type.
Status CheckKeys(const InputNodeType& input, const std::vector<uint32_t>& keys, int64_t all_nodes) {
  if (static_cast<int64_t>(keys.size()) != input.count) {
    return Internal("renumber: {} order keys for node type {}, which has {} nodes", keys.size(),
                    input.name, input.count);
  }
  for (size_t id = 0; id < keys.size(); ++id) {
    if (keys[id] == kNoOrderKey || int64_t{keys[id]} < all_nodes) continue;
    return Internal("renumber: node {} of type {} has order key {}, there are {} nodes", id,
                    input.name, keys[id], all_nodes);
  }
  return OkStatus();
}

// What every type has, or none: `of_types` says how many have it.
Status CheckTypes(const Dataset& dataset, size_t of_types, std::string_view what) {
  const size_t types = dataset.node_types.size();
  if (of_types == 0 || of_types == types) return OkStatus();
  return Internal("renumber: {} for {} node types, the data set has {}", what, of_types, types);
}

// The first range of each part, and the number of all.
StatusOr<std::vector<size_t>> FirstRanges(const Assignment& assignment, int parts) {
  const std::vector<int>& clusters = assignment.num_clusters;
  const bool clustered = !assignment.clusters.empty();
  if (clustered && std::ssize(clusters) != parts) {
    return Internal("renumber: clusters of {} parts, there are {}", clusters.size(), parts);
  }
  const int each = assignment.sub_parts.empty() ? 1 : assignment.num_sub_parts;
  std::vector<size_t> first = {0};
  for (int part = 0; part < parts; ++part) {
    const int ranges = clustered ? clusters[static_cast<size_t>(part)] : each;
    first.push_back(first.back() + static_cast<size_t>(ranges));
  }
  return first;
}

// The bounds of each part's clusters.
std::vector<std::vector<int64_t>> BoundsOfParts(const std::vector<int64_t>& starts,
                                                const std::vector<size_t>& first) {
  std::vector<std::vector<int64_t>> bounds;
  for (size_t part = 0; part + 1 < first.size(); ++part) {
    bounds.emplace_back(starts.begin() + static_cast<std::ptrdiff_t>(first[part]),
                        starts.begin() + static_cast<std::ptrdiff_t>(first[part + 1]) + 1);
  }
  return bounds;
}

}  // namespace

StatusOr<Renumbering> Renumbering::Create(const Dataset& dataset, Assignment assignment,
                                          int parts) {
  if (assignment.owners.size() != dataset.node_types.size()) {
    return Internal("renumber: owners for {} node types, the data set has {}",
                    assignment.owners.size(), dataset.node_types.size());
  }
  HG_RETURN_IF_ERROR(CheckTypes(dataset, assignment.order_keys.size(), "order keys"));
  HG_RETURN_IF_ERROR(CheckTypes(dataset, assignment.sub_parts.size(), "sub-parts"));
  HG_RETURN_IF_ERROR(CheckTypes(dataset, assignment.clusters.size(), "clusters"));
  const bool by_key = !assignment.order_keys.empty();
  const bool clustered = !assignment.clusters.empty();
  auto& divisions = clustered ? assignment.clusters : assignment.sub_parts;
  HG_ASSIGN_OR_RETURN(const std::vector<size_t> first, FirstRanges(assignment, parts));
  const int64_t all_nodes = UnionNodes(dataset).count();
  Renumbering result;
  result.num_parts_ = parts;
  result.in_input_order_ = !by_key && divisions.empty();
  for (size_t type = 0; type < assignment.owners.size(); ++type) {
    const InputNodeType& input = dataset.node_types[type];
    // Given back type by type, as keys are.
    std::vector<uint16_t> within;
    if (!divisions.empty()) within = std::exchange(divisions[type], {});
    const Ranges ranges{assignment.owners[type], within, first};
    HG_RETURN_IF_ERROR(CheckRanges(input, ranges, clustered ? "cluster" : "sub-part"));
    std::vector<int64_t> next = Starts(ranges);
    std::vector<int64_t> boundaries;
    boundaries.reserve(first.size());
    for (const size_t range : first) boundaries.push_back(next[range]);
    if (clustered) result.cluster_bounds_.push_back(BoundsOfParts(next, first));
    HG_ASSIGN_OR_RETURN(
        GlobalIdArray global_ids,
        GlobalIdArray::Make(input.count, fmt::format("global ids of node type {}", input.name)));
    if (by_key) {
      const std::vector<uint32_t> keys = std::exchange(assignment.order_keys[type], {});
      HG_RETURN_IF_ERROR(CheckKeys(input, keys, all_nodes));
      HG_RETURN_IF_ERROR(
          global_ids.Visit([&](auto* ids) { return NumberByKey(ranges, keys, next, ids); }));
    } else {
      global_ids.Visit([&](auto* ids) {
        using Id = std::remove_reference_t<decltype(*ids)>;
        for (int64_t id = 0; id < input.count; ++id) ids[id] = static_cast<Id>(next[ranges(id)]++);
      });
    }
    result.boundaries_.push_back(std::move(boundaries));
    result.global_ids_.push_back(std::move(global_ids));
  }
  result.owners_ = std::move(assignment.owners);
  return result;
}

}  // namespace halograph
