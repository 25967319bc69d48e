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

// Where the nodes of a type stand first of all: part by part, and in these sub-part by sub-part.
struct Ranges {
  const std::vector<uint16_t>& owners;
  const std::vector<uint16_t>& sub_parts;  // empty: parts are whole
  size_t sub_parts_each = 1;

  [[nodiscard]] size_t operator()(int64_t id) const {
    const auto node = static_cast<size_t>(id);
    return sub_parts.empty() ? owners[node] : owners[node] * sub_parts_each + sub_parts[node];
  }
  void AskFor(int64_t id) const {
    PrefetchToRead(owners.data() + id);
    if (!sub_parts.empty()) PrefetchToRead(sub_parts.data() + id);
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

// Of the owners and sub-parts of one type.
Status CheckRanges(const InputNodeType& input, const Ranges& ranges, int parts) {
  const std::vector<uint16_t>& owners = ranges.owners;
  if (static_cast<int64_t>(owners.size()) != input.count) {
    return Internal("renumber: {} owners for node type {}, which has {} nodes", owners.size(),
                    input.name, input.count);
  }
  for (size_t id = 0; id < owners.size(); ++id) {
    if (owners[id] < parts) continue;
    return Internal("renumber: node {} of type {} has owner {}, there are {} partitions", id,
                    input.name, owners[id], parts);
  }
  const std::vector<uint16_t>& sub_parts = ranges.sub_parts;
  if (sub_parts.empty()) return OkStatus();
  if (sub_parts.size() != owners.size()) {
    return Internal("renumber: {} sub-parts for node type {}, which has {} nodes", sub_parts.size(),
                    input.name, input.count);
  }
  for (size_t id = 0; id < sub_parts.size(); ++id) {
    if (sub_parts[id] < ranges.sub_parts_each) continue;
    return Internal("renumber: node {} of type {} is in sub-part {}, there are {}", id, input.name,
                    sub_parts[id], ranges.sub_parts_each);
  }
  return OkStatus();
}

// Where each range begins, and the end of the last.
std::vector<int64_t> Starts(const Ranges& ranges, int parts) {
  std::vector<int64_t> starts(static_cast<size_t>(parts) * ranges.sub_parts_each + 1, 0);
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

}  // namespace

StatusOr<Renumbering> Renumbering::Create(const Dataset& dataset, Assignment assignment,
                                          int parts) {
  if (assignment.owners.size() != dataset.node_types.size()) {
    return Internal("renumber: owners for {} node types, the data set has {}",
                    assignment.owners.size(), dataset.node_types.size());
  }
  const bool by_key = !assignment.order_keys.empty();
  if (by_key && assignment.order_keys.size() != dataset.node_types.size()) {
    return Internal("renumber: order keys for {} node types, the data set has {}",
                    assignment.order_keys.size(), dataset.node_types.size());
  }
  const bool divided = !assignment.sub_parts.empty();
  if (divided && assignment.sub_parts.size() != dataset.node_types.size()) {
    return Internal("renumber: sub-parts for {} node types, the data set has {}",
                    assignment.sub_parts.size(), dataset.node_types.size());
  }
  const int64_t all_nodes = UnionNodes(dataset).count();
  const auto each = static_cast<size_t>(divided ? assignment.num_sub_parts : 1);
  Renumbering result;
  result.num_parts_ = parts;
  result.in_input_order_ = !by_key && !divided;
  for (size_t type = 0; type < assignment.owners.size(); ++type) {
    const InputNodeType& input = dataset.node_types[type];
    // Given back type by type, as keys are.
    std::vector<uint16_t> sub_parts;
    if (divided) sub_parts = std::exchange(assignment.sub_parts[type], {});
    const Ranges ranges{assignment.owners[type], sub_parts, each};
    HG_RETURN_IF_ERROR(CheckRanges(input, ranges, parts));
    std::vector<int64_t> next = Starts(ranges, parts);
    std::vector<int64_t> boundaries;
    for (size_t r = 0; r < next.size(); r += each) boundaries.push_back(next[r]);
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
