#include "common/sampling/fused_sampler.h"

#include <limits>
#include <optional>

#include "common/sampling/fused_layer.h"
#include "common/sampling/no_memory.h"
#include "common/sampling/weighted_picks.h"

namespace halograph {
namespace {

class FusedRun {
 public:
  FusedRun(const Schema& schema, const Topology& topology, const SampleRequest& request,
           FusedWorkspace* workspace, Minibatch* minibatch)
      : schema_(schema),
        topology_(topology),
        request_(request),
        workspace_(workspace),
        minibatch_(minibatch) {}

  [[nodiscard]] Status Run(const FusedSampler::LayerCheck& check) {
    for (FusedNodes& nodes : workspace_->nodes) nodes.Restart();
    minibatch_->sampled_edges = 0;
    HG_RETURN_IF_ERROR(AddSeeds());
    const auto& layers = request_.spec->layers;
    minibatch_->layers.resize(layers.size());
    for (size_t l = 0; l < layers.size(); ++l) {
      if (check) HG_RETURN_IF_ERROR(check());
      HG_RETURN_IF_ERROR(AddLayer(static_cast<int>(l), layers[l], &minibatch_->layers[l]));
    }
    minibatch_->nodes.resize(workspace_->nodes.size());
    for (size_t t = 0; t < workspace_->nodes.size(); ++t) {
      const FusedNodes& nodes = workspace_->nodes[t];
      minibatch_->nodes[t].assign(nodes.ids.data(), nodes.ids.data() + nodes.size);
    }
    return OkStatus();
  }

 private:
  [[nodiscard]] Status AddSeeds() {
    FusedNodes& nodes = workspace_->nodes[request_.seed_type];
    const auto count = static_cast<int64_t>(request_.seeds.size());
    nodes.Reserve(count + 1);
    minibatch_->seed_positions.resize(request_.seeds.size());
    nodes.size = std::visit(
        [&](auto& map) {
          return map.FindOrAppend(request_.seeds.data(), count, nodes.ids.data(), nodes.size,
                                  minibatch_->seed_positions.data());
        },
        nodes.map);
    return CheckLength(request_.seed_type);
  }

  [[nodiscard]] Status AddLayer(int layer, const std::vector<RelationFanout>& fanouts,
                                SampledLayer* sampled) {
    GetSizes(&sampled->num_destinations);
    sampled->blocks.resize(fanouts.size());
    for (size_t g = 0; g < fanouts.size(); ++g) {
      const auto [relation, fanout] = fanouts[g];
      const int type = schema_.DestinationType(relation);
      FusedLayerTask task{
          .draws = {.topology = &topology_[relation],
                    .fanout = fanout,
                    .replace = request_.spec->replace,
                    .layer_key = LayerKey(request_.batch_seed, layer,
                                          static_cast<int>(schema_.relations.size()), relation)},
          .destination_type = type,
          .source_type = schema_.SourceType(relation),
          .num_destinations = sampled->num_destinations[type]};
      std::optional<WeightedPicks> weighted;
      if (const int weight = SamplingWeightOf(schema_, *request_.spec, fanouts[g]); weight >= 0) {
        weighted.emplace(topology_[relation], weight, fanout, task.draws.replace);
        task.draws.drawer = &*weighted;
      }
      Block* const block = &sampled->blocks[g];
      block->relation = relation;
      if (!SampleFusedLayer(task, workspace_, block)) return CheckLength(task.source_type);
      minibatch_->sampled_edges += static_cast<int64_t>(block->indices.size());
    }
    GetSizes(&sampled->num_sources);
    return OkStatus();
  }

  void GetSizes(std::vector<int64_t>* sizes) const {
    sizes->clear();
    for (const FusedNodes& nodes : workspace_->nodes) sizes->push_back(nodes.size);
  }

  [[nodiscard]] Status CheckLength(int type) const {
    constexpr int64_t kMaxListLength = std::numeric_limits<int32_t>::max();
    const int64_t size = workspace_->nodes[type].size;
    if (size <= kMaxListLength) return OkStatus();
    return ResourceExhausted(
        "the minibatch has {} nodes of type '{}' or more; a block can number {}: use a smaller "
        "batch or smaller fanouts",
        size, schema_.node_types[type].name, kMaxListLength);
  }

  const Schema& schema_;
  const Topology& topology_;
  const SampleRequest& request_;
  FusedWorkspace* workspace_;
  Minibatch* minibatch_;
};

}  // namespace

Status FusedSampler::Sample(const SampleRequest& request, FusedWorkspace* workspace,
                            Minibatch* minibatch, const LayerCheck& check) const {
  HG_RETURN_IF_ERROR(ValidateRequest(*schema_, request));
  return CatchNoMemory(std::ssize(request.seeds), "seeds", [&] {
    return FusedRun(*schema_, *topology_, request, workspace, minibatch).Run(check);
  });
}

}  // namespace halograph
