// The unique nodes of one type in a minibatch, and their map: the compaction of the whole tree.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/sampling/kernel/id_map.h"
#include "common/storage/fused_array.h"

namespace halograph {

// Up to this many nodes of a type its map is a table, beyond it a hash map: a table of 400 MB a
// workspace is the most that its speed is worth.
inline constexpr int64_t kMaxTableNodes = 100'000'000;

// In order of first appearance. Not thread-safe; calls that need memory throw std::bad_alloc.
struct FusedNodes {
  // `nodes`: how many the type has.
  FusedNodes(int64_t nodes, int64_t max_table_nodes);

  // Forgets all, without touching what is there.
  void Restart();
  // Room for `more` after the list's end. Voids pointers into the list.
  void Reserve(int64_t more);
  // Appends the positions of `all` in the list to `positions`, and what is new to the list. False,
  // with `all` taken in part, if an id is not of the type: UnknownIn finds which. Beyond 2^31 - 1
  // nodes positions wrap: callers check the size.
  [[nodiscard]] bool Compact(std::span<const int64_t> all, std::vector<int32_t>* positions);
  [[nodiscard]] bool Compact(std::span<const uint32_t> all, std::vector<int32_t>* positions);
  // The position of each of `all` in the list, or -1. Requires ids of the type.
  void Find(std::span<const int64_t> all, int32_t* positions) const;
  // The first id that is not of the type. Requires that Compact did not take all.
  [[nodiscard]] int64_t UnknownIn(std::span<const int64_t> all) const;
  [[nodiscard]] int64_t UnknownIn(std::span<const uint32_t> all) const;

  // The list's first `count` nodes where growing does not move them, for other threads to read
  // while this one appends. Valid until the next call.
  [[nodiscard]] std::span<const int64_t> Settle(int64_t count);

  FusedArray<int64_t> ids;
  int64_t size = 0;
  int64_t type_nodes;  // ids are below
  std::variant<DirectIdMap, HashIdMap> map;
  std::vector<int64_t> settled;  // a prefix of the list
};

// ResourceExhausted: a list of `size` nodes is longer than the 2^31 - 1 that a block numbers.
[[nodiscard]] Status CheckListLength(const Schema& schema, int type, int64_t size);

}  // namespace halograph
