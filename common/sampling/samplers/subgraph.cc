// Minibatches of graph-wise draws (SAMPLING.md, "Graph-wise draws"): the nodes of one subgraph, and
// all edges between them, which are the block of every layer. Of one node type and one relation
// that leads from it to itself. Which nodes those are is what a kind of draw says; what they ask,
// and the edges, are asked for.
#include <algorithm>
#include <utility>
#include <vector>

#include "common/sampling/samplers/layer_answers.h"
#include "common/sampling/samplers/subgraph_nodes.h"

namespace halograph {
namespace {

class SubgraphMaker final : public MinibatchMaker {
 public:
  SubgraphMaker(const MakerPlace& place, std::unique_ptr<SubgraphNodes> chosen)
      : schema_(place.schema),
        request_(place.request),
        relation_(place.relation()),
        chosen_(std::move(chosen)),
        lists_(&place.schema, place.workspace),
        minibatch_(place.minibatch) {}

  StatusOr<bool> Next(const AnswerSpans& answers, TopologyQuestions* questions) override {
    if (asked_ == Asked::kEdges) {
      if (answers.edges.size() != 1) return Internal("edges of a subgraph are missing");
      HG_RETURN_IF_ERROR(MakeBlocks(answers.edges[0]));
      return false;
    }
    if (asked_ == Asked::kNothing) HG_RETURN_IF_ERROR(Begin());
    asked_ = Asked::kNodes;
    const size_t asked_by_others = questions->draws.size();
    std::vector<int64_t> more;
    HG_RETURN_IF_ERROR(chosen_->Next(answers.draws, &more, &questions->draws));
    HG_RETURN_IF_ERROR(Append(more));
    if (questions->draws.size() > asked_by_others) return true;
    asked_ = Asked::kEdges;
    AskEdges(&questions->edges);
    return true;
  }

 private:
  enum class Asked : uint8_t { kNothing, kNodes, kEdges };

  [[nodiscard]] FusedNodes& nodes() const { return lists_.of(schema_.SourceType(relation_)); }
  [[nodiscard]] std::span<const int64_t> ids() const {
    return {nodes().ids.data(), static_cast<size_t>(nodes().size)};
  }

  [[nodiscard]] Status Begin() {
    minibatch_->sampled_edges = 0;
    minibatch_->layers.resize(request_.spec->layers.size());
    return lists_.AddSeeds(request_, &minibatch_->seed_positions);
  }

  // Each node that is new to the list.
  [[nodiscard]] Status Append(std::span<const int64_t> more) {
    std::vector<int32_t> positions;
    if (!nodes().Compact(more, &positions)) {
      return UnknownNode(schema_, relation_, nodes().UnknownIn(more));
    }
    return lists_.CheckLength(schema_.SourceType(relation_));
  }

  void AskEdges(std::vector<EdgeGroup>* groups) {
    columns_.assign(ids().begin(), ids().end());
    std::sort(columns_.begin(), columns_.end());
    groups->push_back({.relation = relation_,
                       .wanted = {.edge_ids = request_.edge_ids},
                       .destinations = ids(),
                       .columns = columns_});
  }

  [[nodiscard]] Status MakeBlocks(ExtractedEdges& edges) {
    HG_RETURN_IF_ERROR(CheckEdges(schema_, relation_, ids().size(), columns_.size(),
                                  {.edge_ids = request_.edge_ids}, edges));
    std::vector<int32_t> place_of_column(columns_.size());
    nodes().Find(columns_, place_of_column.data());
    Block block{.relation = relation_, .indptr = std::move(edges.offsets), .indices = {}};
    block.indices.reserve(edges.columns.size());
    for (const int32_t column : edges.columns) block.indices.push_back(place_of_column[column]);
    block.edge_ids = std::move(edges.edge_ids);
    Weigh(edges.degrees, &block);
    for (SampledLayer& layer : minibatch_->layers) {
      lists_.GetSizes(&layer.num_destinations);
      layer.num_sources = layer.num_destinations;
      layer.blocks.assign(1, block);
      minibatch_->sampled_edges += std::ssize(block.indices);
    }
    lists_.CopyTo(&minibatch_->nodes);
    return OkStatus();
  }

  void Weigh(std::span<const int64_t> degrees, Block* block) {
    SubgraphFactors factors = chosen_->Weigh({block->indptr, block->indices, degrees});
    block->coefficients = std::move(factors.edges);
    minibatch_->node_weights = std::move(factors.nodes);
    if (IsEstimate(request_.spec->layers[0][0].rule)) {
      block->degrees.assign(degrees.begin(), degrees.end());
    }
  }

  const Schema& schema_;
  const SampleRequest& request_;
  const int relation_;
  const std::unique_ptr<SubgraphNodes> chosen_;
  MinibatchLists lists_;
  Minibatch* const minibatch_;
  Asked asked_ = Asked::kNothing;
  std::vector<int64_t> columns_;
};

}  // namespace

std::unique_ptr<MinibatchMaker> MakeSubgraph(const MakerPlace& place,
                                             std::unique_ptr<SubgraphNodes> nodes) {
  return std::make_unique<SubgraphMaker>(place, std::move(nodes));
}

NodePicks::NodePicks(const MakerPlace& place) : place_(place) {}

void NodePicks::Ask(const DrawnNodes& drawn, int layer, std::vector<LayerGroup>* questions) {
  groups_.clear();
  num_nodes_ = drawn.nodes.size();
  for (size_t i = 0; i < num_nodes_; ++i) {
    Group& group = groups_[drawn.counts[i]];
    group.nodes.push_back(drawn.nodes[i]);
    group.places.push_back(i);
  }
  for (const auto& [count, group] : groups_) {
    questions->push_back({.relation = place_.relation(),
                          .rule = {.fanout = count, .replace = true},
                          .batch_seed = place_.request.batch_seed,
                          .layer = layer,
                          .destinations = group.nodes});
  }
}

StatusOr<std::vector<int64_t>> NodePicks::Take(std::span<const NeighborPicks> answers) const {
  std::vector<std::span<const int64_t>> of_nodes(num_nodes_);
  size_t answer = 0, picks = 0;
  for (const auto& [count, group] : groups_) {
    const NeighborPicks& of_group = answers[answer++];
    HG_RETURN_IF_ERROR(CheckOffsets(place_.schema, place_.relation(), of_group));
    picks += of_group.sources.size();
    for (size_t i = 0; i < group.nodes.size(); ++i) {
      const auto begin = static_cast<size_t>(of_group.offsets[i]);
      const auto size = static_cast<size_t>(of_group.offsets[i + 1]) - begin;
      if (size > static_cast<size_t>(count)) {
        return Internal("the source answered {} picks of node {}, which was drawn {} times", size,
                        group.nodes[i], count);
      }
      of_nodes[group.places[i]] = std::span(of_group.sources).subspan(begin, size);
    }
  }
  std::vector<int64_t> picked;
  picked.reserve(picks);
  for (const auto& sources : of_nodes) picked.insert(picked.end(), sources.begin(), sources.end());
  return picked;
}

}  // namespace halograph
