// Minibatches of layer-wise draws (SAMPLING.md, "Layer-wise draws"). A layer's nodes are known as
// soon as its column sums are: so its edges are asked for together with the sums of the next layer,
// and a minibatch takes one exchange more than it has layers. Draws by out-degrees wait for
// nothing, so the edges of all layers are asked for at once.
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
        excluded_(place.request.exclude.begin(), place.request.exclude.end()),
        out_degrees_(place.out_degrees),
        by_out_degrees_(place.request.spec->kind() == DrawKind::kFastGcn) {}

  StatusOr<bool> Next(const AnswerSpans& answers, TopologyQuestions* questions) override {
    if (!begun_) {
      HG_RETURN_IF_ERROR(Begin());
    } else {
      std::span<ExtractedEdges> edges = answers.edges;
      for (; taken_ < drawn_; ++taken_) HG_RETURN_IF_ERROR(AddBlocks(taken_, &edges));
      if (drawn_ < layers()) HG_RETURN_IF_ERROR(DrawLayer(drawn_++, answers.sums));
    }
    while (drawn_ < layers()) {
      lists_.GetSizes(&minibatch_->layers[drawn_].num_destinations);
      if (!by_out_degrees_) break;
      HG_RETURN_IF_ERROR(DrawLayer(drawn_++, {}));
    }
    if (taken_ == layers()) {
      lists_.CopyTo(&minibatch_->nodes);
      return false;
    }
    if (drawn_ < layers()) AskSums(drawn_, &questions->sums);
    for (size_t l = taken_; l < drawn_; ++l) AskEdges(l, &questions->edges);
    return true;
  }

 private:
  [[nodiscard]] Status Begin() {
    begun_ = true;
    minibatch_->sampled_edges = 0;
    minibatch_->node_weights.clear();
    minibatch_->layers.resize(request_.spec->layers.size());
    columns_.resize(layers());
    return lists_.AddSeeds(request_, &minibatch_->seed_positions);
  }
  [[nodiscard]] size_t layers() const { return minibatch_->layers.size(); }
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
                         .columns = columns_[l][r].ids});
    }
  }

  // Draws the nodes of layer `l` and appends them to their lists as they were picked.
  [[nodiscard]] Status DrawLayer(size_t l, std::span<ColumnSums> sums) {
    columns_[l].resize(RulesOf(l).size());
    size_t answer = 0;
    for (size_t r = 0; r < columns_[l].size(); ++r) {
      const auto& [relation, rule] = RulesOf(l)[r];
      if (rule.nothing()) continue;
      const uint64_t layer_key = LayerKey(request_.batch_seed, static_cast<int>(l),
                                          static_cast<int>(schema_.relations.size()), relation);
      if (by_out_degrees_) {
        HG_RETURN_IF_ERROR(PickByOutDegrees(rule, relation, ColumnKey(layer_key)));
      } else {
        if (answer == sums.size()) return Internal("column sums of {} groups are missing", r);
        HG_RETURN_IF_ERROR(Pick(rule, relation, sums[answer++], ColumnKey(layer_key)));
      }
      HG_RETURN_IF_ERROR(TakePicks(l, relation, &columns_[l][r]));
    }
    lists_.GetSizes(&minibatch_->layers[l].num_sources);
    return OkStatus();
  }

  // Sets picks_ to the ids and weights of what is drawn of candidates.
  [[nodiscard]] Status Pick(const DrawRule& rule, int relation, ColumnSums& answer,
                            uint64_t column_key) {
    HG_RETURN_IF_ERROR(CheckColumnSums(schema_.relations[relation].triple(), SourceNodes(relation),
                                       {answer.sources, answer.sums}));
    std::swap(candidates_, answer);  // memory, too
    HG_RETURN_IF_ERROR(MakeWeights(rule.probability, candidates_.sums));
    sums_.Reset(std::span<const uint64_t>(candidates_.sums));
    HG_RETURN_IF_ERROR(DrawOf(rule, sums_, column_key));
    for (int64_t& position : picks_.positions) position = candidates_.sources[position];
    return OkStatus();
  }
  [[nodiscard]] Status PickByOutDegrees(const DrawRule& rule, int relation, uint64_t column_key) {
    const auto table = out_degrees_.Find(relation);
    if (table == nullptr) return Internal("out-degrees of relation {} are missing", relation);
    return DrawOf(rule, table->sums, column_key);
  }
  [[nodiscard]] Status DrawOf(const DrawRule& rule, const CandidateSums& sums,
                              uint64_t column_key) {
    const bool all = rule.fanout == kFullNeighborhood;
    return drawer_.Draw(sums, all ? sums.num_candidates() : rule.fanout, column_key, &picks_);
  }

  [[nodiscard]] Status TakePicks(size_t l, int relation, AskedColumns* columns) {
    FusedNodes& list = lists_.of(schema_.SourceType(relation));
    const std::vector<int64_t>& drawn = picks_.positions;  // by now ids
    positions_.clear();
    if (!list.Compact(drawn, &positions_)) {
      return UnknownNode(schema_, relation, list.UnknownIn(drawn));
    }
    HG_RETURN_IF_ERROR(lists_.CheckLength(schema_.SourceType(relation)));
    FindExcluded(l, relation, columns);
    columns->ids = drawn;
    for (const ExcludedRow& row : columns->excluded) {
      columns->ids.insert(columns->ids.end(), row.sources.begin(), row.sources.end());
    }
    std::sort(columns->ids.begin(), columns->ids.end());
    columns->ids.erase(std::unique(columns->ids.begin(), columns->ids.end()), columns->ids.end());
    columns->positions.assign(columns->ids.size(), -1);
    columns->weights.assign(columns->ids.size(), 0);
    for (size_t i = 0; i < drawn.size(); ++i) {
      const auto at = std::lower_bound(columns->ids.begin(), columns->ids.end(), drawn[i]);
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

  // Takes the edges of layer `l` from the front of the answers.
  [[nodiscard]] Status AddBlocks(size_t l, std::span<ExtractedEdges>* answers) {
    SampledLayer& sampled = minibatch_->layers[l];
    sampled.blocks.resize(RulesOf(l).size());
    for (size_t r = 0; r < sampled.blocks.size(); ++r) {
      const auto& [relation, rule] = RulesOf(l)[r];
      Block& block = sampled.blocks[r];
      Clear(relation, DestinationsOf(l, relation).size(), &block);
      if (rule.nothing()) continue;
      if (answers->empty()) return Internal("edges of {} groups are missing", r);
      const ExtractedEdges& edges = answers->front();
      *answers = answers->subspan(1);
      HG_RETURN_IF_ERROR(CheckEdges(schema_, relation, DestinationsOf(l, relation).size(),
                                    columns_[l][r].ids.size(),
                                    {request_.edge_ids, WantsSourceDegrees(relation)}, edges));
      FillBlock(rule, columns_[l][r], edges, &block);
      if (WantsSourceDegrees(relation)) {
        block.degrees.resize(sampled.num_sources[schema_.SourceType(relation)]);
        HG_RETURN_IF_ERROR(AddSourceDegrees(columns_[l][r], edges, &block));
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
  const OutDegreeTables& out_degrees_;
  const bool by_out_degrees_;
  bool begun_ = false;
  size_t taken_ = 0;  // layers whose edges are there
  size_t drawn_ = 0;  // layers whose nodes are drawn; of those behind `taken_` edges are asked for
  std::vector<std::vector<AskedColumns>> columns_;  // by layer and relation
  // Of one relation at a time; their memory is reused.
  ColumnSums candidates_;
  CandidateSums sums_;
  LayerWiseDrawer drawer_;
  LayerWisePicks picks_;
  std::vector<int32_t> positions_;
};

}  // namespace

std::unique_ptr<MinibatchMaker> MakeLayerWise(const MakerPlace& place) {
  return std::make_unique<LayerWiseMaker>(place);
}

}  // namespace halograph
