// What sampling gives: compacted blocks and the unique nodes that they are over.
// Defined bit by bit in common/sampling/SAMPLING.md. Plain values.
#pragma once

#include <cstdint>
#include <vector>

namespace halograph {

// One layer's sampled in-edges of one relation, as CSC over positions in the minibatch's node
// lists. Edge j of destination i: indices[indptr[i] + j], a position in the source type's list.
// Destination i is position i of the destination type's list. What else there is of an edge stands
// at the same place of its array: ids and weights are empty unless the request asked for them.
struct Block {
  int relation = 0;             // index in the schema
  std::vector<int64_t> indptr;  // destinations + 1
  std::vector<int32_t> indices;
  std::vector<int64_t> edge_ids = {};  // global, of the relation
  std::vector<float> weights = {};     // values of the edge feature that was drawn by
  // What each edge's row is multiplied by before rows are summed; empty: 1 throughout. None is
  // negative or NaN. Made by who makes the block, of what is left of its edges: no source answers
  // them.
  std::vector<float> coefficients = {};
  // In-degrees by this relation in the whole graph, or sums of edge weights, whatever was drawn:
  // of the destinations, and, where the relation leads from a node type to itself, of the other
  // sources behind them. What sums over drawn edges are divided by, last. Empty: by what the block
  // has.
  std::vector<float> degrees = {};

  bool operator==(const Block&) const = default;
};

// The blocks of one hop. Layer 0 is at the seeds.
struct SampledLayer {
  std::vector<Block> blocks;              // one a requested relation, in schema order
  std::vector<int64_t> num_destinations;  // per node type: length of its list when the layer began
  std::vector<int64_t> num_sources;       // per node type: its length when the layer ended

  bool operator==(const SampledLayer&) const = default;
};

struct Minibatch {
  std::vector<SampledLayer> layers;
  std::vector<std::vector<int64_t>>
      nodes;  // per node type: unique global ids, seeds first; the input nodes
  // Per seed list of the request: position in nodes[its type] of each seed.
  std::vector<std::vector<int32_t>> seed_positions;
  // Of a subgraph that was drawn by chance, by node of its type: what the node's loss counts, one
  // over the chance that it is in. Empty: all alike.
  std::vector<float> node_weights = {};
  int64_t sampled_edges = 0;

  bool operator==(const Minibatch&) const = default;
};

}  // namespace halograph
