// Minibatches of layer-wise draws (SAMPLING.md, "Layer-wise draws"). A layer's nodes are known as
// soon as its column sums are: so its edges are asked for together with the sums of the next layer,
// and a minibatch takes one exchange more than it has layers.
#include <algorithm>
#include <utility>
#include <vector>

#include "common/sampling/kernel/add_column_sums.h"
#include "common/sampling/kernel/excluded_edges.h"
#include "common/sampling/layer_wise_draw.h"
#include "common/sampling/samplers/layer_answers.h"
#include "common/sampling/samplers/minibatch_maker.h"

namespace halograph {
namespace {

// What one relation of one layer asks edges of. Edges to leave out are asked for as well, so that
// in-degrees can be told without them.
struct AskedColumns {
  std::vector<int64_t> ids;           // ascending, unique
  std::vector<int32_t> positions;     // by column: in the list of its type; -1: it was not drawn
  std::vector<double> weights;        // by column: what its edges count
  std::vector<ExcludedRow> excluded;  // of the layer's destinations
};

class LayerWiseMaker final : public MinibatchMaker {
 public:
  explicit LayerWiseMaker(const MakerPlace& place)
      : schema_(place.schema),
        request_(place.request),
        lists_(&place.schema, place.workspace),
        minibatch_(place.minibatch),
        excluded_(place.request.exclude.begin(), place.request.exclude.end()) {}

  StatusOr<bool> Next(const AnswerSpans& answers, TopologyQuestions* questions) override {
    if (!begun_) {
      begun_ = true;
      minibatch_->sampled_edges = 0;
      minibatch_->layers.resize(request_.spec->layers.size());
      HG_RETURN_IF_ERROR(lists_.AddSeeds(request_, &minibatch_->seed_positions));
      AskSums(0, &questions->sums);
      return true;
    }
    if (layer_ > 0) HG_RETURN_IF_ERROR(AddBlocks(layer_ - 1, answers.edges));
    if (layer_ == minibatch_->layers.size()) {
      lists_.CopyTo(&minibatch_->nodes);
      return false;
    }
    HG_RETURN_IF_ERROR(DrawLayer(layer_, answers.sums));
    ++layer_;
    if (layer_ < minibatch_->layers.size()) AskSums(layer_, &questions->sums);
    AskEdges(layer_ - 1, &questions->edges);
    return true;
  }

 private:
  [[nodiscard]] const std::vector<RelationRule>& RulesOf(size_t l) const {
    return request_.spec->layers[l];
  }
  [[nodiscard]] std::span<const int64_t> DestinationsOf(size_t l, int relation) const {
    const int type = schema_.DestinationType(relation);
    return {lists_.of(type).ids.data(),
            static_cast<size_t>(minibatch_->layers[l].num_destinations[type])};
  }
  [[nodiscard]] int64_t SourceNodes(int relation) const {
    return schema_.node_types[schema_.SourceType(relation)].count;
  }
  [[nodiscard]] bool WantsSourceDegrees(int relation) const {
    return request_.source_degrees &&
           schema_.SourceType(relation) == schema_.DestinationType(relation);
  }

  void AskSums(size_t l, std::vector<ColumnGroup>* groups) {
    lists_.GetSizes(&minibatch_->layers[l].num_destinations);
    for (const auto& [relation, rule] : RulesOf(l)) {
      if (rule.nothing()) continue;
      groups->push_back({.relation = relation,
                         .value = ColumnValueOf(rule.probability),
                         .destinations = DestinationsOf(l, relation)});
    }
  }

  void AskEdges(size_t l, std::vector<EdgeGroup>* groups) {
    for (size_t r = 0; r < RulesOf(l).size(); ++r) {
      const auto& [relation, rule] = RulesOf(l)[r];
      if (rule.nothing()) continue;
      groups->push_back({.relation = relation,
                         .wanted = {.edge_ids = request_.edge_ids,
                                    .column_degrees = WantsSourceDegrees(relation)},
                         .destinations = DestinationsOf(l, relation),
                         .columns = columns_[r].ids});
    }
  }

