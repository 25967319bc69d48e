// The alias tables of weighted sampling as they lie in a partition folder (FORMAT.md): views of
// mapped files. How they are made and drawn from: common/sampling.
#pragma once

#include <cstdint>

namespace halograph {

// One in-edge. A draw that lands here gives this edge or its alias, by the contract
// (common/sampling/SAMPLING.md, "Weighted picks").
struct AliasEntry {
  uint32_t threshold = 0;
  uint32_t alias = 0;  // a position in the same node's in-edge list
  double weight = 0;
  bool operator==(const AliasEntry&) const = default;
};
static_assert(sizeof(AliasEntry) == 16);  // as in the file, little-endian

// Of one segment and one edge feature. Both pointers are set, or neither: no table by this feature.
struct WeightTable {
  const AliasEntry* entries = nullptr;  // beside `indices`, one an edge
  const uint32_t* drawable = nullptr;   // per destination: its in-edges of positive weight

  [[nodiscard]] bool present() const { return entries != nullptr; }
};

}  // namespace halograph
