// What is drawn of one relation in one layer, and the seam for ways to draw other than uniformly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/graph/topology.h"
#include "common/sampling/draws.h"
#include "common/sampling/weighted_drawer.h"

namespace halograph {

// Where the in-edges of one destination lie.
struct PickRow {
  int segment = 0;    // index in RelationTopology::segments()
  int64_t node = 0;   // the destination, counted from the segment's first
  int64_t begin = 0;  // of the segment's `indices`; what lies beside the edges is found with it
  int64_t degree = 0;
};

// What a thread draws with; its memory is reused.
struct PickScratch {
  std::vector<int64_t> positions;  // of one destination
  FloydDrawer floyd;
  WeightedDrawer weighted;
};

// A way to draw. It is chosen once a layer and called by the destination, which costs nothing
// beside its work; uniform draws, whose work is little, are the kernel's own. Made for one
// relation, fanout and mode. Immutable: several threads draw with it at once.
class PickDrawer {
 public:
  virtual ~PickDrawer() = default;

  // Rows that are drawn next, with these node keys, eight at most: their tables can be asked for
  // (prefetched) together.
  virtual void Expect(std::span<const PickRow>, std::span<const uint64_t>) const {}

  // Sets scratch->positions to the picks of one destination in the order drawn, each in
  // [0, row.degree). Their number is the drawer's: Count(row). `node_key` as in SAMPLING.md.
  virtual void Draw(uint64_t node_key, const PickRow& row, PickScratch* scratch) const = 0;

  // How many picks Draw gives, at most the greater of fanout and degree.
  [[nodiscard]] virtual int64_t Count(const PickRow& row) const = 0;
};

// One relation's draws in one layer. Nothing is owned.
struct LayerDraws {
  const RelationTopology* topology = nullptr;  // holds every destination
  int32_t fanout = 0;                          // valid
  bool replace = false;
  uint64_t layer_key = 0;
  const PickDrawer* drawer = nullptr;  // null: uniform
  bool edge_ids = false;               // global edge ids are wanted, too
  // Index of the edge feature whose values are wanted, too (every segment that is here has tables
  // by it); -1: of none.
  int weights = -1;
};

// Drawn sources of a list of destinations: those of destination i are
// sources[offsets[i] .. offsets[i + 1]), in the order drawn.
struct NeighborPicks {
  std::vector<int64_t> offsets;  // destinations + 1
  std::vector<int64_t> sources;  // global ids
  // Beside the sources; empty unless asked for.
  std::vector<int64_t> edge_ids = {};  // global, of the relation
  std::vector<float> weights = {};     // values of the edge feature that was drawn by

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(sources.size()); }
};

}  // namespace halograph
