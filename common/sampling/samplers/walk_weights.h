// What the subgraphs of random walks of a run are weighed by. Their chances depend on what lies
// around every node, so they are found once, before the run (make_walk_weights.h), and not by who
// makes a minibatch. Every operation is rounded by itself: all machines give the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/sampling/minibatch.h"
#include "common/sampling/samplers/presampled_chance.h"
#include "common/sampling/samplers/subgraph_weights.h"

namespace halograph {

// Internal: a subgraph without edge ids, or with a node of `type` or an edge that the graph has
// not, so that a source answered it.
[[nodiscard]] Status CheckSubgraphIds(const Minibatch& minibatch, int type, int64_t nodes,
                                      int64_t edges);

// Immutable: several threads may weigh by one. Of one relation, from a node type to itself, and of
// one rule (DrawKind::kSaintWalk). 4 bytes a node of the type and 4 an edge of the relation.
class WalkWeights {
 public:
  // By exact chances: of all nodes of `type` by global id, and of all edges by global edge id.
  WalkWeights(int type, const SubgraphWeights& exact);
  // By chances that subgraphs were counted for. Requires that there were some.
  WalkWeights(int type, PresampledChances presampled);

  // Sets the coefficients of a subgraph's blocks, EdgeFactor each, and Minibatch::node_weights, one
  // over the chance of each node. Requires a subgraph of the relation, made by the rule. What was
  // in no subgraph that was counted is weighed as if it had been in one. Throws std::bad_alloc.
  //   Internal  as CheckSubgraphIds
  [[nodiscard]] Status Weigh(Minibatch* minibatch) const;

  // How the chances were found, to be told: from so many subgraphs; 0: exactly.
  [[nodiscard]] int64_t subgraphs() const { return presampled_.subgraphs(); }
  [[nodiscard]] bool exact() const { return subgraphs() == 0; }
  // How far the chances of nodes are off (PresampledChances::NodeError): by nothing where they are
  // exact.
  [[nodiscard]] const ChanceError& error() const { return error_; }
  // Nodes that were in no subgraph that was counted; 0 where chances are exact.
  [[nodiscard]] int64_t unseen() const { return unseen_; }
  // How often a node was in a subgraph that was counted, on average; 0 where chances are exact.
  [[nodiscard]] double coverage() const { return exact() ? 0 : presampled_.coverage(); }

 private:
  [[nodiscard]] float WeightOf(int64_t node) const;
  [[nodiscard]] float FactorOf(int64_t node, int64_t edge) const;

  const int type_;
  const int64_t num_nodes_;
  const int64_t num_edges_;
  std::vector<float> node_weights_;  // exact: by node; else empty
  std::vector<float> factors_;       // exact: by edge; else empty
  const PresampledChances presampled_;
  const ChanceError error_ = {};
  const int64_t unseen_ = 0;
};

}  // namespace halograph
