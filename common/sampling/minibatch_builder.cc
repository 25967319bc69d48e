#include "common/sampling/minibatch_builder.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "common/sampling/excluded_edges.h"
#include "common/sampling/one_layer.h"
#include "common/sampling/weighted_picks.h"

namespace halograph {
namespace {

// One minibatch in the making.
class Builder {
 public:
  Builder(const Schema& schema, const SampleRequest& request, FusedWorkspace* workspace,
          Minibatch* minibatch)
      : schema_(schema),
        request_(request),
        lists_(&schema, workspace),
        minibatch_(minibatch),
        excluded_(request.exclude.begin(), request.exclude.end()) {}

  [[nodiscard]] size_t layers() const { return request_.spec->layers.size(); }

  [[nodiscard]] Status Begin() {
    minibatch_->sampled_edges = 0;
    minibatch_->layers.resize(layers());
    return lists_.AddSeeds(request_, &minibatch_->seed_positions);
  }

  // Appends what layer `l` asks for. The groups point into the lists until AddBlocks.
  void AddGroups(size_t l, std::vector<LayerGroup>* groups) {
    SampledLayer& sampled = minibatch_->layers[l];
    lists_.GetSizes(&sampled.num_destinations);
    for (const RelationFanout& wanted : request_.spec->layers[l]) {
      const auto [relation, fanout] = wanted;
      const int type = schema_.DestinationType(relation);
      const int weight = SamplingWeightOf(schema_, *request_.spec, wanted);
      groups->push_back({.relation = relation,
                         .fanout = fanout,
                         .replace = request_.spec->replace,
                         .weight = weight,
                         .batch_seed = request_.batch_seed,
                         .layer = static_cast<int>(l),
                         .edge_ids = request_.edge_ids,
                         .weights = request_.weights && weight >= 0,
                         .destinations = {lists_.of(type).ids.data(),
                                          static_cast<size_t>(sampled.num_destinations[type])}});
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

  void End() { lists_.CopyTo(&minibatch_->nodes); }

 private:
  // Memory is swapped, not copied: the picks get the block's to fill next.
  [[nodiscard]] Status FillBlock(const SampledLayer& sampled, NeighborPicks* picks, Block* block) {
    const int type = schema_.SourceType(block->relation);
    std::swap(block->indptr, picks->offsets);
    std::swap(block->edge_ids, picks->edge_ids);
    std::swap(block->weights, picks->weights);
    picks->edge_ids.clear();
    picks->weights.clear();
    block->indices.clear();
    HG_RETURN_IF_ERROR(LeaveOut(sampled, picks, block));
    if (!lists_.of(type).Compact(picks->sources, &block->indices)) {
      return Internal("the source answered node {} in '{}', but type '{}' has {} nodes",
                      lists_.of(type).UnknownIn(picks->sources),
                      schema_.relations[block->relation].triple(), schema_.node_types[type].name,
                      schema_.node_types[type].count);
    }
    minibatch_->sampled_edges += picks->size();
    return lists_.CheckLength(type);
  }

  // Removes the excluded edges of an answer, whose offsets are followed here.
  [[nodiscard]] Status LeaveOut(const SampledLayer& sampled, NeighborPicks* picks, Block* block) {
    for (const ExcludedEdges& excluded : excluded_) {
      if (excluded.relation() != block->relation) continue;
      const int type = schema_.DestinationType(block->relation);
      excluded.FindIn(lists_.of(type), sampled.num_destinations[type], &rows_);
      if (rows_.empty()) continue;
      if (block->indptr.front() != 0 ||
          !std::is_sorted(block->indptr.begin(), block->indptr.end())) {
        return Internal("the source answered offsets of '{}' that do not ascend from 0",
                        schema_.relations[block->relation].triple());
      }
      RemoveExcluded(rows_, DrawnEdges<int64_t>{.first = 0,
                                                .ends = std::span(block->indptr).subspan(1),
                                                .sources = &picks->sources,
                                                .edge_ids = &block->edge_ids,
                                                .weights = &block->weights});
    }
    return OkStatus();
  }

  const Schema& schema_;
  const SampleRequest& request_;
  MinibatchLists lists_;
  Minibatch* minibatch_;
  std::vector<ExcludedEdges> excluded_;
  std::vector<ExcludedRow> rows_;  // of one relation and layer
};

[[nodiscard]] Status CheckPicks(const Schema& schema, std::span<const LayerGroup> groups,
                                std::span<const NeighborPicks> answers) {
  if (answers.size() != groups.size()) {
    return Internal("the source answered {} groups of {}", answers.size(), groups.size());
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    const NeighborPicks& picks = answers[g];
    const auto expected = [&](bool asked) { return asked ? picks.sources.size() : 0; };
    if (picks.offsets.size() == groups[g].destinations.size() + 1 &&
        picks.offsets.back() == picks.size() &&
        picks.edge_ids.size() == expected(groups[g].edge_ids) &&
        picks.weights.size() == expected(groups[g].weights)) {
      continue;
    }
    return Internal(
        "the source answered {} offsets, {} sources, {} edge ids and {} weights for {} "
        "destinations of '{}'",
        picks.offsets.size(), picks.size(), picks.edge_ids.size(), picks.weights.size(),
        groups[g].destinations.size(), schema.relations[groups[g].relation].triple());
  }
  return OkStatus();
}

// Valid requests, at most kMinibatchesTogether.
[[nodiscard]] Status BuildTogether(const Schema& schema, std::span<const SampleRequest> requests,
                                   NeighborSource& source, BuilderWorkspaces* workspaces,
                                   std::span<Minibatch> minibatches, const WorkLimits& limits) {
  HG_ASSIGN_OR_RETURN(const auto leases,
                      workspaces->Take(static_cast<int>(requests.size()), limits));
  std::vector<Builder> builders;
  builders.reserve(requests.size());
  size_t layers = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    builders.emplace_back(schema, requests[i], &*leases[i], &minibatches[i]);
    HG_RETURN_IF_ERROR(builders.back().Begin());
    layers = std::max(layers, builders.back().layers());
  }
  std::vector<LayerGroup> groups;
  std::vector<NeighborPicks> picks;  // reused over layers
  for (size_t l = 0; l < layers; ++l) {
    groups.clear();
    std::vector<size_t> ends;  // of each minibatch's groups
    for (Builder& builder : builders) {
      if (l < builder.layers()) builder.AddGroups(l, &groups);
      ends.push_back(groups.size());
    }
    picks.resize(groups.size());
    HG_RETURN_IF_ERROR(source.SampleLayer(groups, &picks));
    HG_RETURN_IF_ERROR(CheckPicks(schema, groups, picks));
    for (size_t i = 0, begin = 0; i < builders.size(); begin = ends[i++]) {
      if (l >= builders[i].layers()) continue;
      HG_RETURN_IF_ERROR(
          builders[i].AddBlocks(l, std::span(picks).subspan(begin, ends[i] - begin)));
    }
  }
  for (Builder& builder : builders) builder.End();
  return OkStatus();
}

}  // namespace

Status LocalNeighborSource::SampleLayer(std::span<const LayerGroup> groups,
                                        std::vector<NeighborPicks>* picks) {
  picks->resize(groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    const LayerGroup& group = groups[g];
    LayerDraws draws{.topology = &(*topology_)[group.relation],
                     .fanout = group.fanout,
                     .replace = group.replace,
                     .layer_key = LayerKey(group.batch_seed, group.layer,
                                           static_cast<int>(topology_->size()), group.relation),
                     .edge_ids = group.edge_ids};
    std::optional<WeightedPicks> weighted;
    if (group.weight >= 0) {
      weighted.emplace(*draws.topology, group.weight, group.fanout, group.replace);
      draws.drawer = &*weighted;
      if (group.weights) draws.weights = group.weight;
    }
    const FusedOutcome outcome = SampleNeighbors(draws, group.destinations, pool_, &(*picks)[g]);
    if (!outcome.done()) return DamageOf(outcome, fmt::format("relation {}", group.relation));
  }
  return OkStatus();
}

Status BuildMinibatches(const Schema& schema, std::span<const SampleRequest> requests,
                        NeighborSource& source, BuilderWorkspaces* workspaces,
                        std::span<Minibatch> minibatches, const WorkLimits& limits) {
  assert(requests.size() == minibatches.size());
  HG_RETURN_IF_ERROR(ValidateRequests(schema, requests));
  return CatchNoMemory(CountSeeds(requests), "seeds", [&]() -> Status {
    for (size_t begin = 0; begin < requests.size(); begin += kMinibatchesTogether) {
      const size_t size = std::min<size_t>(kMinibatchesTogether, requests.size() - begin);
      HG_RETURN_IF_ERROR(BuildTogether(schema, requests.subspan(begin, size), source, workspaces,
                                       minibatches.subspan(begin, size), limits));
    }
    return OkStatus();
  });
}

}  // namespace halograph
