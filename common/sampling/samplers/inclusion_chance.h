// How likely nodes and edges are in a subgraph, and what its edges and losses are weighed by
// (GraphSAINT, arXiv 1907.04931). A subgraph has all nodes that a number of draws brings, each
// draw independent of the others and made as they are, and all edges between its nodes: the
// chances of many draws follow from those of one. Pure functions; every operation is rounded by
// itself, so that all machines give the same bits.
//
// A relation that subgraphs are drawn from is symmetric: there are as many edges from u to v as
// from v to u. Degrees count in-edges, each parallel one; a self-loop is one edge, and counts once.
#pragma once

#include <cstdint>
#include <span>

namespace halograph {

// The chances that something brings of two nodes, u and v, only one, or both. A node's own chance
// is that of it alone and of both; neither has what is left to 1.
struct PairChances {
  double only_u = 0;
  double only_v = 0;
  double both = 0;
};

// ---- one draw ----------------------------------------------------------------------------------

// Edges at a node: its in-edges, and its out-edges, of which a self-loop is both.
[[nodiscard]] constexpr uint64_t EdgesAt(uint64_t degree, uint64_t self_loops) {
  return 2 * degree - self_loops;
}

// A node by degree brings that node: `degree` of `all`, the sum of degrees. Requires all > 0. So do
// edges, of `all`, that bring their two ends, if `degree` is EdgesAt.
[[nodiscard]] double ChanceOfOneDraw(uint64_t degree, uint64_t all);

// Of two different nodes; a node by degree never brings both.
[[nodiscard]] PairChances PairOfNodeDraw(uint64_t degree_u, uint64_t degree_v, uint64_t all);

// Of two different nodes with EdgesAt edges at them, `between` of which join the two: those from u
// to v and those from v to u, each parallel one. `all`: edges of the relation.
[[nodiscard]] PairChances PairOfEdgeDraw(uint64_t at_u, uint64_t at_v, uint64_t between,
                                         uint64_t all);

// Of two different nodes, from the chances of each and of both (walks: walk_chance.h).
[[nodiscard]] PairChances PairOfChances(double of_u, double of_v, double of_both);

// ---- many draws --------------------------------------------------------------------------------

// The chance that at least one of `draws` draws brings the node: 1 - (1 - of_one)^draws, made by
// doubling, which keeps all digits where it is small. Requires 0 <= of_one <= 1 and draws >= 0. The
// relative error is below 2e-15.
[[nodiscard]] double ChanceOfNode(double of_one, int64_t draws);

// The same of two different nodes: of the nodes that all draws together bring. Those of `both` have
// a relative error below 2e-15; take the chance of a node alone from ChanceOfNode.
[[nodiscard]] PairChances ChancesOfPair(PairChances of_one, int64_t draws);
// Makes each of `pairs` what ChancesOfPair gives, bit by bit, in a third of the time.
void CombineDraws(std::span<PairChances> pairs, int64_t draws);

// ---- weights -----------------------------------------------------------------------------------

// What an edge from u to v is multiplied by, given the chance of v and that of u and v: the sum of
// factor times row over the edges that the subgraph has into v, divided, last, by the full
// in-degree of v, is the mean over all in-edges of v in expectation, *given that v is in*. That
// takes edges that can all come: of_both > 0. A self-loop's chance of both is that of its node, so
// that its factor is 1.
[[nodiscard]] double EdgeFactor(double of_v, double of_both);

// What the loss of a node with this chance is multiplied by: the sum over the subgraph's training
// nodes is the mean over all of them in expectation. `training_nodes`: those that can come, so
// without nodes of chance 0 (isolated ones, where draws are by degree or of edges). Requires both
// above 0. Together with EdgeFactor: one layer's loss, if it is linear, is unbiased.
[[nodiscard]] double LossWeight(double of_v, int64_t training_nodes);

}  // namespace halograph
