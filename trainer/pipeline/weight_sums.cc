#include "trainer/pipeline/weight_sums.h"

#include <numeric>
#include <optional>
#include <span>

#include "trainer/pipeline/batch_maker.h"
#include "trainer/pipeline/minibatch_stream.h"
#include "trainer/seeds/seed_source.h"

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

// Of the minibatch's seeds.
void SumEdges(const Minibatch& minibatch, int type, std::span<float> sums) {
  const Block& block = minibatch.layers.front().blocks.front();
  const std::vector<int64_t>& nodes = minibatch.nodes[static_cast<size_t>(type)];
  const auto begin = block.coefficients.begin();
  for (size_t v = 0; v + 1 < block.indptr.size(); ++v) {
    sums[static_cast<size_t>(nodes[v])] = static_cast<float>(
        std::accumulate(begin + block.indptr[v], begin + block.indptr[v + 1], 0.0));
  }
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

StatusOr<std::vector<float>> ReadWeightSums(GraphStore* graph, RowStore* rows,
                                            const EdgeWeighing& weights,
                                            const WeightSumsReading& reading) {
  const BatchMaker maker(graph, rows, AllEdgesOf(weights));
  const GraphInfo& info = graph->info();
  const int type = info.schema.DestinationType(weights.pulled.front().relation);
  const NodeRange nodes(type, info.book.NodeBoundaries(type));
  StreamOptions options;
  options.purpose = BatchPurpose::kPredict;
  options.rank = reading.own.rank;
  options.world_size = reading.own.world_size;
  options.batch_size = kNodesAtOnce;
  options.threads = reading.threads;
  options.prefetch = reading.threads;
  options.sampled_ahead = static_cast<int64_t>(reading.threads);
  options.memory = reading.memory;
  options.cancel = reading.cancel;
  MinibatchStream stream(&maker, &nodes, SplitRows(nodes.part_rows(), reading.own.world_size),
                         options);
  std::vector<float> sums(static_cast<size_t>(nodes.rows()));
  while (true) {
    HG_ASSIGN_OR_RETURN(const std::optional<Step> step, stream.Next());
    if (!step.has_value()) return sums;
    if (step->rows > 0) SumEdges(step->minibatch, type, sums);
  }
}

}  // namespace halograph
