#include "common/sampling/layer_draws.h"

namespace halograph {

StatusOr<LayerDraws> MakeLayerDraws(const RelationTopology& topology, const DrawRule& rule,
                                    uint64_t layer_key, WantedColumns wanted) {
  LayerDraws draws = {.topology = &topology,
                      .drawer = nullptr,
                      .layer_key = layer_key,
                      .edge_ids = wanted.edge_ids,
                      .degrees = wanted.degrees,
                      .weights = wanted.weights && !rule.nothing() ? rule.weight : -1};
  HG_ASSIGN_OR_RETURN(draws.drawer, MakeDrawer(rule, topology, layer_key));
  return draws;
}

}  // namespace halograph
