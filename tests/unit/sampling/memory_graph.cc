#include "tests/unit/sampling/memory_graph.h"

#include <algorithm>

namespace halograph {

MemoryRelation::MemoryRelation(InEdges in_edges, std::vector<int64_t> boundaries, IdWidth width)
    : in_edges_(std::move(in_edges)) {
  const size_t parts = boundaries.size() - 1;
  indptr_.resize(parts);
  indices32_.resize(parts);
  indices64_.resize(parts);
  std::vector<CscSegment> segments;
  int64_t first_edge = 0;
  for (size_t p = 0; p < parts; ++p) {
    indptr_[p] = {0};
    for (int64_t v = boundaries[p]; v < boundaries[p + 1]; ++v) {
      for (const int64_t source : in_edges_[v]) {
        indices32_[p].push_back(static_cast<uint32_t>(source));
        indices64_[p].push_back(source);
      }
      indptr_[p].push_back(static_cast<int64_t>(indices64_[p].size()));
    }
    segments.push_back({.nodes = {boundaries[p], boundaries[p + 1]},
                        .indptr = indptr_[p].data(),
                        .indices32 = width == IdWidth::k32 ? indices32_[p].data() : nullptr,
                        .indices64 = width == IdWidth::k64 ? indices64_[p].data() : nullptr,
                        .first_edge = first_edge});
    first_edge += indptr_[p].back();
  }
  topology_ = RelationTopology(std::move(boundaries), std::move(segments));
}

namespace {

std::vector<int64_t> BoundariesOf(const TestGraphSpec& spec, const std::string& type) {
  const auto node_type =
      std::find_if(spec.node_types.begin(), spec.node_types.end(),
                   [&](const TestNodeType& candidate) { return candidate.name == type; });
  std::vector<int64_t> boundaries(spec.parts + 1, 0);
  for (const int owner : node_type->owners) ++boundaries[owner + 1];
  for (int p = 0; p < spec.parts; ++p) boundaries[p + 1] += boundaries[p];
  return boundaries;
}

}  // namespace

MemoryGraph::MemoryGraph(const TestGraphSpec& spec, IdWidth width) : schema(TestSchema(spec)) {
  for (const Relation& relation : schema.relations) {
    const auto source =
        std::find_if(spec.relations.begin(), spec.relations.end(),
                     [&](const TestRelation& r) { return r.triple() == relation.triple(); });
    const std::vector<int64_t> sources = GlobalNodeIds(spec, relation.source);
    const std::vector<int64_t> destinations = GlobalNodeIds(spec, relation.destination);
    InEdges in_edges(destinations.size());
    for (const auto& [u, v] : source->edges) in_edges[destinations[v]].push_back(sources[u]);
    relations.push_back(std::make_unique<MemoryRelation>(
        std::move(in_edges), BoundariesOf(spec, relation.destination), width));
    topology.push_back(relations.back()->topology());
  }
}

StatusOr<Minibatch> BuildAlone(const Schema& schema, const SampleRequest& request,
                               TopologySource& source) {
  BuilderWorkspaces workspaces(&schema, 1);
  Minibatch minibatch;
  HG_RETURN_IF_ERROR(BuildMinibatches(schema, {&request, 1}, source, &workspaces, {&minibatch, 1}));
  return minibatch;
}

}  // namespace halograph
