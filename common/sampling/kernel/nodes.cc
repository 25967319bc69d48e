#include "common/sampling/kernel/nodes.h"

#include <algorithm>

namespace halograph {
namespace {

constexpr int64_t kAhead = 64;  // ids whose map entries are asked for ahead
constexpr int64_t kIdsAtOnce = 8;

std::variant<DirectIdMap, HashIdMap> MakeMap(int64_t nodes, int64_t max_table_nodes) {
  if (nodes <= max_table_nodes) return DirectIdMap(nodes);
  return HashIdMap();
}

// In small pieces, each asked for long before it is taken, so that reads are always under way.
template <typename IdT>
bool CompactInto(FusedNodes* nodes, std::span<const IdT> all, std::vector<int32_t>* positions) {
  const auto count = std::ssize(all);
  const size_t before = positions->size();
  positions->resize(before + all.size());
  nodes->Reserve(count + 1);  // one more than needed is written
  int32_t* const out = positions->data() + before;
  uint64_t largest = 0;  // a negative id is larger than all
  const auto compact = [&](auto& map) {
    const auto ask = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        largest = std::max(largest, static_cast<uint64_t>(all[i]));
        map.Prefetch(static_cast<int64_t>(all[i]));
      }
    };
    ask(0, std::min(kAhead, count));
    for (int64_t begin = 0; begin < count; begin += kIdsAtOnce) {
      ask(begin + kAhead, std::min(begin + kIdsAtOnce + kAhead, count));
      if (largest >= static_cast<uint64_t>(nodes->type_nodes)) return false;
      nodes->size = map.FindOrAppend(all.data() + begin, std::min(kIdsAtOnce, count - begin),
                                     nodes->ids.data(), nodes->size, out + begin);
    }
    return true;
  };
  return std::visit(compact, nodes->map);
}

}  // namespace

FusedNodes::FusedNodes(int64_t nodes, int64_t max_table_nodes)
    : type_nodes(nodes), map(MakeMap(nodes, max_table_nodes)) {}

void FusedNodes::Restart() {
  std::visit([&](auto& of_type) { of_type.Restart(size); }, map);
  size = 0;
  settled.clear();
}

void FusedNodes::Reserve(int64_t more) {
  const auto needed = static_cast<size_t>(size + more);
  if (needed > ids.size()) ids.GrowTo(std::max(needed, 2 * ids.size()));
}

std::span<const int64_t> FusedNodes::Settle(int64_t count) {
  if (std::ssize(settled) < count) {
    settled.insert(settled.end(), ids.data() + settled.size(), ids.data() + count);
  }
  return std::span(settled).first(static_cast<size_t>(count));
}

bool FusedNodes::Compact(std::span<const int64_t> all, std::vector<int32_t>* positions) {
  return CompactInto(this, all, positions);
}
bool FusedNodes::Compact(std::span<const uint32_t> all, std::vector<int32_t>* positions) {
  return CompactInto(this, all, positions);
}

void FusedNodes::Find(std::span<const int64_t> all, int32_t* positions) const {
  const auto find = [&](const auto& of_type) {
    const int64_t count = std::ssize(all);
    for (int64_t i = 0; i < std::min(kAhead, count); ++i) of_type.Prefetch(all[i]);
    for (int64_t i = 0; i < count; ++i) {
      if (i + kAhead < count) of_type.Prefetch(all[i + kAhead]);
      positions[i] = of_type.Find(all[i], size);
    }
  };
  std::visit(find, map);
}

int64_t FusedNodes::UnknownIn(std::span<const int64_t> all) const {
  return *std::find_if(all.begin(), all.end(),
                       [&](int64_t id) { return id < 0 || id >= type_nodes; });
}
int64_t FusedNodes::UnknownIn(std::span<const uint32_t> all) const {
  return *std::find_if(all.begin(), all.end(), [&](uint32_t id) { return id >= type_nodes; });
}

Status CheckListLength(const Schema& schema, int type, int64_t size) {
  constexpr int64_t kMaxListLength = std::numeric_limits<int32_t>::max();
  if (size <= kMaxListLength) return OkStatus();
  return ResourceExhausted(
      "the minibatch has {} nodes of type '{}' or more; a block can number {}: use a smaller batch "
      "or smaller fanouts",
      size, schema.node_types[type].name, kMaxListLength);
}

}  // namespace halograph
