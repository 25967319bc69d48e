#include "common/sampling/samplers/last_layer.h"

#include <algorithm>
#include <utility>

#include "common/sampling/samplers/layer_answers.h"

namespace halograph {
namespace {

[[nodiscard]] Status CheckNodes(const Schema& schema, int relation,
                                std::span<const int64_t> nodes) {
  const int64_t count = schema.node_types[schema.SourceType(relation)].count;
  const auto unknown = std::find_if(nodes.begin(), nodes.end(),
                                    [&](int64_t node) { return node < 0 || node >= count; });
  return unknown == nodes.end() ? OkStatus() : UnknownNode(schema, relation, *unknown);
}

// Removes the excluded edges of all answers.
[[nodiscard]] Status LeaveOutOfAll(const Schema& schema, const SampleRequest& request,
                                   std::span<const LayerGroup> groups, FusedWorkspace* workspace,
                                   std::vector<NeighborPicks>* picks) {
  const std::vector<ExcludedEdges> excluded(request.exclude.begin(), request.exclude.end());
  std::vector<int32_t> unused;
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto [relation, destinations] = std::pair(groups[g].relation, groups[g].destinations);
    FusedNodes& list = workspace->nodes[schema.DestinationType(relation)];
    list.Restart();
    unused.clear();
    if (!list.Compact(destinations, &unused)) return Internal("nodes beyond their type");
    HG_RETURN_IF_ERROR(
        LeaveOut(schema, excluded, relation, list, std::ssize(destinations), &(*picks)[g]));
  }
  return OkStatus();
}

}  // namespace

CompactIds CompactByMap(BuilderWorkspaces* workspaces) {
  return [workspaces](std::span<const IdsToCompact> types) -> Status {
    const FusedWorkspacePool::Lease workspace = workspaces->Take();
    std::vector<int32_t> positions;
    for (const IdsToCompact& type : types) {
      FusedNodes& nodes = (*workspace).nodes[type.node_type];
      nodes.Restart();
      for (size_t i = 0; i < type.lists.size(); ++i) {
        positions.clear();
        if (!nodes.Compact(type.lists[i], &positions)) {
          return Internal("node {} is none of its type", nodes.UnknownIn(type.lists[i]));
        }
        if (i > 0) std::copy(positions.begin(), positions.end(), type.positions[i - 1].begin());
      }
      type.unique->assign(nodes.ids.data(), nodes.ids.data() + nodes.size);
    }
    return OkStatus();
  };
}

bool TakesLastApart(const SamplingSpec& spec) { return spec.kind() == DrawKind::kNeighbor; }

SamplingSpec WithoutLast(const SamplingSpec& spec) {
  SamplingSpec others = spec;
  others.layers.back().clear();
  return others;
}

std::vector<LayerGroup> AskLast(const Schema& schema, const SampleRequest& request,
                                const Minibatch& minibatch) {
  std::vector<LayerGroup> groups;
  const size_t last = request.spec->layers.size() - 1;
  for (const RelationRule& wanted : request.spec->layers[last]) {
    groups.push_back(
        AskOf(request, last, wanted, minibatch.nodes[schema.DestinationType(wanted.relation)]));
  }
  return groups;
}

StatusOr<RawLayer> TakeLast(const Schema& schema, const SampleRequest& request,
                            std::span<const LayerGroup> groups, std::vector<NeighborPicks> picks,
                            BuilderWorkspaces* workspaces, const WorkLimits& limits,
                            Minibatch* minibatch) {
  HG_RETURN_IF_ERROR(CheckAnswers(schema, groups, picks));
  if (!request.exclude.empty()) {
    HG_ASSIGN_OR_RETURN(const auto workspace, workspaces->Take(1, limits));
    HG_RETURN_IF_ERROR(LeaveOutOfAll(schema, request, groups, &*workspace.front(), &picks));
  }
  RawLayer raw;
  SampledLayer& layer = minibatch->layers.back();
  layer.blocks.clear();
  for (size_t g = 0; g < groups.size(); ++g) {
    HG_RETURN_IF_ERROR(CheckNodes(schema, groups[g].relation, picks[g].sources));
    minibatch->sampled_edges += picks[g].size();
    layer.blocks.push_back({.relation = groups[g].relation,
                            .indptr = std::move(picks[g].offsets),
                            .indices = {},
                            .edge_ids = std::move(picks[g].edge_ids),
                            .weights = std::move(picks[g].weights)});
    raw.sources.push_back(std::move(picks[g].sources));
  }
  return raw;
}

Status CompactLast(const Schema& schema, const CompactIds& compact, const RawLayer& raw,
                   Minibatch* minibatch) {
  SampledLayer& layer = minibatch->layers.back();
  std::vector<IdsToCompact> types;
  for (size_t type = 0; type < minibatch->nodes.size(); ++type) {
    IdsToCompact ids{.node_type = static_cast<int>(type),
                     .lists = {minibatch->nodes[type]},
                     .positions = {},
                     .unique = &minibatch->nodes[type]};
    bool more = false;
    for (size_t b = 0; b < layer.blocks.size(); ++b) {
      if (schema.SourceType(layer.blocks[b].relation) != ids.node_type) continue;
      layer.blocks[b].indices.resize(raw.sources[b].size());
      ids.lists.emplace_back(raw.sources[b]);
      ids.positions.emplace_back(layer.blocks[b].indices);
      more = more || !raw.sources[b].empty();
    }
    if (more) types.push_back(std::move(ids));
  }
  if (!types.empty()) HG_RETURN_IF_ERROR(compact(types));
  for (size_t type = 0; type < minibatch->nodes.size(); ++type) {
    layer.num_sources[type] = std::ssize(minibatch->nodes[type]);
    HG_RETURN_IF_ERROR(CheckListLength(schema, static_cast<int>(type), layer.num_sources[type]));
  }
  return OkStatus();
}

}  // namespace halograph
