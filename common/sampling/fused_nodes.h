// The unique nodes of one type in a minibatch, and their map: the compaction of the whole tree.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "common/sampling/fused_array.h"
#include "common/sampling/fused_id_map.h"

namespace halograph {

// Up to this many nodes of a type its map is a table, beyond it a hash map: a table of 400 MB a
// workspace is the most that its speed is worth.
inline constexpr int64_t kMaxTableNodes = 100'000'000;

// In order of first appearance. Not thread-safe; calls that need memory throw std::bad_alloc.
struct FusedNodes {
  FusedNodes(int64_t nodes, int64_t max_table_nodes);

  // Forgets all, without touching what is there.
  void Restart();
  // Room for `more` after the list's end. Voids pointers into the list.
  void Reserve(int64_t more);
  // Sets `positions` to those of `all` in the list, appending what is new. Requires ids of the
  // type. Beyond 2^31 - 1 nodes positions wrap: callers check the size.
  void Compact(std::span<const int64_t> all, std::vector<int32_t>* positions);

  FusedArray<int64_t> ids;
  int64_t size = 0;
  std::variant<DirectIdMap, HashIdMap> map;
};

}  // namespace halograph
