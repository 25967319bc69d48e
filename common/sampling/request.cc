#include "common/sampling/request.h"

#include "common/base/rng.h"
#include "common/graph/owner_split.h"

namespace halograph {

SamplingSpec SamplingSpec::Uniform(const Schema& schema, std::span<const int32_t> fanouts,
                                   bool replace) {
  SamplingSpec spec;
  for (const int32_t fanout : fanouts) {
    std::vector<RelationRule>& layer = spec.layers.emplace_back();
    for (int r = 0; r < static_cast<int>(schema.relations.size()); ++r) {
      layer.push_back(Neighbors(r, fanout, replace));
    }
  }
  return spec;
}

Status SamplingSpec::DrawBy(const Schema& schema, std::string_view weight) {
  for (std::vector<RelationRule>& layer : layers) {
    for (auto& [relation, rule] : layer) {
      rule.weight = -1;
      if (weight.empty() || rule.nothing()) continue;
      HG_ASSIGN_OR_RETURN(rule.weight, FindSamplingWeight(schema, relation, weight));
    }
  }
  return OkStatus();
}

DrawKind SamplingSpec::kind() const {
  for (const std::vector<RelationRule>& layer : layers) {
    for (const RelationRule& wanted : layer) {
      if (!wanted.rule.nothing()) return wanted.rule.kind;
    }
  }
  return DrawKind::kNeighbor;
}

namespace {

Status ValidateKinds(const SamplingSpec& spec) {
  const DrawKind kind = spec.kind();
  for (const std::vector<RelationRule>& layer : spec.layers) {
    for (const auto& [relation, rule] : layer) {
      if (rule.nothing() || rule.kind == kind) continue;
      return InvalidArgument("draws of kind {} beside those of kind {}: a minibatch has one kind",
                             static_cast<int>(rule.kind), static_cast<int>(kind));
    }
  }
  return OkStatus();
}

// All layers of a subgraph share its one block.
Status ValidateSubgraph(const SampleRequest& request) {
  const std::vector<std::vector<RelationRule>>& layers = request.spec->layers;
  if (!DrawRule{.kind = request.spec->kind()}.graph_wise()) return OkStatus();
  for (const std::vector<RelationRule>& layer : layers) {
    if (layer.size() == 1 && layer == layers.front()) continue;
    return InvalidArgument("a subgraph has one relation, and the same rule in every layer");
  }
  for (const SeedList& seeds : request.seeds) {
    if (seeds.ids.empty()) continue;
    return InvalidArgument("a subgraph is drawn, and has no seeds; the request has {}",
                           seeds.ids.size());
  }
  if (request.exclude.empty()) return OkStatus();
  return InvalidArgument("edges are left out of no subgraph: give another sampler");
}

Status ValidateLayer(const Schema& schema, size_t layer, const std::vector<RelationRule>& rules,
                     bool weights) {
  const int relations = static_cast<int>(schema.relations.size());
  int before = -1;
  for (const auto& [relation, rule] : rules) {
    if (relation < 0 || relation >= relations) {
      return InvalidArgument("layer {}: relation {} is unknown; the graph has {}", layer, relation,
                             relations);
    }
    if (relation <= before) {
      return InvalidArgument("layer {}: relation {} after {}; relations must ascend", layer,
                             relation, before);
    }
    before = relation;
    if (const Status valid = ValidateRule(schema, relation, rule); !valid.ok()) {
      return Annotate(valid, fmt::format("layer {}", layer));
    }
    if (weights && rule.weight < 0 && !rule.nothing()) {
      return InvalidArgument(
          "the request asks for the weights of edges, but draws those of '{}' by none: draw by an "
          "edge feature (SamplingSpec::DrawBy), or ask for edge ids and pull the feature",
          schema.relations[relation].triple());
    }
  }
  return OkStatus();
}

// "seed 7 at position 3 is outside node type 'paper' of 5 nodes"
Status ValidateIds(const char* what, std::span<const int64_t> ids, const NodeType& type) {
  const size_t outside = FindOutside(ids, type.count);
  if (outside == ids.size()) return OkStatus();
  return OutOfRange("{} {} at position {} is outside node type '{}' of {} nodes", what,
                    ids[outside], outside, type.name, type.count);
}

Status ValidateSeeds(const Schema& schema, std::span<const SeedList> lists) {
  int before = -1;
  for (const SeedList& seeds : lists) {
    if (seeds.type < 0 || seeds.type >= static_cast<int>(schema.node_types.size())) {
      return InvalidArgument("seed node type {} is unknown; the graph has {}", seeds.type,
                             schema.node_types.size());
    }
    if (seeds.type <= before) {
      return InvalidArgument("seeds of node type {} after those of {}; node types must ascend",
                             seeds.type, before);
    }
    before = seeds.type;
    HG_RETURN_IF_ERROR(ValidateIds("seed", seeds.ids, schema.node_types[seeds.type]));
  }
  return OkStatus();
}

Status ValidateExclusions(const Schema& schema, std::span<const EdgeExclusion> exclusions) {
  int before = -1;
  for (const EdgeExclusion& edges : exclusions) {
    if (edges.relation < 0 || edges.relation >= static_cast<int>(schema.relations.size())) {
      return InvalidArgument("excluded edges of relation {}, which is unknown; the graph has {}",
                             edges.relation, schema.relations.size());
    }
    if (edges.relation <= before) {
      return InvalidArgument("excluded edges of relation {} after those of {}; they must ascend",
                             edges.relation, before);
    }
    before = edges.relation;
    const std::string triple = schema.relations[edges.relation].triple();
    if (edges.sources.size() != edges.destinations.size()) {
      return InvalidArgument("excluded edges of '{}' have {} sources and {} destinations", triple,
                             edges.sources.size(), edges.destinations.size());
    }
    const NodeType& from = schema.node_types[schema.SourceType(edges.relation)];
    const NodeType& to = schema.node_types[schema.DestinationType(edges.relation)];
    const std::string where = "excluded edges of '" + triple + "'";
    HG_RETURN_IF_ERROR(Annotate(ValidateIds("source", edges.sources, from), where));
    HG_RETURN_IF_ERROR(Annotate(ValidateIds("destination", edges.destinations, to), where));
  }
  return OkStatus();
}

}  // namespace

Status ValidateRequest(const Schema& schema, const SampleRequest& request) {
  if (request.spec == nullptr || request.spec->layers.empty()) {
    return InvalidArgument("the request has no layer to sample");
  }
  for (size_t l = 0; l < request.spec->layers.size(); ++l) {
    HG_RETURN_IF_ERROR(ValidateLayer(schema, l, request.spec->layers[l], request.weights));
  }
  HG_RETURN_IF_ERROR(ValidateKinds(*request.spec));
  HG_RETURN_IF_ERROR(ValidateSubgraph(request));
  HG_RETURN_IF_ERROR(ValidateSeeds(schema, request.seeds));
  return ValidateExclusions(schema, request.exclude);
}

Status ValidateRequests(const Schema& schema, std::span<const SampleRequest> requests) {
  for (size_t i = 0; i < requests.size(); ++i) {
    const Status valid = ValidateRequest(schema, requests[i]);
    if (!valid.ok() && requests.size() > 1) {
      return Annotate(valid, fmt::format("request {} of {}", i, requests.size()));
    }
    HG_RETURN_IF_ERROR(valid);
  }
  return OkStatus();
}

int64_t CountSeeds(std::span<const SampleRequest> requests) {
  int64_t count = 0;
  for (const SampleRequest& request : requests) {
    for (const SeedList& seeds : request.seeds) count += std::ssize(seeds.ids);
  }
  return count;
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
