#include "trainer/pipeline/layer_blocks.h"

#include <iterator>
#include <numeric>
#include <span>
#include <utility>

#include "trainer/blocks/self_loops.h"

namespace halograph {
namespace {

// Of the blocks as they are, or with self loops.
void AddEachBlock(const Schema& schema, const SampledLayer& layer, bool looped, bool transposed,
                  LayerBlocks::Layer* made) {
  for (const Block& block : layer.blocks) {
    if (looped) made->looped.push_back(WithSelfLoops(block));
    if (!transposed) continue;
    made->transposed.push_back(Transpose(looped ? made->looped.back() : block,
                                         layer.num_sources[schema.SourceType(block.relation)]));
  }
}

// Those into one node type.
Status AddRelations(std::span<const RelationEdges> edges, int64_t num_sources, BlockForm form,
                    bool transposed, LayerBlocks::Layer* made) {
  if (form == BlockForm::kByRelation) {
    HG_ASSIGN_OR_RETURN(RelationGroups groups, GroupWithinRelations(edges));
    if (transposed) made->transposed.push_back(Transpose(groups.edges, num_sources));
    made->by_relation.push_back(std::move(groups));
    return OkStatus();
  }
  RelationalBlock block;
  if (!edges.empty()) {
    HG_ASSIGN_OR_RETURN(block, GroupByRelation(edges));
  }
  if (transposed) {
    made->transposed.push_back(edges.empty() ? TransposedBlock()
                                             : GroupsBySource(block, num_sources));
  }
  made->by_destination.push_back(std::move(block));
  return OkStatus();
}

Status AddByType(const Schema& schema, const SampledLayer& layer, BlockForm form, bool transposed,
                 LayerBlocks::Layer* made) {
  const size_t types = layer.num_sources.size();
  std::vector<int64_t> first(types + 1);  // rows of the stacked inputs
  std::partial_sum(layer.num_sources.begin(), layer.num_sources.end(), first.begin() + 1);
  std::vector<std::vector<RelationEdges>> into(types);
  for (const Block& block : layer.blocks) {
    const int destination = schema.DestinationType(block.relation);
    if (layer.num_destinations[destination] == 0) continue;
    into[destination].push_back({&block, first[schema.SourceType(block.relation)]});
  }
  for (const std::vector<RelationEdges>& edges : into) {
    HG_RETURN_IF_ERROR(AddRelations(edges, first.back(), form, transposed, made));
  }
  return OkStatus();
}

// Of one layer.
BlockForm FormOf(BlockForm form, bool first) {
  if (form != BlockForm::kFirstByDestination) return form;
  return first ? BlockForm::kByDestination : BlockForm::kByRelation;
}

}  // namespace

StatusOr<LayerBlocks> MakeLayerBlocks(const Schema& schema, const Minibatch& minibatch,
                                      BlockForm form, BySource by_source) {
  LayerBlocks made;
  if (form == BlockForm::kSampled && by_source == BySource::kNone) return made;
  for (size_t l = 0; l < minibatch.layers.size(); ++l) {
    const SampledLayer& layer = minibatch.layers[l];
    const bool first = l + 1 == minibatch.layers.size();
    const bool transposed =
        by_source == BySource::kAll || (by_source == BySource::kAboveFirst && !first);
    LayerBlocks::Layer* const of_layer = &made.layers.emplace_back();
    const BlockForm own = FormOf(form, first);
    if (own == BlockForm::kSampled || own == BlockForm::kSelfLoops) {
      AddEachBlock(schema, layer, own == BlockForm::kSelfLoops, transposed, of_layer);
    } else {
      HG_RETURN_IF_ERROR(AddByType(schema, layer, own, transposed, of_layer));
    }
  }
  return made;
}

}  // namespace halograph
