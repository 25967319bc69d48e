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
    : map(MakeMap(nodes, max_table_nodes)) {}

void FusedNodes::Restart() {
  std::visit([&](auto& of_type) { of_type.Restart(size); }, map);
  size = 0;
}

void FusedNodes::Reserve(int64_t more) {
  const auto needed = static_cast<size_t>(size + more);
  if (needed > ids.size()) ids.GrowTo(std::max(needed, 2 * ids.size()));
}

void FusedNodes::Compact(std::span<const int64_t> all, std::vector<int32_t>* positions) {
  const auto count = std::ssize(all);
  const size_t before = positions->size();
  positions->resize(before + all.size());
  int32_t* const out = positions->data() + before;
  std::visit(
      [&](auto& of_type) {
        for (int64_t i = 0; i < std::min(kAhead, count); ++i) of_type.Prefetch(all[i]);
        for (int64_t begin = 0; begin < count; begin += kPiece) {
          const int64_t ahead_end = std::min(begin + kPiece + kAhead, count);
          for (int64_t i = begin + kAhead; i < ahead_end; ++i) of_type.Prefetch(all[i]);
          const int64_t piece = std::min(kPiece, count - begin);
          Reserve(piece + 1);  // one more than needed is written
          size = of_type.FindOrAppend(all.data() + begin, piece, ids.data(), size, out + begin);
        }
      },
      map);
}

}  // namespace halograph
