#include "common/sampling/rule.h"

#include <string>

namespace halograph {
namespace {

// "'a', 'b'", or "none".
std::string DrawableBy(const Relation& relation) {
  std::string names;
  for (const TensorSpec& feature : relation.features) {
    if (feature.sampling) names += (names.empty() ? "'" : ", '") + feature.name + "'";
  }
  return names.empty() ? "none" : names;
}

Status ValidateLayerWise(const DrawRule& rule) {
  if (rule.replace || rule.weight >= 0) {
    return InvalidArgument(
        "layer-wise draws are without replacement and by the number of edges, not {}",
        rule.replace ? "with replacement" : "by an edge feature");
  }
  if (rule.one_key) return InvalidArgument("layer-wise draws are by a key of each layer");
  if (rule.fanout >= kFullNeighborhood && rule.fanout <= kMaxLayerNodes) return OkStatus();
  return OutOfRange("{} nodes a layer are outside [-1, {}]; -1 takes every source", rule.fanout,
                    kMaxLayerNodes);
}

// Of each destination by itself.
Status ValidateNodeWise(const DrawRule& rule) {
  if (IsEstimate(rule) && (rule.replace || rule.weight >= 0)) {
    return InvalidArgument(
        "draws of kind {}, by which full sums are estimated, are uniform and without replacement, "
        "not {}",
        static_cast<int>(rule.kind), rule.replace ? "with replacement" : "by an edge feature");
  }
  return ValidateFanout(rule.fanout);
}

Status ValidateGraphWise(const Schema& schema, int relation, const DrawRule& rule) {
  if (rule.replace || rule.weight >= 0 || rule.one_key) {
    return InvalidArgument("subgraphs are drawn by clusters, nodes, edges or walks alone");
  }
  if (schema.SourceType(relation) != schema.DestinationType(relation)) {
    return InvalidArgument("subgraphs are of one node type, and this relation leads to another");
  }
  if (rule.fanout >= 1 && rule.fanout <= kMaxFanout) return OkStatus();
  return OutOfRange("{} draws of a subgraph are outside [1, {}]", rule.fanout, kMaxFanout);
}

// Of every rule.
Status ValidateSteps(const DrawRule& rule) {
  if (rule.kind != DrawKind::kSaintWalk) {
    if (rule.walk_length == 0) return OkStatus();
    return InvalidArgument("draws of kind {} take no walks, and have 0 steps, not {}",
                           static_cast<int>(rule.kind), rule.walk_length);
  }
  if (rule.walk_length >= 1 && rule.walk_length <= kMaxWalkLength) return OkStatus();
  return OutOfRange("walks of {} steps are outside [1, {}]", rule.walk_length, kMaxWalkLength);
}

Status ValidateDraws(const Schema& schema, int relation, const DrawRule& rule) {
  HG_RETURN_IF_ERROR(ValidateSteps(rule));
  if (IsNodeWise(rule.kind)) return ValidateNodeWise(rule);
  return rule.graph_wise() ? ValidateGraphWise(schema, relation, rule) : ValidateLayerWise(rule);
}

}  // namespace

Status ValidateFanout(int32_t fanout) {
  if (fanout >= kFullNeighborhood && fanout <= kMaxFanout) return OkStatus();
  return OutOfRange("fanout {} is outside [-1, {}]; -1 takes every in-edge", fanout, kMaxFanout);
}

StatusOr<int> FindSamplingWeight(const Schema& schema, int relation, std::string_view weight) {
  const Relation& of = schema.relations[static_cast<size_t>(relation)];
  bool is_feature = false;
  for (size_t f = 0; f < of.features.size(); ++f) {
    if (of.features[f].name != weight) continue;
    if (of.features[f].sampling) return static_cast<int>(f);
    is_feature = true;
  }
  return NotFound(
      "relation '{}' cannot be sampled by '{}': {}, and it has tables by {}; partition with "
      "--sampling-weights {}, use one that is there, or fanout 0",
      of.triple(), weight, is_feature ? "the feature has no tables" : "it has no such feature",
      DrawableBy(of), weight);
}

Status ValidateRule(const Schema& schema, int relation, const DrawRule& rule) {
  const Relation& of = schema.relations[static_cast<size_t>(relation)];
  const auto kind = static_cast<uint32_t>(rule.kind);
  if (kind >= kDrawKinds) {
    return InvalidArgument(
        "relation '{}': a rule of kind {}, of which this build knows those below {}: it is of an "
        "older version",
        of.triple(), kind, kDrawKinds);
  }
  const Status draws = ValidateDraws(schema, relation, rule);
  if (!draws.ok()) return Annotate(draws, fmt::format("relation '{}'", of.triple()));
  if (rule.weight < 0) return OkStatus();
  if (rule.weight >= std::ssize(of.features)) {
    return NotFound("relation '{}' cannot be sampled by edge feature {}; it has {}", of.triple(),
                    rule.weight, of.features.size());
  }
  if (rule.nothing()) return OkStatus();
  return FindSamplingWeight(schema, relation, of.features[static_cast<size_t>(rule.weight)].name)
      .status();
}

}  // namespace halograph
