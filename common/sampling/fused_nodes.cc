#include "common/sampling/fused_nodes.h"

#include <algorithm>

namespace halograph {
namespace {

constexpr int64_t kAhead = 64;  // ids whose map entries are asked for ahead
constexpr int64_t kPiece = 64;

std::variant<DirectIdMap, HashIdMap> MakeMap(int64_t nodes, int64_t max_table_nodes) {
  if (nodes <= max_table_nodes) return DirectIdMap(nodes);
  return HashIdMap();
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
  const auto count = std::ssize(all);
  const size_t before = positions->size();
  positions->resize(before + all.size());
  int32_t* const out = positions->data() + before;
  uint64_t largest = 0;  // a negative id is larger than all
  const auto compact = [&](auto& of_type) {
    const auto ask = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        largest = std::max(largest, static_cast<uint64_t>(all[i]));
        of_type.Prefetch(all[i]);
      }
    };
    ask(0, std::min(kAhead, count));
    for (int64_t begin = 0; begin < count; begin += kPiece) {
      ask(begin + kAhead, std::min(begin + kPiece + kAhead, count));
      if (largest >= static_cast<uint64_t>(type_nodes)) return false;
      const int64_t piece = std::min(kPiece, count - begin);
      Reserve(piece + 1);  // one more than needed is written
      size = of_type.FindOrAppend(all.data() + begin, piece, ids.data(), size, out + begin);
    }
    return true;
  };
  return std::visit(compact, map);
}

int64_t FusedNodes::UnknownIn(std::span<const int64_t> all) const {
  return *std::find_if(all.begin(), all.end(),
                       [&](int64_t id) { return id < 0 || id >= type_nodes; });
}

}  // namespace halograph
