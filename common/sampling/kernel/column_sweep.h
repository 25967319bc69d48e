// A table of sums with an entry a node, and the list of those that are not 0. Thread-safe.
#pragma once

#include <cstdint>

#include "common/sampling/kernel/column_sums.h"

namespace halograph {

// Sums of 64 bits in two halves: half as much of the cache as long as they stay below 2^32.
struct SumTable {
  uint32_t* lower = nullptr;
  uint32_t* upper = nullptr;
  bool carried = false;  // else all upper halves are 0

  // The sum of a node, which becomes 0.
  [[nodiscard]] uint64_t Take(int64_t node) const {
    uint64_t sum = lower[node];
    lower[node] = 0;
    if (carried) {
      sum |= uint64_t{upper[node]} << 32;
      upper[node] = 0;
    }
    return sum;
  }
};

// Appends the nodes of 0 .. nodes - 1 whose sum is not 0, ascending, with that sum, and makes every
// sum 0. Reads all of the table, in vectors: worth it from an edge in eight nodes on. Throws
// std::bad_alloc.
void SweepTable(const SumTable& table, int64_t nodes, ColumnSums* sums);

}  // namespace halograph
