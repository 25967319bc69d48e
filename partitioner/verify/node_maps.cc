#include "partitioner/verify/node_maps.h"

#include <algorithm>

#include "common/base/progress.h"

namespace halograph {
namespace {

// The input id of an original id, or -1.
int64_t FindInputId(std::span<const int64_t> original, int64_t count, int64_t id) {
  if (original.empty()) return id >= 0 && id < count ? id : -1;
  const auto found = std::lower_bound(original.begin(), original.end(), id);
  return found == original.end() || *found != id ? -1 : found - original.begin();
}

// Sources of `part`'s edges of type `node_type` that it does not own, one bit a global id.
std::vector<bool> SourcesElsewhere(const Partition& part, int node_type) {
  const Schema& schema = part.schema();
  const IdRange own = part.book().NodeRange(node_type, part.part());
  std::vector<bool> elsewhere(schema.node_types[node_type].count);
  for (size_t r = 0; r < schema.relations.size(); ++r) {
    const int relation = static_cast<int>(r);
    if (schema.SourceType(relation) != node_type) continue;
    const CscSegment& edges = part.Edges(relation);
    const int64_t count = edges.indptr[edges.nodes.size()];
    for (int64_t i = 0; i < count; ++i) {
      const int64_t source = edges.Source(i);
      if (!own.contains(source)) elsewhere[source] = true;
    }
  }
  return elsewhere;
}

}  // namespace

StatusOr<NodeMaps> NodeMaps::Build(const Dataset& dataset, const PartitionSet& graph,
                                   Findings* findings) {
  NodeMaps maps;
  for (size_t t = 0; t < dataset.node_types.size(); ++t) {
    const InputNodeType& input = dataset.node_types[t];
    const int node_type = static_cast<int>(t);
    Type& type = maps.types_.emplace_back();
    if (input.original_ids != nullptr) {
      HG_ASSIGN_OR_RETURN(type.original, input.original_ids->As<int64_t>());
    }
    type.to_input.assign(input.count, -1);
    type.to_global.assign(input.count, -1);
    for (const auto& part : graph.parts()) {
      int64_t global = graph.book().NodeRange(node_type, part->part()).begin;
      for (const int64_t original : part->NodeOriginalIds(node_type)) {
        const int64_t id = FindInputId(type.original, input.count, original);
        if (id < 0) {
          findings->Add("node type `{}`, part {}: original id {} is not in the input", input.name,
                        part->part(), original);
        } else if (type.to_global[id] >= 0) {
          findings->Add("node type `{}`, part {}: original id {} appears twice", input.name,
                        part->part(), original);
        } else {
          type.to_global[id] = global;
          type.to_input[global] = id;
        }
        ++global;
      }
    }
    for (int64_t id = 0; id < input.count; ++id) {
      if (type.to_global[id] >= 0) continue;
      findings->Add("node type `{}`: node {} of the input is in no part", input.name,
                    maps.OriginalId(node_type, id));
    }
    findings->report().nodes += input.count;
  }
  return maps;
}

void VerifyHaloNodes(const PartitionSet& graph, Findings* findings) {
  const Schema& schema = graph.schema();
  for (const auto& part : graph.parts()) {
    for (size_t t = 0; t < schema.node_types.size(); ++t) {
      const std::string& name = schema.node_types[t].name;
      std::vector<bool> elsewhere = SourcesElsewhere(*part, static_cast<int>(t));
      int64_t previous = -1;
      for (const int64_t id : part->HaloIds(static_cast<int>(t))) {
        const bool known = id >= 0 && id < static_cast<int64_t>(elsewhere.size());
        if (id <= previous) {
          findings->Add("node type `{}`, part {}: halo id {} follows {}", name, part->part(), id,
                        previous);
        } else if (!known || !elsewhere[id]) {
          findings->Add(
              "node type `{}`, part {}: halo node {} (global id) is not the source of an edge "
              "here, or is owned here",
              name, part->part(), id);
        }
        if (known) elsewhere[id] = false;
        previous = id;
      }
      for (size_t id = 0; id < elsewhere.size(); ++id) {
        if (!elsewhere[id]) continue;
        findings->Add("node type `{}`, part {}: source {} (global id) is not among the halo nodes",
                      name, part->part(), id);
      }
    }
  }
}

}  // namespace halograph
