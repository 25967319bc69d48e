// What is drawn of one relation in one layer.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/graph/topology.h"
#include "common/sampling/pick_drawer.h"

namespace halograph {

// One relation's draws in one layer. The topology is not owned.
struct LayerDraws {
  const RelationTopology* topology = nullptr;  // holds every destination
  std::shared_ptr<const PickDrawer> drawer;    // by its rule
  uint64_t layer_key = 0;
  bool edge_ids = false;  // global edge ids are wanted, too
  bool degrees = false;   // in-degrees of the destinations are wanted, too
  // Index of the edge feature whose values are wanted, too (every segment that is here has tables
  // by it); -1: of none.
  int weights = -1;

  [[nodiscard]] const DrawRule& rule() const { return drawer->rule(); }
};

// What else is wanted of drawn edges. `weights`: the values of the feature that the rule draws by;
// none where it draws by none.
struct WantedColumns {
  bool edge_ids = false;
  bool weights = false;
  bool degrees = false;  // of destinations
};

// Requires a valid rule of the relation. Errors as MakeDrawer.
[[nodiscard]] StatusOr<LayerDraws> MakeLayerDraws(const RelationTopology& topology,
                                                  const DrawRule& rule, uint64_t layer_key,
                                                  WantedColumns wanted = {});

// Drawn sources of a list of destinations: those of destination i are
// sources[offsets[i] .. offsets[i + 1]), in the order drawn.
struct NeighborPicks {
  std::vector<int64_t> offsets;  // destinations + 1
  std::vector<int64_t> sources;  // global ids
  // Beside the sources; empty unless asked for.
  std::vector<int64_t> edge_ids = {};  // global, of the relation
  std::vector<float> weights = {};     // values of the edge feature that was drawn by
  // In-degrees of the destinations, whatever was drawn; empty unless asked for.
  std::vector<int64_t> degrees = {};

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(sources.size()); }
};

}  // namespace halograph
