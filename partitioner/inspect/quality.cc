#include "partitioner/inspect/quality.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "partitioner/methods/task_columns.h"
#include "partitioner/stream/edge_pass.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {
namespace {

Status CheckAssignment(const Dataset& dataset, const Assignment& assignment, int parts) {
  if (assignment.owners.size() != dataset.node_types.size()) {
    return Internal("quality: owners for {} node types, the data set has {}",
                    assignment.owners.size(), dataset.node_types.size());
  }
  for (size_t type = 0; type < assignment.owners.size(); ++type) {
    const std::vector<uint16_t>& owners = assignment.owners[type];
    const InputNodeType& input = dataset.node_types[type];
    if (static_cast<int64_t>(owners.size()) != input.count) {
      return Internal("quality: {} owners for node type {}, which has {} nodes", owners.size(),
                      input.name, input.count);
    }
    const auto wrong =
        std::find_if(owners.begin(), owners.end(), [&](uint16_t owner) { return owner >= parts; });
    if (wrong != owners.end()) {
      return Internal("quality: node {} of type {} has owner {}, there are {} partitions",
                      wrong - owners.begin(), input.name, *wrong, parts);
    }
  }
  return OkStatus();
}

void CountNodes(const Dataset& dataset, const Assignment& assignment, GraphSummary* summary) {
  for (size_t type = 0; type < assignment.owners.size(); ++type) {
    const std::string& name = dataset.node_types[type].name;
    for (PartSummary& part : summary->parts) part.core_by_type[name] = 0;
    std::vector<int64_t> core(summary->parts.size(), 0);
    for (const uint16_t owner : assignment.owners[type]) ++core[owner];
    for (size_t p = 0; p < core.size(); ++p) {
      summary->parts[p].core_by_type[name] = core[p];
      summary->parts[p].core_nodes += core[p];
    }
  }
}

Status CountTaskRows(const Dataset& dataset, const Assignment& assignment, GraphSummary* summary) {
  for (PartSummary& part : summary->parts) {
    part.task_rows = {{"train", 0}, {"valid", 0}, {"test", 0}};
  }
  for (const InputTask& task : dataset.tasks) {
    for (const InputTaskSet& set : task.sets) {
      HG_ASSIGN_OR_RETURN(const TaskColumns columns, ResolveTaskColumns(dataset, set));
      const auto& owners = assignment.owners[static_cast<size_t>(columns.owner_type())];
      for (int64_t row = 0; row < columns.rows; ++row) {
        const uint16_t owner = owners[static_cast<size_t>(columns.OwnerId(row))];
        ++summary->parts[owner].task_rows[set.set];
      }
    }
  }
  return OkStatus();
}

// Which nodes are halo nodes of the partitions [first, first + width): a bit each, a node's side by
// side, so that an edge costs one access.
class HaloOfParts {
 public:
  HaloOfParts(int64_t nodes, int first, int width)
      : first_(first),
        width_(width),
        words_((static_cast<size_t>(nodes) * static_cast<size_t>(width) + 63) / 64, 0) {}

  [[nodiscard]] bool Covers(int part) const { return part >= first_ && part < first_ + width_; }
  // Whether it was not set before.
  [[nodiscard]] bool Set(int64_t node, int part) {
    const uint64_t bit = static_cast<uint64_t>(node) * static_cast<uint64_t>(width_) +
                         static_cast<uint64_t>(part - first_);
    uint64_t& word = words_[bit / 64];
    const uint64_t mask = uint64_t{1} << (bit % 64);
    const bool fresh = (word & mask) == 0;
    word |= mask;
    return fresh;
  }

 private:
  const int first_;
  const int width_;
  std::vector<uint64_t> words_;
};

// One pass: halo nodes of the partitions that `halo` covers, edges and cut where `first_pass`.
Status CountEdges(const Dataset& dataset, const Assignment& assignment, bool first_pass,
                  HaloOfParts* halo, int64_t* seen, GraphSummary* summary) {
  const UnionNodes nodes(dataset);
  return ForEachUnionEdges(dataset, "counting cut edges", [&](const UnionEdges& edges) {
    const InputRelation& relation = dataset.relations[static_cast<size_t>(edges.relation)];
    const int source_type = dataset.NodeTypeIndex(relation.source);
    const int destination_type = dataset.NodeTypeIndex(relation.destination);
    const uint16_t* from = assignment.owners[static_cast<size_t>(source_type)].data();
    const uint16_t* to = assignment.owners[static_cast<size_t>(destination_type)].data();
    const int64_t source_offset = nodes.offset(source_type);
    const int64_t destination_offset = nodes.offset(destination_type);
    *seen += static_cast<int64_t>(edges.ids.size());
    for (size_t i = 0; i < edges.ids.size(); ++i) {
      const uint16_t owner = to[edges.destinations[i] - destination_offset];
      const bool cut = from[edges.sources[i] - source_offset] != owner;
      PartSummary& part = summary->parts[owner];
      if (first_pass) {
        ++part.edges;
        part.cut_edges += cut ? 1 : 0;
      }
      if (cut && halo->Covers(owner)) part.halo_nodes += halo->Set(edges.sources[i], owner) ? 1 : 0;
    }
    return OkStatus();
  });
}

}  // namespace

StatusOr<GraphSummary> QualityOf(const Dataset& dataset, const Assignment& assignment, int parts,
                                 int64_t memory) {
  HG_RETURN_IF_ERROR(CheckAssignment(dataset, assignment, parts));
  GraphSummary summary;
  summary.name = dataset.name;
  summary.parts.resize(static_cast<size_t>(parts));
  CountNodes(dataset, assignment, &summary);
  HG_RETURN_IF_ERROR(CountTaskRows(dataset, assignment, &summary));
  const int64_t nodes = UnionNodes(dataset).count();
  const int64_t bitmap = std::max<int64_t>(1, (nodes + 7) / 8);
  const int width = static_cast<int>(std::clamp<int64_t>(memory / bitmap, 1, parts));
  int64_t edges = 0;
  for (int first = 0; first < parts; first += width) {
    HaloOfParts halo(nodes, first, std::min(width, parts - first));
    int64_t seen = 0;
    HG_RETURN_IF_ERROR(CountEdges(dataset, assignment, first == 0, &halo, &seen, &summary));
    if (first == 0) edges = seen;
    HG_RETURN_IF_ERROR(CheckSameEdges("counting cut edges", edges, seen));
  }
  Summarise(&summary);
  return summary;
}

}  // namespace halograph
