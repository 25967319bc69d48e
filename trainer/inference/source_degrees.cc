#include "trainer/inference/source_degrees.h"

#include <algorithm>
#include <utility>

namespace halograph {

StatusOr<SourceDegrees> SourceDegrees::Count(const Session& session, const ChunkMemory& memory,
                                             ScratchSpace& scratch) {
  const auto& info = session.stores.graph->info();
  const int64_t count = info.schema.node_types.front().count;
  SourceDegrees made;
  HG_ASSIGN_OR_RETURN(made.degrees_,
                      scratch.Take(count * static_cast<int64_t>(sizeof(int32_t)), "in-degrees"));
  BatchRecipe recipe = session.eval_maker->recipe();
  recipe.sampling = {};
  recipe.sampling.layers = {{Neighbors(0, kFullNeighborhood)}};
  recipe.form = BlockForm::kSampled;
  recipe.by_source = BySource::kNone;
  recipe.inputs.clear();
  recipe.compact = {};  // no node is read
  const BatchMaker maker(session.stores.graph.get(), session.stores.rows.get(), recipe);
  const NodeRange nodes(0, info.book.NodeBoundaries(0));
  const double degree = static_cast<double>(info.schema.relations.front().count) /
                        static_cast<double>(std::max<int64_t>(1, count));
  ChunkFeed feed(&maker, &nodes,
                 ChunkOptionsOf(session, memory, ChunkCost::Of(0, 0, InputRows::kNodes, false),
                                degree, nodes.rows()),
                 [](Step*) { return OkStatus(); });
  const auto degrees = made.degrees_.As<int32_t>();
  const auto keep = [&](Step& chunk) {
    const std::vector<int64_t>& indptr = chunk.minibatch.layers.front().blocks.front().indptr;
    auto* to = degrees.data() + chunk.minibatch.nodes.front().front();
    for (size_t v = 0; v + 1 < indptr.size(); ++v) {
      *to++ = static_cast<int32_t>(indptr[v + 1] - indptr[v]);
    }
    return OkStatus();
  };
  HG_RETURN_IF_ERROR(ForEachChunk(session, feed, keep));
  return made;
}

SampledLayer SourceDegrees::OuterOf(const Minibatch& chunk) const {
  const auto degrees = degrees_.As<const int32_t>();
  Block block{.relation = 0, .indptr = {0}, .indices = {}};
  block.indptr.reserve(chunk.nodes.front().size() + 1);
  for (const int64_t node : chunk.nodes.front()) {
    block.indptr.push_back(block.indptr.back() + degrees[static_cast<size_t>(node)]);
  }
  SampledLayer outer;
  outer.blocks.push_back(std::move(block));
  return outer;
}

}  // namespace halograph
