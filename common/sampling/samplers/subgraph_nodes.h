// What is special about a kind of graph-wise draw: which nodes its subgraphs have, and what they
// are weighed by. All else of such a minibatch is the same for all kinds (subgraph.cc).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/sampling/samplers/minibatch_maker.h"
#include "common/sampling/samplers/subgraph_draw.h"
#include "common/sampling/samplers/subgraph_weights.h"

namespace halograph {

// What the edges of a subgraph and the losses of its nodes count; empty: all alike.
struct SubgraphFactors {
  std::vector<float> edges;  // Block::coefficients
  std::vector<float> nodes;  // Minibatch::node_weights
};

// The nodes of one minibatch's subgraph, of one rule and relation. Throws std::bad_alloc.
class SubgraphNodes {
 public:
  virtual ~SubgraphNodes() = default;

  // Takes the answers to what it asked last, which the first time are none. Gives in `nodes`, which
  // come empty, what is next in the subgraph's list, repeats or not, and appends to `questions`
  // what it has to know for more. No question: these are all. What it asks points into its memory
  // until the next call.
  //   FailedPrecondition  nothing to draw from
  //   Internal            an answer that fits no question
  [[nodiscard]] virtual Status Next(std::span<const NeighborPicks> answers,
                                    std::vector<int64_t>* nodes,
                                    std::vector<LayerGroup>* questions) = 0;

  // Of all edges between the nodes of the list. Where chances are those of a whole run, they are
  // weighed later, and there is nothing here (walk_weights.h).
  [[nodiscard]] virtual SubgraphFactors Weigh(const SubgraphEdges& edges) = 0;
};

// The minibatch of a subgraph with these nodes.
[[nodiscard]] std::unique_ptr<MinibatchMaker> MakeSubgraph(const MakerPlace& place,
                                                           std::unique_ptr<SubgraphNodes> nodes);

// What drawn nodes pick of their in-edges, with replacement, each as often as it was drawn: asked
// of the neighbour sampler, nodes that pick alike in one group.
class NodePicks {
 public:
  // `place` outlives it.
  explicit NodePicks(const MakerPlace& place);

  // `layer`: by whose key. No nodes: asks nothing.
  void Ask(const DrawnNodes& drawn, int layer, std::vector<LayerGroup>* questions);
  // The sources that were picked, node by node in the order drawn. Takes checked answers to what
  // was asked last (CheckAnswers). Internal: more picks of a node than it was drawn.
  [[nodiscard]] StatusOr<std::vector<int64_t>> Take(std::span<const NeighborPicks> answers) const;

 private:
  // As often as each was drawn.
  struct Group {
    std::vector<int64_t> nodes;
    std::vector<size_t> places;  // of each in the order drawn
  };

  const MakerPlace place_;
  size_t num_nodes_ = 0;
  std::map<int32_t, Group> groups_;  // by how often
};

}  // namespace halograph
