#include "common/sampling/request.h"

#include "common/base/rng.h"

namespace halograph {

SamplingSpec SamplingSpec::Uniform(const Schema& schema, std::span<const int32_t> fanouts,
                                   bool replace) {
  SamplingSpec spec;
  spec.replace = replace;
  for (const int32_t fanout : fanouts) {
    std::vector<RelationFanout>& layer = spec.layers.emplace_back();
    for (int r = 0; r < static_cast<int>(schema.relations.size()); ++r) {
      layer.push_back({.relation = r, .fanout = fanout});
    }
  }
  return spec;
}

Status ValidateFanout(int32_t fanout) {
  if (fanout >= kFullNeighborhood && fanout <= kMaxFanout) return OkStatus();
  return OutOfRange("fanout {} is outside [-1, {}]; -1 takes every in-edge", fanout, kMaxFanout);
}

namespace {

Status ValidateLayer(const Schema& schema, size_t layer, const std::vector<RelationFanout>& fanouts,
                     const std::string& weight) {
  const int relations = static_cast<int>(schema.relations.size());
  int before = -1;
  for (const auto& [relation, fanout] : fanouts) {
    if (relation < 0 || relation >= relations) {
      return InvalidArgument("layer {}: relation {} is unknown; the graph has {}", layer, relation,
                             relations);
    }
    if (relation <= before) {
      return InvalidArgument("layer {}: relation {} after {}; relations must ascend", layer,
                             relation, before);
    }
    before = relation;
    if (const Status valid = ValidateFanout(fanout); !valid.ok()) {
      return OutOfRange("layer {}, relation '{}': {}", layer, schema.relations[relation].triple(),
                        Message(valid));
    }
    if (!weight.empty() && fanout != 0) {
      HG_RETURN_IF_ERROR(FindSamplingWeight(schema, relation, weight).status());
    }
  }
  return OkStatus();
}

}  // namespace

Status ValidateRequest(const Schema& schema, const SampleRequest& request) {
  if (request.spec == nullptr || request.spec->layers.empty()) {
    return InvalidArgument("the request has no layer to sample");
  }
  if (request.seed_type < 0 || request.seed_type >= static_cast<int>(schema.node_types.size())) {
    return InvalidArgument("seed node type {} is unknown; the graph has {}", request.seed_type,
                           schema.node_types.size());
  }
  for (size_t l = 0; l < request.spec->layers.size(); ++l) {
    HG_RETURN_IF_ERROR(ValidateLayer(schema, l, request.spec->layers[l], request.spec->weight));
  }
  const NodeType& type = schema.node_types[request.seed_type];
  for (size_t i = 0; i < request.seeds.size(); ++i) {
    if (request.seeds[i] < 0 || request.seeds[i] >= type.count) {
      return OutOfRange("seed {} at position {} is outside node type '{}' of {} nodes",
                        request.seeds[i], i, type.name, type.count);
    }
  }
  return OkStatus();
}

StatusOr<int> FindSamplingWeight(const Schema& schema, int relation, std::string_view weight) {
  const Relation& of = schema.relations[relation];
  std::string drawable;
  bool is_feature = false;
  for (size_t f = 0; f < of.features.size(); ++f) {
    const TensorSpec& feature = of.features[f];
    if (feature.sampling && feature.name == weight) return static_cast<int>(f);
    is_feature |= feature.name == weight;
    if (feature.sampling) drawable += (drawable.empty() ? "'" : ", '") + feature.name + "'";
  }
  return NotFound(
      "relation '{}' cannot be sampled by '{}': {}, and it has tables by {}; partition with "
      "--sampling-weights {}, use one that is there, or fanout 0",
      of.triple(), weight, is_feature ? "the feature has no tables" : "it has no such feature",
      drawable.empty() ? "none" : drawable, weight);
}

int SamplingWeightOf(const Schema& schema, const SamplingSpec& spec, const RelationFanout& fanout) {
  if (spec.weight.empty() || fanout.fanout == 0) return -1;
  return *FindSamplingWeight(schema, fanout.relation, spec.weight);
}

uint64_t LayerKey(uint64_t batch_seed, int layer, int num_relations, int relation) {
  const auto counter = static_cast<uint64_t>(layer) * static_cast<uint64_t>(num_relations) +
                       static_cast<uint64_t>(relation);
  return SubKey(Mix(batch_seed), counter);
}

uint64_t BatchSeed(uint64_t seed, BatchPurpose purpose, uint64_t epoch, uint64_t step,
                   uint64_t world_size, uint64_t rank) {
  const uint64_t of_purpose = SubKey(Mix(seed), static_cast<uint64_t>(purpose));
  return SubKey(SubKey(of_purpose, epoch), step * world_size + rank);
}

}  // namespace halograph
