// From global ids to positions in a minibatch's node list: two ways with one interface, so that the
// kernel is compiled for each. Emptied by moving on, never by walking. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "common/storage/fused_array.h"
#include "hwy/base.h"

namespace halograph {

// A table entry a node: 4 bytes a node of the type. An entry of at least `base_` was written in
// this minibatch and is base_ + position; the next minibatch begins with the base above all.
class DirectIdMap {
 public:
  // Requires nodes < 2^31, ids in [0, nodes).
  explicit DirectIdMap(int64_t nodes) : table_(static_cast<size_t>(nodes)) {}

  // Forgets everything; `used`: positions given since the last call.
  void Restart(int64_t used) {
    const uint64_t base = uint64_t{base_} + static_cast<uint64_t>(used);
    if (base + table_.size() > std::numeric_limits<uint32_t>::max()) {
      table_ = FusedArray<uint32_t>(table_.size());
      base_ = 1;
    } else {
      base_ = static_cast<uint32_t>(base);
    }
  }

  // Always inlined: GCC drops calls of functions that only prefetch.
  HWY_INLINE void Prefetch(int64_t id) const { __builtin_prefetch(table_.data() + id, 1); }

  // The position of `id` in a list that holds `size`, or -1.
  [[nodiscard]] int32_t Find(int64_t id, int64_t size) const {
    const uint32_t position = table_.data()[id] - base_;
    return position < static_cast<uint64_t>(size) ? static_cast<int32_t>(position) : -1;
  }

  // Positions of `ids` in `list`, which holds `size` and has room for `count` more; ids that are
  // new are appended. Returns the new size. Without a branch, as a guess would often be wrong.
  template <typename IdT>
  HWY_INLINE int64_t FindOrAppend(const IdT* __restrict ids, int64_t count,
                                  int64_t* __restrict list, int64_t size,
                                  int32_t* __restrict positions) {
    uint32_t* const __restrict table = table_.data();
    const uint32_t base = base_;
    for (int64_t i = 0; i < count; ++i) {
      const IdT id = ids[i];
      const uint32_t entry = table[id];
      // An older entry wraps to above every position: 2^32 - base is more than the nodes.
      const auto next = static_cast<uint32_t>(size);
      const uint32_t position = std::min(entry - base, next);
      table[id] = base + position;
      list[size] = static_cast<int64_t>(id);
      size += position == next;
      positions[i] = static_cast<int32_t>(position);
    }
    return size;
  }

 private:
  FusedArray<uint32_t> table_;
  uint32_t base_ = 1;  // above the zeros of a new table
};

// Memory by the minibatch, not by the graph: for types too large for a table.
class HashIdMap {
 public:
  void Restart(int64_t) { map_.clear(); }
  HWY_INLINE void Prefetch(int64_t id) const { map_.prefetch(id); }

  [[nodiscard]] int32_t Find(int64_t id, int64_t) const {
    const auto entry = map_.find(id);
    return entry != map_.end() ? entry->second : -1;
  }

  // As DirectIdMap's. Positions beyond 2^31 - 1 wrap: callers check the list's size.
  template <typename IdT>
  int64_t FindOrAppend(const IdT* ids, int64_t count, int64_t* list, int64_t size,
                       int32_t* positions) {
    for (int64_t i = 0; i < count; ++i) {
      const auto id = static_cast<int64_t>(ids[i]);
      const auto [entry, fresh] = map_.try_emplace(id, static_cast<int32_t>(size));
      if (fresh) list[size++] = id;
      positions[i] = entry->second;
    }
    return size;
  }

 private:
  absl::flat_hash_map<int64_t, int32_t> map_;
};

}  // namespace halograph
