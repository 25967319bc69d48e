#include "client/part_alone/halo_columns.h"

#include <set>

#include "common/sampling/kernel/column_sums.h"
#include "common/sampling/kernel/extract_edges.h"
#include "common/sampling/kernel/rows.h"
#include "common/sampling/merge_edges.h"
#include "common/sampling/samplers/local_source.h"

namespace halograph {

HaloColumns::Known HaloColumns::KnownOf(int relation, std::span<const int64_t> destinations) const {
  const std::span<const int64_t> all = halo_.Destinations(schema_.DestinationType(relation));
  Known known;
  for (size_t i = 0; i < destinations.size(); ++i) {
    const int64_t row = PositionOf(all, destinations[i]);
    if (row < 0) continue;
    known.places.push_back(static_cast<int64_t>(i));
    known.rows.push_back(row);
  }
  return known;
}

Status HaloColumns::Damaged(int relation) const {
  return DataLoss("halo of part {}, relation {}: damaged offsets; open it with --verify contents",
                  halo_.manifest().part, schema_.relations[relation].triple());
}

Status HaloColumns::Sum(std::span<const ColumnGroup> groups, std::vector<ColumnSums>* sums,
                        int64_t* cut) const {
  sums->resize(groups.size());
  std::set<const int64_t*> counted;  // relations of one layer ask about the same list
  const IdlePool<ColumnWorkspace>::Lease workspace(&workspaces_);
  for (size_t g = 0; g < groups.size(); ++g) {
    const ColumnGroup& group = groups[g];
    if (group.page.has_value()) {
      return FailedPrecondition(
          "{}: {} over all parts, and part {} is alone here, without part {}; "
          "give another --sampler, or leave out --part-only",
          schema_.relations[group.relation].triple(),
          group.value == ColumnValue::kAsymmetry ? "edges back are looked for"
                                                 : "out-degrees are counted",
          halo_.manifest().part, group.page->part);
    }
    const Known known = KnownOf(group.relation, group.destinations);
    if (counted.insert(group.destinations.data()).second) {
      *cut += std::ssize(group.destinations) - std::ssize(known.rows);
    }
    const std::string triple = schema_.relations[group.relation].triple();
    HG_RETURN_IF_ERROR(SumColumns(ColumnEdgesOf(schema_, rows_, group.relation, triple), known.rows,
                                  group.value, workspace.get(), &(*sums)[g]));
  }
  return OkStatus();
}

Status HaloColumns::Extract(std::span<const EdgeGroup> groups,
                            std::vector<ExtractedEdges>* edges) const {
  edges->resize(groups.size());
  const IdlePool<ColumnWorkspace>::Lease workspace(&workspaces_);
  for (size_t g = 0; g < groups.size(); ++g) {
    HG_RETURN_IF_ERROR(ExtractGroup(groups[g], workspace.get(), &(*edges)[g]));
  }
  return OkStatus();
}

Status HaloColumns::ExtractGroup(const EdgeGroup& group, ColumnWorkspace* workspace,
                                 ExtractedEdges* edges) const {
  const Known known = KnownOf(group.relation, group.destinations);
  const std::string triple = schema_.relations[group.relation].triple();
  ExtractedEdges found;
  HG_RETURN_IF_ERROR(ExtractEdges(ColumnEdgesOf(schema_, rows_, group.relation, triple), known.rows,
                                  group.columns, {.edge_ids = group.wanted.edge_ids}, workspace,
                                  &found));
  if (group.wanted.edge_ids) NumberEdges(group.relation, known.rows, &found);
  if (group.wanted.column_degrees) HG_RETURN_IF_ERROR(FillColumnDegrees(group, &found));
  const EdgesShare share = ShareOf(known.places, found);
  MergeEdges(group.destinations.size(), {&share, 1}, edges);
  return OkStatus();
}

void HaloColumns::NumberEdges(int relation, std::span<const int64_t> rows,
                              ExtractedEdges* edges) const {
  const Halo::InEdges& halo = halo_.Edges(relation);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<size_t>(rows[i]);
    const int64_t shift = halo.first_edges[row] - halo.indptr[row];
    for (int64_t e = edges->offsets[i]; e < edges->offsets[i + 1]; ++e) edges->edge_ids[e] += shift;
  }
}

Status HaloColumns::FillColumnDegrees(const EdgeGroup& group, ExtractedEdges* edges) const {
  const std::span<const int64_t> all = halo_.Destinations(schema_.DestinationType(group.relation));
  edges->column_degrees.assign(group.columns.size(), 0);  // as the part alone has none of its edges
  for (size_t c = 0; c < group.columns.size(); ++c) {
    const int64_t position = PositionOf(all, group.columns[c]);
    if (position < 0) continue;
    const PickRow row = FindPickRow(rows_[group.relation], position);
    if (row.degree < 0) return Damaged(group.relation);
    edges->column_degrees[c] = row.degree;
  }
  return OkStatus();
}

}  // namespace halograph
