#include "common/sampling/samplers/layer_answers.h"

#include <algorithm>

namespace halograph {

LayerGroup AskOf(const SampleRequest& request, size_t layer, const RelationRule& wanted,
                 std::span<const int64_t> destinations) {
  return {.relation = wanted.relation,
          .rule = wanted.rule,
          .batch_seed = request.batch_seed,
          .layer = wanted.rule.key_layer(static_cast<int>(layer)),
          .edge_ids = request.edge_ids,
          .weights = request.weights && wanted.rule.weight >= 0,
          .degrees = IsEstimate(wanted.rule),
          .destinations = destinations};
}

Status CheckAnswers(const Schema& schema, std::span<const LayerGroup> groups,
                    std::span<const NeighborPicks> answers) {
  if (answers.size() != groups.size()) {
    return Internal("the source answered {} groups of {}", answers.size(), groups.size());
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    const NeighborPicks& picks = answers[g];
    const auto expected = [&](bool asked) { return asked ? picks.sources.size() : 0; };
    if (picks.offsets.size() == groups[g].destinations.size() + 1 &&
        picks.offsets.back() == picks.size() &&
        picks.edge_ids.size() == expected(groups[g].edge_ids) &&
        picks.degrees.size() == (groups[g].degrees ? groups[g].destinations.size() : 0) &&
        picks.weights.size() == expected(groups[g].weights)) {
      continue;
    }
    return Internal(
        "the source answered {} offsets, {} sources, {} edge ids, {} weights and {} degrees for {} "
        "destinations of '{}'",
        picks.offsets.size(), picks.size(), picks.edge_ids.size(), picks.weights.size(),
        picks.degrees.size(), groups[g].destinations.size(),
        schema.relations[groups[g].relation].triple());
  }
  return OkStatus();
}

Status CheckOffsets(const Schema& schema, int relation, const NeighborPicks& picks) {
  if (picks.offsets.front() == 0 && std::is_sorted(picks.offsets.begin(), picks.offsets.end())) {
    return OkStatus();
  }
  return Internal("the source answered offsets of '{}' that do not ascend from 0",
                  schema.relations[relation].triple());
}

Status CheckEdges(const Schema& schema, int relation, size_t destinations, size_t columns,
                  const ExtractWanted& wanted, const ExtractedEdges& answer) {
  const std::vector<int64_t>& offsets = answer.offsets;
  bool fits = offsets.size() == destinations + 1 && answer.degrees.size() == destinations &&
              offsets.front() == 0 && offsets.back() == std::ssize(answer.columns) &&
              answer.edge_ids.size() == (wanted.edge_ids ? answer.columns.size() : 0) &&
              answer.column_degrees.size() == (wanted.column_degrees ? columns : 0);
  for (size_t i = 0; fits && i < destinations; ++i) {
    fits = offsets[i] <= offsets[i + 1] && offsets[i + 1] - offsets[i] <= answer.degrees[i];
  }
  fits = fits && std::all_of(answer.columns.begin(), answer.columns.end(), [&](int32_t column) {
           return column >= 0 && static_cast<size_t>(column) < columns;
         });
  if (fits) return OkStatus();
  return Internal(
      "the source answered {} offsets, {} edges, {} edge ids, {} and {} in-degrees for {} "
      "destinations and {} columns of '{}', or columns that there are not",
      offsets.size(), answer.columns.size(), answer.edge_ids.size(), answer.degrees.size(),
      answer.column_degrees.size(), destinations, columns, schema.relations[relation].triple());
}

Status LeaveOut(const Schema& schema, std::span<const ExcludedEdges> excluded, int relation,
                const FusedNodes& list, int64_t count, NeighborPicks* picks) {
  std::vector<ExcludedRow> rows;
  for (const ExcludedEdges& edges : excluded) {
    if (edges.relation() != relation) continue;
    edges.FindIn(list, count, &rows);
    if (rows.empty()) continue;
    HG_RETURN_IF_ERROR(CheckOffsets(schema, relation, *picks));
    RemoveExcluded(rows, DrawnEdges<int64_t>{.first = 0,
                                             .ends = std::span(picks->offsets).subspan(1),
                                             .sources = &picks->sources,
                                             .edge_ids = &picks->edge_ids,
                                             .weights = &picks->weights});
  }
  return OkStatus();
}

Status UnknownNode(const Schema& schema, int relation, int64_t node) {
  const int type = schema.SourceType(relation);
  return Internal("the source answered node {} in '{}', but type '{}' has {} nodes", node,
                  schema.relations[relation].triple(), schema.node_types[type].name,
                  schema.node_types[type].count);
}

}  // namespace halograph
