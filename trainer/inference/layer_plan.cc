#include "trainer/inference/layer_plan.h"

#include <algorithm>
#include <cmath>

namespace halograph {
namespace {

// Of the node list, the tables that compact it, and the block.
constexpr int64_t kNodeBytes = 16;
constexpr int64_t kEdgeBytes = 24;
// What layers hold of an edge besides, where they read rows of sources: scores of heads.
constexpr int64_t kScoreBytes = 32;
constexpr int64_t kValueBytes = 4;

void WantSources(const Schema& schema, const ExactLayer& layer, std::vector<bool>* types) {
  *types = layer.types;
  for (const auto& [relation, rule] : layer.sampling.layers.front()) {
    if (rule.nothing() || !layer.types[schema.DestinationType(relation)]) continue;
    (*types)[schema.SourceType(relation)] = true;
  }
}

}  // namespace

std::vector<ExactLayer> PlanLayers(const Schema& schema, const SamplingSpec& evaluation,
                                   std::span<const int> wanted, bool blocks_at_last, bool weights) {
  std::vector<bool> types(schema.node_types.size());
  for (const int type : wanted) types[type] = true;
  std::vector<ExactLayer> layers(evaluation.layers.size());
  // Fanouts are listed from the seeds on.
  for (size_t at = 0; at < layers.size(); ++at) {
    ExactLayer& layer = layers[layers.size() - 1 - at];
    layer.types = types;
    layer.sampling.layers = {{}};
    if (at > 0 || blocks_at_last) layer.sampling.layers.front() = evaluation.layers[at];
    for (auto& [relation, rule] : layer.sampling.layers.front()) {
      rule = {.fanout = rule.nothing() ? 0 : kFullNeighborhood,
              .weight = weights ? rule.weight : -1};
    }
    WantSources(schema, layer, &types);
  }
  return layers;
}

double MeanInDegree(const Schema& schema, const ExactLayer& layer, int type) {
  int64_t edges = 0;
  for (const auto& [relation, rule] : layer.sampling.layers.front()) {
    if (rule.nothing() || schema.DestinationType(relation) != type) continue;
    edges += schema.relations[relation].count;
  }
  const int64_t nodes = schema.node_types[type].count;
  return nodes == 0 ? 0 : static_cast<double>(edges) / static_cast<double>(nodes);
}

ChunkCost ChunkCost::Of(int64_t in, int64_t out, InputRows rows, bool in_place) {
  ChunkCost cost;
  // A row that is made, and one more while it is finished.
  cost.destination = kNodeBytes + 2 * kValueBytes * out;
  cost.edge = kEdgeBytes;
  if (rows == InputRows::kSelfAndMean) {
    const auto where = static_cast<int64_t>(sizeof(void*));
    cost.source = kNodeBytes + (in_place ? where : 2 * kValueBytes * in);
    cost.destination += 2 * kValueBytes * in;
    return cost;
  }
  // The row of a source, one more of other dtype or with room, and what a layer projects it to.
  cost.source = kNodeBytes + kValueBytes * (2 * in + out);
  cost.edge += kScoreBytes;
  return cost;
}

int64_t ChunkCost::Bytes(const Minibatch& minibatch) const {
  int64_t bytes = edge * minibatch.sampled_edges;
  for (const auto& nodes : minibatch.nodes) bytes += source * std::ssize(nodes);
  for (const int64_t made : minibatch.layers.front().num_destinations) bytes += destination * made;
  return bytes;
}

int64_t NodesOfChunk(const ChunkCost& cost, double mean_in_degree, int64_t chunk_bytes,
                     int64_t nodes) {
  const double of_node = static_cast<double>(cost.destination + cost.source) +
                         mean_in_degree * static_cast<double>(cost.edge + cost.source);
  const double fitting = std::floor(static_cast<double>(chunk_bytes) / of_node);
  return std::clamp<int64_t>(static_cast<int64_t>(fitting), 1, std::max<int64_t>(1, nodes));
}

}  // namespace halograph
