// What one relation of one layer draws, as a value: options, requests, groups and messages carry
// it whole, and MakeDrawer (pick_drawer.h) alone says what it means.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/sampling/layer_probability.h"

namespace halograph {

inline constexpr int32_t kFullNeighborhood = -1;
inline constexpr int32_t kMaxFanout = 1 << 20;
inline constexpr int32_t kMaxLayerNodes = 1 << 30;
inline constexpr int32_t kMaxWalkLength = 64;

enum class DrawKind : uint8_t {
  kNeighbor = 0,  // in-edges of each destination, by itself
  kLabor = 1,     // the same by a number of their sources, which destinations so share
  kLadies = 2,    // sources for all destinations together, by the edges into these
  kFastGcn = 3,   // the same, by all edges of a source
  // Nodes of one subgraph, with all edges between them.
  kCluster = 4,    // of some of the partitioner's clusters
  kSaintNode = 5,  // by degree, with replacement
  kSaintEdge = 6,  // the ends of edges, with replacement
  kSaintWalk = 7,  // what random walks come to, from roots that are drawn with replacement
};
// Kinds are numbered from 0. Those of node-wise draws travel (SampleRule.kind).
inline constexpr uint32_t kDrawKinds = 8;

// What a coefficient of a drawn edge makes of sums over the edges drawn.
enum class LayerEstimate : uint8_t {
  kUnbiased,    // on average the full sum
  kNormalized,  // the sum of coefficients is that of the full neighbourhood: less noise, but biased
};

// Whether each destination's draws are by itself: what TopologyQuestions::draws can ask for.
[[nodiscard]] constexpr bool IsNodeWise(DrawKind kind) {
  return kind == DrawKind::kNeighbor || kind == DrawKind::kLabor;
}

struct DrawRule {
  DrawKind kind = DrawKind::kNeighbor;
  // Node-wise: edges a destination; -1: all in-edges. Layer-wise: nodes; -1: all candidates,
  // which have an edge into a destination, or, of kFastGcn, any edge. 0: none. Graph-wise: draws,
  // of clusters, nodes, edges or roots of walks.
  int32_t fanout = 0;
  bool replace = false;  // with replacement
  int weight = -1;       // index of the relation's edge feature to draw by; -1: uniformly
  // Of node-wise draws: by the key of layer 0 in every layer, so that layers draw alike.
  bool one_key = false;
  // Of layer-wise draws; kFastGcn knows its probability.
  LayerProbability probability = LayerProbability::kDegree;
  LayerEstimate estimate = LayerEstimate::kUnbiased;
  // Of kCluster: edges between clusters count for those of clusters that were not drawn.
  bool cluster_weights = false;
  // Of kSaintWalk: the steps of a walk. 0 of all others.
  int32_t walk_length = 0;

  [[nodiscard]] bool nothing() const { return fanout == 0; }
  // Whose key layer `layer` draws by.
  [[nodiscard]] int key_layer(int layer) const { return one_key ? 0 : layer; }
  // Whether it draws one subgraph for all layers: then all layers have this rule and no other.
  [[nodiscard]] bool graph_wise() const { return kind >= DrawKind::kCluster; }
  // Whether it draws by the degrees of all nodes.
  [[nodiscard]] bool by_all_degrees() const {
    return kind == DrawKind::kFastGcn || kind == DrawKind::kSaintNode ||
           kind == DrawKind::kSaintEdge;
  }
  bool operator==(const DrawRule&) const = default;
};

// Whether sums over what the rule draws are estimates of sums over all in-edges, for which they
// need Block::coefficients and Block::degrees. Else means are taken over what is drawn.
[[nodiscard]] inline bool IsEstimate(const DrawRule& rule) {
  if (rule.kind == DrawKind::kCluster) return rule.cluster_weights;
  return rule.kind != DrawKind::kNeighbor && !rule.nothing();
}

// OutOfRange naming the value: below -1 or above kMaxFanout.
[[nodiscard]] Status ValidateFanout(int32_t fanout);

// Index of the edge feature `weight` of a relation. NotFound naming the relation, what it can be
// drawn by and what to do, if it has no such feature or no alias tables were made of it.
[[nodiscard]] StatusOr<int> FindSamplingWeight(const Schema& schema, int relation,
                                               std::string_view weight);

// What is wrong with the rule of a relation of the schema is named, with the relation and what is
// allowed.
//   InvalidArgument  a kind that this build does not know; an estimate by weight or with
//                    replacement; a layer-wise draw by one key; steps of what is no walk
//   OutOfRange       the fanout; of layer-wise draws the number of nodes; the steps of a walk
//   NotFound         a weight that the relation cannot be drawn by (FindSamplingWeight)
[[nodiscard]] Status ValidateRule(const Schema& schema, int relation, const DrawRule& rule);

}  // namespace halograph
