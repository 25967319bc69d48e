#include "common/sampling/minibatch_builder.h"

#include <optional>

#include "common/sampling/kernel.h"
#include "common/sampling/minibatch_lists.h"
#include "common/sampling/no_memory.h"
#include "common/sampling/weighted_picks.h"

namespace halograph {
namespace {

class Builder {
 public:
  Builder(const Schema& schema, const SampleRequest& request, NeighborSource& source,
          FusedWorkspace* workspace)
      : schema_(schema), request_(request), source_(source), lists_(&schema, workspace) {}

  [[nodiscard]] StatusOr<Minibatch> Build() {
    HG_RETURN_IF_ERROR(lists_.AddSeeds(request_, &result_.seed_positions));
    for (size_t l = 0; l < request_.spec->layers.size(); ++l) {
      HG_RETURN_IF_ERROR(AddLayer(static_cast<int>(l), request_.spec->layers[l]));
    }
    lists_.CopyTo(&result_.nodes);
    return std::move(result_);
  }

 private:
  [[nodiscard]] Status AddLayer(int layer, const std::vector<RelationFanout>& fanouts) {
    SampledLayer sampled;
    lists_.GetSizes(&sampled.num_destinations);
    std::vector<LayerGroup> groups;
    groups.reserve(fanouts.size());
    for (const RelationFanout& wanted : fanouts) {
      const auto [relation, fanout] = wanted;
      const int type = schema_.DestinationType(relation);
      groups.push_back({.relation = relation,
                        .fanout = fanout,
                        .weight = SamplingWeightOf(schema_, *request_.spec, wanted),
                        .layer_key = LayerKey(request_.batch_seed, layer,
                                              static_cast<int>(schema_.relations.size()), relation),
                        .destinations = {lists_.of(type).ids.data(),
                                         static_cast<size_t>(sampled.num_destinations[type])}});
    }
    picks_.resize(groups.size());
    HG_RETURN_IF_ERROR(
        source_.SampleLayer(layer, request_.batch_seed, request_.spec->replace, groups, &picks_));
    HG_RETURN_IF_ERROR(CheckPicks(groups));
    // Only now may the lists grow: groups point into them.
    for (size_t g = 0; g < groups.size(); ++g) {
      HG_RETURN_IF_ERROR(AddBlock(groups[g].relation, &picks_[g], &sampled));
    }
    lists_.GetSizes(&sampled.num_sources);
    result_.layers.push_back(std::move(sampled));
    return OkStatus();
  }

  [[nodiscard]] Status CheckPicks(std::span<const LayerGroup> groups) const {
    if (picks_.size() != groups.size()) {
      return Internal("the source answered {} groups of {}", picks_.size(), groups.size());
    }
    for (size_t g = 0; g < groups.size(); ++g) {
      const NeighborPicks& picks = picks_[g];
      if (picks.offsets.size() != groups[g].destinations.size() + 1 ||
          picks.offsets.back() != picks.size()) {
        return Internal("the source answered {} offsets and {} sources for {} destinations of '{}'",
                        picks.offsets.size(), picks.size(), groups[g].destinations.size(),
                        schema_.relations[groups[g].relation].triple());
      }
    }
    return OkStatus();
  }

  [[nodiscard]] Status AddBlock(int relation, NeighborPicks* picks, SampledLayer* sampled) {
    const int type = schema_.SourceType(relation);
    Block block{.relation = relation, .indptr = std::move(picks->offsets), .indices = {}};
    if (!lists_.of(type).Compact(picks->sources, &block.indices)) {
      return Internal("the source answered node {} in '{}', but type '{}' has {} nodes",
                      lists_.of(type).UnknownIn(picks->sources),
                      schema_.relations[relation].triple(), schema_.node_types[type].name,
                      schema_.node_types[type].count);
    }
    HG_RETURN_IF_ERROR(lists_.CheckLength(type));
    result_.sampled_edges += picks->size();
    sampled->blocks.push_back(std::move(block));
    return OkStatus();
  }

  const Schema& schema_;
  const SampleRequest& request_;
  NeighborSource& source_;
  MinibatchLists lists_;
  std::vector<NeighborPicks> picks_;  // reused over layers
  Minibatch result_;
};

}  // namespace

Status LocalNeighborSource::SampleLayer(int, uint64_t, bool replace,
                                        std::span<const LayerGroup> groups,
                                        std::vector<NeighborPicks>* picks) {
  picks->resize(groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    const LayerGroup& group = groups[g];
    LayerDraws draws{.topology = &(*topology_)[group.relation],
                     .fanout = group.fanout,
                     .replace = replace,
                     .layer_key = group.layer_key};
    std::optional<WeightedPicks> weighted;
    if (group.weight >= 0) {
      weighted.emplace(*draws.topology, group.weight, group.fanout, replace);
      draws.drawer = &*weighted;
    }
    const FusedOutcome outcome = SampleNeighbors(draws, group.destinations, pool_, &(*picks)[g]);
    if (!outcome.done()) return DamageOf(outcome, fmt::format("relation {}", group.relation));
  }
  return OkStatus();
}

StatusOr<Minibatch> BuildMinibatch(const Schema& schema, const SampleRequest& request,
                                   NeighborSource& source, BuilderWorkspaces* workspaces) {
  HG_RETURN_IF_ERROR(ValidateRequest(schema, request));
  return CatchNoMemory(std::ssize(request.seeds), "seeds", [&] {
    const FusedWorkspacePool::Lease workspace = workspaces->Take();
    return Builder(schema, request, source, &*workspace).Build();
  });
}

}  // namespace halograph
