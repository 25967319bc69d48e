#include "common/sampling/minibatch_builder.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "common/sampling/no_memory.h"
#include "common/sampling/weighted_picks.h"

namespace halograph {
namespace {

constexpr int64_t kMaxListLength = std::numeric_limits<int32_t>::max();

// The unique nodes of one type, in order of first appearance.
class NodeList {
 public:
  explicit NodeList(const NodeType& type) : type_(&type) {}

  // Position of `id`, appended if new. Wraps beyond kMaxListLength: see CheckLength.
  int32_t Add(int64_t id) {
    const auto [entry, added] = positions_.try_emplace(id, static_cast<int32_t>(ids_.size()));
    if (added) ids_.push_back(id);
    return entry->second;
  }

  // Before adding at most `more` ids: one rehash instead of several.
  void Reserve(int64_t more) {
    positions_.reserve(static_cast<size_t>(std::min(size() + more, type_->count)));
  }

  // After adding: whether every position fitted.
  [[nodiscard]] Status CheckLength() const {
    if (size() <= kMaxListLength) return OkStatus();
    return ResourceExhausted(
        "the minibatch has {} nodes of type '{}', more than the {} that a block can number; use a "
        "smaller batch or smaller fanouts",
        size(), type_->name, kMaxListLength);
  }

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(ids_.size()); }
  [[nodiscard]] std::span<const int64_t> first(int64_t n) const {
    return std::span(ids_).first(static_cast<size_t>(n));
  }
  [[nodiscard]] std::vector<int64_t> Take() { return std::move(ids_); }

 private:
  const NodeType* type_;
  std::vector<int64_t> ids_;
  absl::flat_hash_map<int64_t, int32_t> positions_;
};

class Builder {
 public:
  Builder(const Schema& schema, const SampleRequest& request, NeighborSource& source)
      : schema_(schema), request_(request), source_(source) {
    for (const NodeType& type : schema.node_types) lists_.emplace_back(type);
  }

  [[nodiscard]] StatusOr<Minibatch> Build() {
    NodeList& list = lists_[request_.seed_type];
    list.Reserve(static_cast<int64_t>(request_.seeds.size()));
    result_.seed_positions.reserve(request_.seeds.size());
    for (const int64_t seed : request_.seeds) result_.seed_positions.push_back(list.Add(seed));
    HG_RETURN_IF_ERROR(list.CheckLength());
    for (size_t l = 0; l < request_.spec->layers.size(); ++l) {
      HG_RETURN_IF_ERROR(AddLayer(static_cast<int>(l), request_.spec->layers[l]));
    }
    for (NodeList& nodes : lists_) result_.nodes.push_back(nodes.Take());
    return std::move(result_);
  }

 private:
  [[nodiscard]] Status AddLayer(int layer, const std::vector<RelationFanout>& fanouts) {
    SampledLayer sampled;
    sampled.num_destinations = ListSizes();
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
                        .destinations = lists_[type].first(sampled.num_destinations[type])});
    }
    picks_.resize(groups.size());
    HG_RETURN_IF_ERROR(
        source_.SampleLayer(layer, request_.batch_seed, request_.spec->replace, groups, &picks_));
    HG_RETURN_IF_ERROR(CheckPicks(groups));
    // Only now may the lists grow: groups point into them.
    for (size_t g = 0; g < groups.size(); ++g) {
      HG_RETURN_IF_ERROR(AddBlock(groups[g].relation, &picks_[g], &sampled));
    }
    sampled.num_sources = ListSizes();
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
    NodeList& list = lists_[schema_.SourceType(relation)];
    list.Reserve(picks->size());
    Block block;
    block.relation = relation;
    block.indices.reserve(picks->sources.size());
    for (const int64_t source : picks->sources) block.indices.push_back(list.Add(source));
    HG_RETURN_IF_ERROR(list.CheckLength());
    block.indptr = std::move(picks->offsets);
    result_.sampled_edges += picks->size();
    sampled->blocks.push_back(std::move(block));
    return OkStatus();
  }

  [[nodiscard]] std::vector<int64_t> ListSizes() const {
    std::vector<int64_t> sizes;
    for (const NodeList& list : lists_) sizes.push_back(list.size());
    return sizes;
  }

  const Schema& schema_;
  const SampleRequest& request_;
  NeighborSource& source_;
  std::vector<NodeList> lists_;       // per node type
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
    SampleNeighbors(draws, group.destinations, pool_, &(*picks)[g]);
  }
  return OkStatus();
}

StatusOr<Minibatch> BuildMinibatch(const Schema& schema, const SampleRequest& request,
                                   NeighborSource& source) {
  HG_RETURN_IF_ERROR(ValidateRequest(schema, request));
  return CatchNoMemory(std::ssize(request.seeds), "seeds",
                       [&] { return Builder(schema, request, source).Build(); });
}

}  // namespace halograph
