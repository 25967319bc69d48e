// Minibatches of node-wise draws: layer by layer, each destination by itself.
#include <algorithm>
#include <utility>
#include <vector>

#include "common/sampling/kernel/excluded_edges.h"
#include "common/sampling/samplers/layer_answers.h"
#include "common/sampling/samplers/minibatch_maker.h"

namespace halograph {
namespace {

class NodeWiseMaker final : public MinibatchMaker {
 public:
  explicit NodeWiseMaker(const MakerPlace& place)
      : schema_(place.schema),
        request_(place.request),
        lists_(&place.schema, place.workspace),
        minibatch_(place.minibatch),
        excluded_(place.request.exclude.begin(), place.request.exclude.end()) {}

  StatusOr<bool> Next(const AnswerSpans& answers, TopologyQuestions* questions) override {
    if (asked_) {
      HG_RETURN_IF_ERROR(AddBlocks(layer_, answers.draws));
      ++layer_;
    } else {
      HG_RETURN_IF_ERROR(Begin());
      asked_ = true;
    }
    if (layer_ == minibatch_->layers.size()) {
      lists_.CopyTo(&minibatch_->nodes);
      return false;
    }
    AddGroups(layer_, &questions->draws);
    return true;
  }

 private:
  [[nodiscard]] Status Begin() {
    minibatch_->sampled_edges = 0;
    minibatch_->layers.resize(request_.spec->layers.size());
    return lists_.AddSeeds(request_, &minibatch_->seed_positions);
  }

  // Appends what layer `l` asks for. The groups point into the lists until AddBlocks.
  void AddGroups(size_t l, std::vector<LayerGroup>* groups) {
    SampledLayer& sampled = minibatch_->layers[l];
    lists_.GetSizes(&sampled.num_destinations);
    for (const RelationRule& wanted : request_.spec->layers[l]) {
      const int type = schema_.DestinationType(wanted.relation);
      groups->push_back(
          AskOf(request_, l, wanted,
                {lists_.of(type).ids.data(), static_cast<size_t>(sampled.num_destinations[type])}));
    }
  }

  // Takes the answers to the groups of layer `l`.
  [[nodiscard]] Status AddBlocks(size_t l, std::span<NeighborPicks> picks) {
    SampledLayer& sampled = minibatch_->layers[l];
    sampled.blocks.resize(picks.size());
    for (size_t g = 0; g < picks.size(); ++g) {
      sampled.blocks[g].relation = request_.spec->layers[l][g].relation;
      HG_RETURN_IF_ERROR(FillBlock(sampled, &picks[g], &sampled.blocks[g]));
    }
    lists_.GetSizes(&sampled.num_sources);
    return OkStatus();
  }

  // Memory is swapped, not copied: the picks get the block's to fill next.
  [[nodiscard]] Status FillBlock(const SampledLayer& sampled, NeighborPicks* picks, Block* block) {
    const int type = schema_.SourceType(block->relation);
    const int destinations = schema_.DestinationType(block->relation);
    HG_RETURN_IF_ERROR(LeaveOut(schema_, excluded_, block->relation, lists_.of(destinations),
                                sampled.num_destinations[destinations], picks));
    std::swap(block->indptr, picks->offsets);
    std::swap(block->edge_ids, picks->edge_ids);
    std::swap(block->weights, picks->weights);
    block->coefficients.clear();
    picks->edge_ids.clear();
    picks->weights.clear();
    block->degrees.clear();
    block->indices.clear();
    if (!lists_.of(type).Compact(picks->sources, &block->indices)) {
      return UnknownNode(schema_, block->relation, lists_.of(type).UnknownIn(picks->sources));
    }
    minibatch_->sampled_edges += picks->size();
    return lists_.CheckLength(type);
  }

  const Schema& schema_;
  const SampleRequest& request_;
  MinibatchLists lists_;
  Minibatch* const minibatch_;
  const std::vector<ExcludedEdges> excluded_;
  bool asked_ = false;
  size_t layer_ = 0;  // asked for
};

}  // namespace

std::unique_ptr<MinibatchMaker> MakeNodeWise(const MakerPlace& place) {
  return std::make_unique<NodeWiseMaker>(place);
}

}  // namespace halograph
