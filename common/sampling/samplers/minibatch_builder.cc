#include "common/sampling/samplers/minibatch_builder.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "common/sampling/kernel/excluded_edges.h"
#include "common/sampling/kernel/one_layer.h"
#include "common/sampling/samplers/layer_answers.h"

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

  void End() { lists_.CopyTo(&minibatch_->nodes); }

 private:
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
  Minibatch* minibatch_;
  std::vector<ExcludedEdges> excluded_;
};

}  // namespace

Status LocalNeighborSource::SampleLayer(std::span<const LayerGroup> groups,
                                        std::vector<NeighborPicks>* picks) {
  picks->resize(groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    const LayerGroup& group = groups[g];
    const uint64_t layer_key = LayerKey(group.batch_seed, group.layer,
                                        static_cast<int>(topology_->size()), group.relation);
    HG_ASSIGN_OR_RETURN(const LayerDraws draws,
                        MakeLayerDraws((*topology_)[group.relation], group.rule, layer_key,
                                       {.edge_ids = group.edge_ids, .weights = group.weights}));
    const FusedOutcome outcome = SampleNeighbors(draws, group.destinations, pool_, &(*picks)[g]);
    if (!outcome.done()) return DamageOf(outcome, fmt::format("relation {}", group.relation));
  }
  return OkStatus();
}

// Minibatches that are made together: of valid requests, at most kMinibatchesTogether.
class MinibatchesInMaking::Together {
 public:
  Together(const Schema& schema, std::vector<FusedWorkspacePool::Lease> leases)
      : schema_(schema), leases_(std::move(leases)) {}

  [[nodiscard]] Status Begin(std::span<const SampleRequest> requests,
                             std::span<Minibatch> minibatches) {
    builders_.reserve(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      builders_.emplace_back(schema_, requests[i], &*leases_[i], &minibatches[i]);
      HG_RETURN_IF_ERROR(builders_.back().Begin());
      layers_ = std::max(layers_, builders_.back().layers());
    }
    return OkStatus();
  }

  // Asks for the next layer. False: that was the last one, and they are made.
  [[nodiscard]] bool Ask() {
    if (layer_ == layers_) {
      for (Builder& builder : builders_) builder.End();
      return false;
    }
    groups_.clear();
    ends_.clear();
    for (Builder& builder : builders_) {
      if (layer_ < builder.layers()) builder.AddGroups(layer_, &groups_);
      ends_.push_back(groups_.size());
    }
    picks_.resize(groups_.size());
    return true;
  }

  [[nodiscard]] Status Take() {
    HG_RETURN_IF_ERROR(CheckAnswers(schema_, groups_, picks_));
    for (size_t i = 0, begin = 0; i < builders_.size(); begin = ends_[i++]) {
      if (layer_ >= builders_[i].layers()) continue;
      HG_RETURN_IF_ERROR(
          builders_[i].AddBlocks(layer_, std::span(picks_).subspan(begin, ends_[i] - begin)));
    }
    ++layer_;
    return OkStatus();
  }

  [[nodiscard]] std::span<const LayerGroup> groups() const { return groups_; }
  [[nodiscard]] std::vector<NeighborPicks>* picks() { return &picks_; }

 private:
  const Schema& schema_;
  const std::vector<FusedWorkspacePool::Lease> leases_;
  std::vector<Builder> builders_;
  size_t layers_ = 0;
  size_t layer_ = 0;  // asked for
  std::vector<LayerGroup> groups_;
  std::vector<size_t> ends_;          // of each minibatch's groups
  std::vector<NeighborPicks> picks_;  // reused over layers
};

MinibatchesInMaking::MinibatchesInMaking(const Schema& schema,
                                         std::span<const SampleRequest> requests,
                                         BuilderWorkspaces* workspaces,
                                         std::span<Minibatch> minibatches, const WorkLimits& limits)
    : schema_(schema),
      requests_(requests),
      workspaces_(workspaces),
      minibatches_(minibatches),
      limits_(limits) {
  assert(requests.size() == minibatches.size());
}

MinibatchesInMaking::~MinibatchesInMaking() = default;

std::span<const LayerGroup> MinibatchesInMaking::groups() const { return together_->groups(); }

std::vector<NeighborPicks>* MinibatchesInMaking::picks() { return together_->picks(); }

StatusOr<bool> MinibatchesInMaking::Next() {
  if (!valid_) HG_RETURN_IF_ERROR(ValidateRequests(schema_, requests_));
  valid_ = true;
  return CatchNoMemory(CountSeeds(requests_), "seeds", [&]() -> StatusOr<bool> {
    if (together_ != nullptr) HG_RETURN_IF_ERROR(together_->Take());
    while (together_ == nullptr || !together_->Ask()) {
      together_.reset();
      if (requests_.empty()) return false;
      const size_t size = std::min<size_t>(kMinibatchesTogether, requests_.size());
      HG_ASSIGN_OR_RETURN(auto leases, workspaces_->Take(static_cast<int>(size), limits_));
      together_ = std::make_unique<Together>(schema_, std::move(leases));
      HG_RETURN_IF_ERROR(together_->Begin(requests_.first(size), minibatches_.first(size)));
      requests_ = requests_.subspan(size);
      minibatches_ = minibatches_.subspan(size);
    }
    return true;
  });
}

Status BuildMinibatches(const Schema& schema, std::span<const SampleRequest> requests,
                        NeighborSource& source, BuilderWorkspaces* workspaces,
                        std::span<Minibatch> minibatches, const WorkLimits& limits) {
  MinibatchesInMaking making(schema, requests, workspaces, minibatches, limits);
  return CatchNoMemory(CountSeeds(requests), "seeds", [&]() -> Status {
    for (;;) {
      HG_ASSIGN_OR_RETURN(const bool asks, making.Next());
      if (!asks) return OkStatus();
      HG_RETURN_IF_ERROR(source.SampleLayer(making.groups(), making.picks()));
    }
  });
}

}  // namespace halograph