  // Draws the nodes of layer `l` and appends them to their lists as they were picked.
  [[nodiscard]] Status DrawLayer(size_t l, std::span<const ColumnSums> sums) {
    columns_.resize(RulesOf(l).size());
    size_t answer = 0;
    for (size_t r = 0; r < columns_.size(); ++r) {
      const auto& [relation, rule] = RulesOf(l)[r];
      if (rule.nothing()) continue;
      if (answer == sums.size()) return Internal("column sums of {} groups are missing", r);
      const ColumnSumsView view = {sums[answer].sources, sums[answer].sums};
      ++answer;
      HG_RETURN_IF_ERROR(AddColumnSums(schema_.relations[relation].triple(), SourceNodes(relation),
                                       {&view, 1}, &candidates_));
      const uint64_t layer_key = LayerKey(request_.batch_seed, static_cast<int>(l),
                                          static_cast<int>(schema_.relations.size()), relation);
      HG_RETURN_IF_ERROR(Pick(rule, ColumnKey(layer_key)));
      HG_RETURN_IF_ERROR(TakePicks(l, relation, &columns_[r]));
    }
    lists_.GetSizes(&minibatch_->layers[l].num_sources);
    return OkStatus();
  }

  // Sets picks_ to what is drawn of candidates_.
  [[nodiscard]] Status Pick(const DrawRule& rule, uint64_t column_key) {
    HG_RETURN_IF_ERROR(MakeWeights(rule.probability, candidates_.sums));
    sums_.Reset(std::span<const uint64_t>(candidates_.sums));
    const int64_t nodes =
        rule.fanout == kFullNeighborhood ? sums_.num_candidates() : int64_t{rule.fanout};
    return drawer_.Draw(sums_, nodes, column_key, &picks_);
  }

  [[nodiscard]] Status TakePicks(size_t l, int relation, AskedColumns* columns) {
    FusedNodes& list = lists_.of(schema_.SourceType(relation));
    drawn_.clear();
    positions_.clear();
    for (const int64_t position : picks_.positions) {
      drawn_.push_back(candidates_.sources[static_cast<size_t>(position)]);
    }
    if (!list.Compact(drawn_, &positions_)) {
      return UnknownNode(schema_, relation, list.UnknownIn(drawn_));
    }
    HG_RETURN_IF_ERROR(lists_.CheckLength(schema_.SourceType(relation)));
    FindExcluded(l, relation, columns);
    columns->ids = drawn_;
    for (const ExcludedRow& row : columns->excluded) {
      columns->ids.insert(columns->ids.end(), row.sources.begin(), row.sources.end());
    }
    std::sort(columns->ids.begin(), columns->ids.end());
    columns->ids.erase(std::unique(columns->ids.begin(), columns->ids.end()), columns->ids.end());
    columns->positions.assign(columns->ids.size(), -1);
    columns->weights.assign(columns->ids.size(), 0);
    for (size_t i = 0; i < drawn_.size(); ++i) {
      const auto at = std::lower_bound(columns->ids.begin(), columns->ids.end(), drawn_[i]);
      columns->positions[at - columns->ids.begin()] = positions_[i];
      columns->weights[at - columns->ids.begin()] = picks_.weights[i];
    }
    return OkStatus();
  }

  void FindExcluded(size_t l, int relation, AskedColumns* columns) const {
    columns->excluded.clear();
    const int type = schema_.DestinationType(relation);
    for (const ExcludedEdges& edges : excluded_) {
      if (edges.relation() != relation) continue;
      edges.FindIn(lists_.of(type), minibatch_->layers[l].num_destinations[type],
                   &columns->excluded);
    }
  }

  // Takes the edges of layer `l`.
  [[nodiscard]] Status AddBlocks(size_t l, std::span<ExtractedEdges> answers) {
    SampledLayer& sampled = minibatch_->layers[l];
    sampled.blocks.resize(RulesOf(l).size());
    size_t answer = 0;
    for (size_t r = 0; r < sampled.blocks.size(); ++r) {
      const auto& [relation, rule] = RulesOf(l)[r];
      Block& block = sampled.blocks[r];
      Clear(relation, DestinationsOf(l, relation).size(), &block);
      if (rule.nothing()) continue;
      if (answer == answers.size()) return Internal("edges of {} groups are missing", r);
      const ExtractedEdges& edges = answers[answer++];
      HG_RETURN_IF_ERROR(CheckEdges(schema_, relation, DestinationsOf(l, relation).size(),
                                    columns_[r].ids.size(),
                                    {request_.edge_ids, WantsSourceDegrees(relation)}, edges));
      FillBlock(rule, columns_[r], edges, &block);
      if (WantsSourceDegrees(relation)) {
        block.degrees.resize(sampled.num_sources[schema_.SourceType(relation)]);
        HG_RETURN_IF_ERROR(AddSourceDegrees(columns_[r], edges, &block));
      }
      minibatch_->sampled_edges += std::ssize(block.indices);
    }
    return OkStatus();
  }

