// Minibatches of graph-wise draws (SAMPLING.md, "Graph-wise draws"): the nodes of one subgraph, and
// all edges between them, which are the block of every layer. Of one node type and one relation
// that leads from it to itself. Nodes are drawn here; what is picked from them, and the edges, are
// asked for.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/sampling/layer_wise_draw.h"
#include "common/sampling/samplers/layer_answers.h"
#include "common/sampling/samplers/minibatch_maker.h"
#include "common/sampling/samplers/subgraph_draw.h"
#include "common/sampling/samplers/subgraph_weights.h"

namespace halograph {
namespace {

class SubgraphMaker final : public MinibatchMaker {
 public:
  explicit SubgraphMaker(const MakerPlace& place)
      : schema_(place.schema),
        request_(place.request),
        rule_(place.request.spec->layers[0][0].rule),
        relation_(place.request.spec->layers[0][0].relation),
        out_degrees_(place.out_degrees),
        clusters_(place.clusters),
        lists_(&place.schema, place.workspace),
        minibatch_(place.minibatch) {}

  StatusOr<bool> Next(const AnswerSpans& answers, TopologyQuestions* questions) override {
    switch (asked_) {
      case Asked::kNothing:
        HG_RETURN_IF_ERROR(Begin());
        break;
      case Asked::kPicks:
        HG_RETURN_IF_ERROR(Append(InOrder(answers.draws)));
        groups_.clear();
        break;
      case Asked::kEdges:
        if (answers.edges.size() != 1) return Internal("edges of a subgraph are missing");
        HG_RETURN_IF_ERROR(MakeBlocks(answers.edges[0]));
        return false;
    }
    if (!groups_.empty()) {
      asked_ = Asked::kPicks;
      AskPicks(&questions->draws);
    } else {
      asked_ = Asked::kEdges;
      AskEdges(&questions->edges);
    }
    return true;
  }

 private:
  enum class Asked : uint8_t { kNothing, kPicks, kEdges };

  // Drawn nodes that pick alike: as often as each was drawn.
  struct PickGroup {
    std::vector<int64_t> nodes;
    std::vector<size_t> places;  // of each in the order drawn
  };

  [[nodiscard]] FusedNodes& nodes() const { return lists_.of(schema_.SourceType(relation_)); }
  [[nodiscard]] std::span<const int64_t> ids() const {
    return {nodes().ids.data(), static_cast<size_t>(nodes().size)};
  }

  [[nodiscard]] Status Begin() {
    minibatch_->sampled_edges = 0;
    minibatch_->layers.resize(request_.spec->layers.size());
    HG_RETURN_IF_ERROR(lists_.AddSeeds(request_, &minibatch_->seed_positions));
    if (rule_.kind == DrawKind::kCluster) return DrawClusters();
    HG_ASSIGN_OR_RETURN(const DrawnNodes drawn, DrawNodes());
    if (rule_.kind == DrawKind::kSaintEdge) GroupByCount(drawn);
    return Append(drawn.nodes);
  }

  // Whole clusters, in the order drawn, without replacement.
  [[nodiscard]] Status DrawClusters() {
    std::vector<IdRange> all;
    for (const std::vector<int64_t>& part : clusters_) {
      for (size_t i = 0; i + 1 < part.size(); ++i) all.push_back({part[i], part[i + 1]});
    }
    if (all.empty()) {
      return FailedPrecondition(
          "the graph has no clusters to draw: partition it with --batch-clusters N, or give "
          "another "
          "sampler");
    }
    const std::vector<uint32_t> alike(all.size(), 1);
    CandidateSums sums;
    sums.Reset(std::span<const uint32_t>(alike));
    LayerWisePicks picks;
    HG_RETURN_IF_ERROR(
        LayerWiseDrawer().Draw(sums, rule_.fanout, SubgraphKey(request_.batch_seed), &picks));
    for (const int64_t cluster : picks.positions) {
      const IdRange range = all[static_cast<size_t>(cluster)];
      std::vector<int64_t> of(static_cast<size_t>(range.size()));
      for (size_t i = 0; i < of.size(); ++i) of[i] = range.begin + static_cast<int64_t>(i);
      HG_RETURN_IF_ERROR(Append(of));
      cluster_ends_.push_back(nodes().size);
    }
    num_clusters_ = std::ssize(all);
    return OkStatus();
  }

