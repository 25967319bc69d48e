#include "trainer/pipeline/weight_sums.h"

#include <algorithm>
#include <numeric>

#include "trainer/pipeline/batch_maker.h"

namespace halograph {
namespace {

// Nodes whose edges are read at once.
constexpr int64_t kNodesAtOnce = 4096;

BatchRecipe AllEdgesOf(const EdgeWeighing& weights) {
  BatchRecipe recipe;
  recipe.sampling.layers = {{{weights.pulled.front().relation, {.fanout = kFullNeighborhood}}}};
  recipe.edge_weights = weights;
  recipe.edge_weights.sums = nullptr;
  return recipe;
}

}  // namespace

void WeightSums::SetDegrees(Minibatch* minibatch) const {
  const std::vector<int64_t>& nodes = minibatch->nodes[static_cast<size_t>(type_)];
  for (SampledLayer& layer : minibatch->layers) {
    for (Block& block : layer.blocks) {
      for (size_t i = 0; i < block.degrees.size(); ++i) {
        block.degrees[i] = sums_[static_cast<size_t>(nodes[i])];
      }
    }
  }
}

StatusOr<std::shared_ptr<const WeightSums>> ReadWeightSums(GraphStore* graph, RowStore* rows,
                                                           const EdgeWeighing& weights,
                                                           const CallContext& like) {
  const BatchMaker maker(graph, rows, AllEdgesOf(weights));
  const Schema& schema = graph->info().schema;
  const int type = schema.DestinationType(weights.pulled.front().relation);
  const int64_t count = schema.node_types[static_cast<size_t>(type)].count;
  std::vector<float> sums(static_cast<size_t>(count));
  for (int64_t first = 0; first < count; first += kNodesAtOnce) {
    Step step;
    step.rows = std::min(kNodesAtOnce, count - first);
    StepSeeds seeds;
    seeds.seeds = {{.type = type, .ids = std::vector<int64_t>(static_cast<size_t>(step.rows))}};
    std::iota(seeds.seeds.front().ids.begin(), seeds.seeds.front().ids.end(), first);
    HG_RETURN_IF_ERROR(maker.Sample(seeds, 0, like, &step));
    HG_RETURN_IF_ERROR(maker.PullRows(like, &step));
    const Block& block = step.minibatch.layers.front().blocks.front();
    for (size_t v = 0; v + 1 < block.indptr.size(); ++v) {
      const auto begin = block.coefficients.begin();
      sums[static_cast<size_t>(first) + v] = static_cast<float>(
          std::accumulate(begin + block.indptr[v], begin + block.indptr[v + 1], 0.0));
    }
  }
  return std::make_shared<const WeightSums>(type, std::move(sums));
}

}  // namespace halograph