  static void Clear(int relation, size_t destinations, Block* block) {
    block->relation = relation;
    block->indptr.assign(destinations + 1, 0);
    block->indices.clear();
    block->edge_ids.clear();
    block->weights.clear();
    block->coefficients.clear();
    block->degrees.clear();
  }

  // Of a cleared block of checked edges.
  static void FillBlock(const DrawRule& rule, const AskedColumns& columns,
                        const ExtractedEdges& edges, Block* block) {
    auto row = columns.excluded.begin();
    for (size_t i = 0; i + 1 < block->indptr.size(); ++i) {
      while (row != columns.excluded.end() && row->destination < static_cast<int64_t>(i)) ++row;
      const bool leaves_out =
          row != columns.excluded.end() && row->destination == static_cast<int64_t>(i);
      int64_t degree = edges.degrees[i];
      double sum = 0;
      for (int64_t e = edges.offsets[i]; e < edges.offsets[i + 1]; ++e) {
        const int32_t column = edges.columns[e];
        if (leaves_out &&
            std::binary_search(row->sources.begin(), row->sources.end(), columns.ids[column])) {
          --degree;
          continue;
        }
        if (columns.positions[column] < 0) continue;
        block->indices.push_back(columns.positions[column]);
        block->coefficients.push_back(static_cast<float>(columns.weights[column]));
        if (!edges.edge_ids.empty()) block->edge_ids.push_back(edges.edge_ids[e]);
        sum += columns.weights[column];
      }
      if (rule.estimate == LayerEstimate::kNormalized && sum > 0) {
        const double factor = static_cast<double>(degree) / sum;
        for (size_t e = block->indptr[i]; e < block->coefficients.size(); ++e) {
          block->coefficients[e] = static_cast<float>(block->coefficients[e] * factor);
        }
      }
      block->indptr[i + 1] = std::ssize(block->indices);
      block->degrees.push_back(static_cast<float>(degree));
    }
  }

  // Of those behind the destinations, whose degrees are there.
  [[nodiscard]] Status AddSourceDegrees(const AskedColumns& columns, const ExtractedEdges& edges,
                                        Block* block) const {
    const int64_t destinations = std::ssize(block->indptr) - 1;
    for (size_t c = 0; c < columns.ids.size(); ++c) {
      if (columns.positions[c] < destinations) continue;
      if (edges.column_degrees[c] < 0) {
        return Internal("nobody answered the in-degree of node {} in '{}'", columns.ids[c],
                        schema_.relations[block->relation].triple());
      }
      block->degrees[columns.positions[c]] = static_cast<float>(edges.column_degrees[c]);
    }
    return OkStatus();
  }

  const Schema& schema_;
  const SampleRequest& request_;
  MinibatchLists lists_;
  Minibatch* const minibatch_;
  const std::vector<ExcludedEdges> excluded_;
  bool begun_ = false;
  size_t layer_ = 0;                   // whose nodes are to be drawn; the edges of that before are
                                       // asked for
  std::vector<AskedColumns> columns_;  // of that layer, by its relations
  // Of one relation at a time; their memory is reused.
  ColumnSums candidates_;
  CandidateSums sums_;
  LayerWiseDrawer drawer_;
  LayerWisePicks picks_;
  std::vector<int64_t> drawn_;
  std::vector<int32_t> positions_;
};

}  // namespace

std::unique_ptr<MinibatchMaker> MakeLayerWise(const MakerPlace& place) {
  return std::make_unique<LayerWiseMaker>(place);
}

}  // namespace halograph