  [[nodiscard]] StatusOr<DrawnNodes> DrawNodes() const {
    const auto table = out_degrees_.Find(relation_);
    if (table == nullptr) return Internal("degrees of relation {} are missing", relation_);
    return DrawByDegree(DegreeSums(table->degrees), rule_.fanout, SubgraphKey(request_.batch_seed));
  }

  void GroupByCount(const DrawnNodes& drawn) {
    for (size_t i = 0; i < drawn.nodes.size(); ++i) {
      PickGroup& group = groups_[drawn.counts[i]];
      group.nodes.push_back(drawn.nodes[i]);
      group.places.push_back(i);
    }
  }

  void AskPicks(std::vector<LayerGroup>* groups) const {
    for (const auto& [count, group] : groups_) {
      groups->push_back({.relation = relation_,
                         .rule = {.fanout = count, .replace = true},
                         .batch_seed = request_.batch_seed,
                         .layer = 0,
                         .destinations = group.nodes});
    }
  }

  // What was picked, node by node in the order drawn.
  [[nodiscard]] std::vector<int64_t> InOrder(std::span<NeighborPicks> answers) const {
    std::map<size_t, std::span<const int64_t>> of_nodes;
    size_t answer = 0;
    for (const auto& [count, group] : groups_) {
      const NeighborPicks& picks = answers[answer++];
      for (size_t i = 0; i < group.places.size(); ++i) {
        of_nodes[group.places[i]] =
            std::span(picks.sources)
                .subspan(static_cast<size_t>(picks.offsets[i]),
                         static_cast<size_t>(picks.offsets[i + 1] - picks.offsets[i]));
      }
    }
    std::vector<int64_t> picked;
    for (const auto& [place, sources] : of_nodes) {
      picked.insert(picked.end(), sources.begin(), sources.end());
    }
    return picked;
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
    minibatch_->node_weights.clear();
    if (rule_.kind == DrawKind::kCluster) return WeighBetweenClusters(degrees, block);
    SubgraphWeights weights;
    const SubgraphEdges edges = {block->indptr, block->indices, degrees};
    const auto all = static_cast<uint64_t>(out_degrees_.Find(relation_)->sums.total());
    if (rule_.kind == DrawKind::kSaintNode) {
      SubgraphWeigher().WeighNodeDraws(edges, all, rule_.fanout, &weights);
    } else {
      SubgraphWeigher().WeighEdgeDraws(edges, all, rule_.fanout, &weights);
    }
    block->coefficients.assign(weights.factors.begin(), weights.factors.end());
    block->degrees.assign(degrees.begin(), degrees.end());
    for (const double chance : weights.chances) {
      minibatch_->node_weights.push_back(static_cast<float>(1 / chance));
    }
  }

  // Edges within a cluster come whenever their destination does, others with q - 1 of c - 1
  // clusters.
  void WeighBetweenClusters(std::span<const int64_t> degrees, Block* block) const {
    if (!rule_.cluster_weights) return;
    const auto drawn = std::ssize(cluster_ends_);
    const auto between =
        static_cast<float>(static_cast<double>(num_clusters_ - 1) / static_cast<double>(drawn - 1));
    const auto cluster_of = [this](int64_t place) {
      return std::upper_bound(cluster_ends_.begin(), cluster_ends_.end(), place) -
             cluster_ends_.begin();
    };
    for (size_t i = 0; i + 1 < block->indptr.size(); ++i) {
      const auto own = cluster_of(static_cast<int64_t>(i));
      for (int64_t e = block->indptr[i]; e < block->indptr[i + 1]; ++e) {
        block->coefficients.push_back(cluster_of(block->indices[e]) == own ? 1.0F : between);
      }
    }
    block->degrees.assign(degrees.begin(), degrees.end());
  }

  const Schema& schema_;
  const SampleRequest& request_;
  const DrawRule rule_;
  const int relation_;
  const OutDegreeTables& out_degrees_;
  const std::span<const std::vector<int64_t>> clusters_;  // by part: bounds
  MinibatchLists lists_;
  Minibatch* const minibatch_;
  Asked asked_ = Asked::kNothing;
  std::map<int32_t, PickGroup> groups_;  // by how often nodes were drawn
  std::vector<int64_t> columns_;
  std::vector<int64_t> cluster_ends_;  // in the list of nodes
  int64_t num_clusters_ = 0;
};

}  // namespace

std::unique_ptr<MinibatchMaker> MakeSubgraph(const MakerPlace& place) {
  return std::make_unique<SubgraphMaker>(place);
}

}  // namespace halograph
