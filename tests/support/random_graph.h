// Random small graphs for property tests: skewed degrees, parallel edges, self-loops, isolated
// nodes. Deterministic for given options.
#pragma once

#include <cstdint>

#include "tests/support/graph_fixture.h"

namespace halograph {

struct RandomGraphOptions {
  uint64_t seed = 1;
  int parts = 2;
  int64_t nodes = 100;      // homogeneous: nodes; typed: of the largest type
  double mean_degree = 5;   // in-edges a node
  int64_t feature_dim = 4;  // float32 feature "feat"; 0: none
  int num_classes = 3;
};

// Node type `node`, relation `node:edge:node`, feature "feat" (row i of input node i holds
// i, i + 0.25, ...), and task "node_classification" with train, valid and test sets of "seeds" and
// "labels" (int64) over a half, a quarter and a quarter of the nodes.
[[nodiscard]] TestGraphSpec RandomGraph(const RandomGraphOptions& options);

// Node types `author`, `paper`, `venue`; relations `author:writes:paper`, `paper:cites:paper`,
// `paper:written-by:author`, `venue:publishes:paper`; features "feat" on papers (as above),
// "year" (int64, rank 1: 1900 + input id) on papers, "emb" on authors, "weight" (float32 rank 1:
// the edge's position) on paper:cites:paper; a node task on papers and a link task
// "link_prediction" on paper:cites:paper whose seeds are pairs.
[[nodiscard]] TestGraphSpec RandomTypedGraph(const RandomGraphOptions& options);

}  // namespace halograph
