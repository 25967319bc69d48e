// What exact inference computes, layer by layer, and how many nodes it takes at a time. Pure
// functions and plain values; knows no libtorch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/graph/schema.h"
#include "common/sampling/minibatch.h"
#include "common/sampling/request.h"
#include "trainer/pipeline/layer_inputs.h"

namespace halograph {

// One layer of a model over the whole graph.
struct ExactLayer {
  // What is asked of a chunk's nodes: all neighbours of each relation that the layer reads.
  SamplingSpec sampling = {};
  std::vector<bool> types = {};  // per node type: whether rows are made for its nodes
};

// By layer of the model, from the inputs on. Relations are those that evaluation draws neighbours
// of (fanout 0: none), in each layer. The last layer makes rows of the types `wanted`, each other
// one of those that the next layer reads. `blocks_at_last`: whether the last layer reads
// neighbours. `weights`: whether edges come with evaluation's sampling weights.
[[nodiscard]] std::vector<ExactLayer> PlanLayers(const Schema& schema,
                                                 const SamplingSpec& evaluation,
                                                 std::span<const int> wanted, bool blocks_at_last,
                                                 bool weights);

// In-edges of a node of `type` in a layer, on average.
[[nodiscard]] double MeanInDegree(const Schema& schema, const ExactLayer& layer, int type);

// About how much memory a chunk takes while its rows are made, in bytes.
struct ChunkCost {
  int64_t source = 0;       // a node that is read
  int64_t edge = 0;         // an in-edge
  int64_t destination = 0;  // a node whose row is made

  // `in`, `out`: columns of the rows read and made. `in_place`: for kSelfAndMean, whether rows of
  // sources are read where they are.
  [[nodiscard]] static ChunkCost Of(int64_t in, int64_t out, InputRows rows, bool in_place);
  // Of a minibatch of one layer.
  [[nodiscard]] int64_t Bytes(const Minibatch& minibatch) const;
};

// How many nodes of so many in-edges on average a chunk takes: about `chunk_bytes` of memory, one
// node at least, and no more than there are.
[[nodiscard]] int64_t NodesOfChunk(const ChunkCost& cost, double mean_in_degree,
                                   int64_t chunk_bytes, int64_t nodes);

}  // namespace halograph
