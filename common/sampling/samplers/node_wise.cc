// Minibatches of node-wise draws: layer by layer, each destination by itself. Where draws are
// estimates, in-degrees come with the edges. Those of a layer's new sources are asked for with the
// next layer's draws, whose destinations they are, or behind the last one alone.
#include <algorithm>
#include <utility>
#include <vector>

#include "common/sampling/estimates.h"
#include "common/sampling/kernel/excluded_edges.h"
#include "common/sampling/samplers/layer_answers.h"
#include "common/sampling/samplers/minibatch_maker.h"

namespace halograph {
namespace {

// In-edges of a block's destinations that are left out, which are counted to tell in-degrees
// without them: drawn or not.
struct AskedLeftOut {
  size_t block = 0;
  std::vector<ExcludedRow> rows;
  std::vector<int64_t> destinations;  // of each row
  std::vector<int64_t> columns;       // sources of all rows, ascending, unique
};

// In-degrees of a block's sources behind its destinations.
struct AskedDegrees {
  size_t block = 0;
  size_t group = 0;   // whose answer has them,
  int64_t first = 0;  // from this one on
};

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
      TakeSourceDegrees(answers.draws);
      if (layer_ == minibatch_->layers.size()) return End();
      HG_RETURN_IF_ERROR(AddBlocks(layer_, answers));
      ++layer_;
    } else {
      HG_RETURN_IF_ERROR(Begin());
      asked_ = true;
    }
    const size_t first = questions->draws.size();
    if (layer_ < minibatch_->layers.size()) {
      AddGroups(layer_, &questions->draws);
      AskLeftOut(layer_, &questions->edges);
    }
    if (layer_ > 0) AskSourceDegrees(layer_ - 1, first, &questions->draws);
    const bool asks = layer_ < minibatch_->layers.size() || questions->draws.size() > first;
    return asks ? true : End();
  }

 private:
  [[nodiscard]] Status Begin() {
    minibatch_->sampled_edges = 0;
    minibatch_->node_weights.clear();
    minibatch_->layers.resize(request_.spec->layers.size());
    return lists_.AddSeeds(request_, &minibatch_->seed_positions);
  }

  // What Next gives once the minibatch is made.
  [[nodiscard]] bool End() {
    lists_.CopyTo(&minibatch_->nodes);
    return false;
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

  // Appends what is asked of edges that layer `l` leaves out, where its draws are estimates.
  void AskLeftOut(size_t l, std::vector<EdgeGroup>* groups) {
    left_out_.clear();
    const std::vector<RelationRule>& rules = request_.spec->layers[l];
    for (size_t g = 0; g < rules.size() && !excluded_.empty(); ++g) {
      if (!IsEstimate(rules[g].rule)) continue;
      AskedLeftOut asked = {.block = g, .rows = {}, .destinations = {}, .columns = {}};
      const int type = schema_.DestinationType(rules[g].relation);
      for (const ExcludedEdges& edges : excluded_) {
        if (edges.relation() != rules[g].relation) continue;
        edges.FindIn(lists_.of(type), minibatch_->layers[l].num_destinations[type], &asked.rows);
      }
      for (const ExcludedRow& row : asked.rows) {
        asked.destinations.push_back(lists_.of(type).ids.data()[row.destination]);
        asked.columns.insert(asked.columns.end(), row.sources.begin(), row.sources.end());
      }
      std::sort(asked.columns.begin(), asked.columns.end());
      asked.columns.erase(std::unique(asked.columns.begin(), asked.columns.end()),
                          asked.columns.end());
      if (!asked.rows.empty()) left_out_.push_back(std::move(asked));
    }
    for (const AskedLeftOut& asked : left_out_) {
      groups->push_back({.relation = rules[asked.block].relation,
                         .destinations = asked.destinations,
                         .columns = asked.columns});
    }
  }

  // Appends what is asked of the sources of layer `l`, whose blocks are there. `first`: of the
  // groups of the next layer, if there is one.
  void AskSourceDegrees(size_t l, size_t first, std::vector<LayerGroup>* groups) {
    degrees_.clear();
    const SampledLayer& sampled = minibatch_->layers[l];
    const size_t of_next_layer = groups->size();
    for (size_t b = 0; b < sampled.blocks.size() && request_.source_degrees; ++b) {
      const auto& [relation, rule] = request_.spec->layers[l][b];
      const int type = schema_.SourceType(relation);
      if (!IsEstimate(rule) || type != schema_.DestinationType(relation)) continue;
      const int64_t destinations = sampled.num_destinations[type];
      if (destinations == sampled.num_sources[type]) continue;
      const auto next = std::find_if(groups->begin() + static_cast<std::ptrdiff_t>(first),
                                     groups->begin() + static_cast<std::ptrdiff_t>(of_next_layer),
                                     [wanted = relation](const LayerGroup& group) {
                                       return group.relation == wanted && group.degrees;
                                     });
      const auto group = static_cast<size_t>(next - groups->begin());
      if (group < of_next_layer) {
        degrees_.push_back({.block = b, .group = group - first, .first = destinations});
        continue;
      }
      degrees_.push_back({.block = b, .group = groups->size() - first});
      groups->push_back(
          {.relation = relation,
           .rule = {},
           .batch_seed = request_.batch_seed,
           .degrees = true,
           .destinations = {lists_.of(type).ids.data() + destinations,
                            static_cast<size_t>(sampled.num_sources[type] - destinations)}});
    }
  }

  // Before the answers of the next layer's draws are taken.
  void TakeSourceDegrees(std::span<const NeighborPicks> picks) {
    for (const AskedDegrees& asked : degrees_) {
      AddSourceDegrees(std::span(picks[asked.group].degrees).subspan(asked.first),
                       &minibatch_->layers[layer_ - 1].blocks[asked.block]);
    }
  }

  // Takes the answers to the groups of layer `l`, behind which others may be.
  [[nodiscard]] Status AddBlocks(size_t l, const AnswerSpans& answers) {
    SampledLayer& sampled = minibatch_->layers[l];
    sampled.blocks.resize(request_.spec->layers[l].size());
    auto asked = left_out_.begin();
    for (size_t g = 0; g < sampled.blocks.size(); ++g) {
      const auto& [relation, rule] = request_.spec->layers[l][g];
      Block& block = sampled.blocks[g];
      block.relation = relation;
      HG_RETURN_IF_ERROR(FillBlock(sampled, &answers.draws[g], &block));
      if (!IsEstimate(rule)) continue;
      std::vector<LeftOutEdges> left_out;
      if (asked != left_out_.end() && asked->block == g) {
        const ExtractedEdges& edges = answers.edges[asked - left_out_.begin()];
        HG_RETURN_IF_ERROR(CheckEdges(schema_, relation, asked->destinations.size(),
                                      asked->columns.size(), {}, edges));
        left_out = CountLeftOut(*asked++, edges);
      }
      FillEstimates(rule, answers.draws[g].degrees, left_out, &block);
    }
    lists_.GetSizes(&sampled.num_sources);
    return OkStatus();
  }

  // Edges of a row from another row's sources are none of it.
  static std::vector<LeftOutEdges> CountLeftOut(const AskedLeftOut& asked,
                                                const ExtractedEdges& edges) {
    std::vector<LeftOutEdges> left_out;
    for (size_t i = 0; i < asked.rows.size(); ++i) {
      const ExcludedRow& row = asked.rows[i];
      LeftOutEdges& of_row = left_out.emplace_back(LeftOutEdges{.destination = row.destination});
      for (int64_t e = edges.offsets[i]; e < edges.offsets[i + 1]; ++e) {
        const int64_t source = asked.columns[edges.columns[e]];
        of_row.edges += std::binary_search(row.sources.begin(), row.sources.end(), source) ? 1 : 0;
      }
    }
    return left_out;
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
  size_t layer_ = 0;                    // asked for; behind the last: in-degrees of its sources
  std::vector<AskedLeftOut> left_out_;  // of that layer
  std::vector<AskedDegrees> degrees_;   // of the layer before it
};

}  // namespace

std::unique_ptr<MinibatchMaker> MakeNodeWise(const MakerPlace& place) {
  return std::make_unique<NodeWiseMaker>(place);
}

}  // namespace halograph
