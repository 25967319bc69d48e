#include "partitioner/plan/parts_choice.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/base/units.h"
#include "partitioner/methods/constraints.h"
#include "partitioner/methods/method.h"
#include "partitioner/write/renumbering.h"

namespace halograph {
namespace {

constexpr double kReplicasPerDoubling = 0.25;

int64_t Share(int64_t count, int parts, double tolerance) {
  if (parts == 1) return count;
  return static_cast<int64_t>(std::ceil(static_cast<double>(count) / parts * tolerance));
}

int64_t HaloNodes(int64_t nodes, int64_t in_edges, int parts) {
  const double replicas = kReplicasPerDoubling * std::log2(parts) * static_cast<double>(nodes);
  const int64_t elsewhere = nodes - nodes / parts;
  return std::min({static_cast<int64_t>(replicas / parts * kNodeTolerance), elsewhere, in_edges});
}

std::string Why(const GraphSizes& sizes, const PartsChoice& choice, int64_t memory) {
  const PartNeeds& needs = choice.needs;
  std::string text = fmt::format(
      "{} partition{}: the largest needs {} of {}: features {}, topology {}, halo {} (about {} "
      "nodes)",
      choice.parts, choice.parts == 1 ? "" : "s", FormatBytes(needs.bytes()), FormatBytes(memory),
      FormatBytes(needs.core_features), FormatBytes(needs.topology), FormatBytes(needs.halo),
      FormatCount(needs.halo_nodes));
  if (choice.parts > 1) {
    text += fmt::format("; {} would need {}", choice.parts - 1,
                        FormatBytes(NeedsOfPart(sizes, choice.parts - 1).bytes()));
  }
  return text;
}

}  // namespace

PartNeeds NeedsOfPart(const GraphSizes& sizes, int parts) {
  PartNeeds needs;
  const int64_t in_edges = Share(sizes.counts.num_edges(), parts, kEdgeTolerance);
  const int64_t nodes = std::max<int64_t>(sizes.counts.num_nodes(), 1);
  needs.halo_nodes = HaloNodes(sizes.counts.num_nodes(), in_edges, parts);
  for (size_t type = 0; type < sizes.counts.nodes.size(); ++type) {
    const int64_t count = sizes.counts.nodes[type];
    const int64_t core = Share(count, parts, kNodeTolerance);
    const double halo = static_cast<double>(needs.halo_nodes) * static_cast<double>(count) /
                        static_cast<double>(nodes);
    needs.core_features += core * sizes.node_row_bytes[type];
    needs.topology += core * kId;
    needs.halo +=
        static_cast<int64_t>(halo * static_cast<double>(sizes.node_row_bytes[type] + kId));
  }
  for (size_t r = 0; r < sizes.counts.relations.size(); ++r) {
    const RelationCounts& relation = sizes.counts.relations[r];
    const int64_t edges = Share(relation.edges, parts, kEdgeTolerance);
    const int64_t sources = sizes.counts.nodes[static_cast<size_t>(relation.source_type)];
    const int64_t destinations = sizes.counts.nodes[static_cast<size_t>(relation.destination_type)];
    const int64_t id = FitsUint32(sources) ? sizeof(uint32_t) : kId;
    needs.core_features += edges * sizes.edge_row_bytes[r];
    needs.topology += edges * (id + kId) + kId * Share(destinations, parts, kNodeTolerance);
  }
  return needs;
}

StatusOr<PartsChoice> ChooseParts(const GraphSizes& sizes, int64_t memory_per_part) {
  const auto most = static_cast<int>(std::clamp<int64_t>(sizes.counts.num_nodes(), 1, kMaxParts));
  for (int parts = 1; parts <= most; ++parts) {
    PartsChoice choice{.parts = parts, .needs = NeedsOfPart(sizes, parts), .why = {}};
    if (choice.needs.bytes() > memory_per_part) continue;
    choice.why = Why(sizes, choice, memory_per_part);
    return choice;
  }
  return ResourceExhausted(
      "--memory-per-part {} is too little: one of {} partitions, the maximum, still needs {}; give "
      "at least that much",
      FormatBytes(memory_per_part), most, FormatBytes(NeedsOfPart(sizes, most).bytes()));
}

}  // namespace halograph
