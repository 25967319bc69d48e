#include "common/sampling/kernel/extract_edges.h"

#include <algorithm>
#include <array>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "common/sampling/kernel/outcome.h"
#include "common/sampling/kernel/rows.h"

namespace halograph {
namespace {

constexpr size_t kEdgesAtOnce =
    1024;  // edges that are looked at before those found are written down

// A bit says whether a source is a column, and only then its place is read: most edges touch no
// more than the bits, which the second cache holds.
class ColumnTable {
 public:
  ColumnTable(std::span<const int64_t> columns, int64_t num_sources, ColumnWorkspace* workspace)
      : columns_(columns),
        bits_(workspace->Bits(num_sources)),
        places_(workspace->Entries(num_sources)) {
    for (size_t i = 0; i < columns.size(); ++i) {
      bits_[columns[i] / 64] |= uint64_t{1} << columns[i] % 64;
      places_[columns[i]] = static_cast<uint32_t>(i);
    }
  }
  ~ColumnTable() {
    for (const int64_t column : columns_) {
      bits_[column / 64] = 0;
      places_[column] = 0;
    }
  }
  ColumnTable(const ColumnTable&) = delete;
  ColumnTable& operator=(const ColumnTable&) = delete;

  [[nodiscard]] bool Has(uint64_t source) const {
    return (bits_[source / 64] >> source % 64 & 1) != 0;
  }
  [[nodiscard]] int32_t Place(uint64_t source) const {
    return static_cast<int32_t>(places_[source]);
  }

 private:
  const std::span<const int64_t> columns_;
  uint64_t* const bits_;
  uint32_t* const places_;
};

// For types that have no table.
class ColumnMap {
 public:
  explicit ColumnMap(std::span<const int64_t> columns) {
    places_.reserve(columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      places_.emplace(static_cast<uint64_t>(columns[i]), static_cast<int32_t>(i));
    }
  }

  [[nodiscard]] bool Has(uint64_t source) const { return places_.contains(source); }
  [[nodiscard]] int32_t Place(uint64_t source) const { return places_.find(source)->second; }

 private:
  absl::flat_hash_map<uint64_t, int32_t> places_;
};

// Appends what of one destination's in-edges comes from a column.
template <typename IdT, typename Columns>
FusedOutcome ExtractRow(const ColumnRow& row, const Columns& columns, uint64_t num_sources,
                        bool edge_ids, ExtractedEdges* extracted) {
  std::array<uint32_t, kEdgesAtOnce> found;
  std::array<int32_t, kEdgesAtOnce> places;
  const std::span<const IdT> all = row.SourcesAs<IdT>();
  for (size_t begin = 0; begin < all.size(); begin += kEdgesAtOnce) {
    const std::span<const IdT> ids = all.subspan(begin, std::min(kEdgesAtOnce, all.size() - begin));
    size_t count = 0;
    for (size_t i = 0; i < ids.size(); ++i) {  // without a branch on what is found
      const auto source = static_cast<uint64_t>(ids[i]);
      if (source >= num_sources) [[unlikely]] {
        return {.kind = FusedOutcome::Kind::kUnknownSource, .id = static_cast<int64_t>(ids[i])};
      }
      found[count] = static_cast<uint32_t>(i);
      count += columns.Has(source) ? 1 : 0;
    }
    for (size_t i = 0; i < count; ++i) {
      places[i] = columns.Place(static_cast<uint64_t>(ids[found[i]]));
    }
    extracted->columns.insert(extracted->columns.end(), places.begin(), places.begin() + count);
    if (!edge_ids) continue;
    const int64_t first = row.first_edge + static_cast<int64_t>(begin);
    for (size_t i = 0; i < count; ++i) extracted->edge_ids.push_back(first + found[i]);
  }
  return {};
}

template <typename IdT, typename Columns>
FusedOutcome ExtractRows(std::span<const ColumnRow> rows, const Columns& columns,
                         int64_t num_sources, bool edge_ids, ExtractedEdges* extracted) {
  for (const ColumnRow& row : rows) {
    extracted->degrees.push_back(row.degree);
    const FusedOutcome outcome =
        ExtractRow<IdT>(row, columns, static_cast<uint64_t>(num_sources), edge_ids, extracted);
    if (!outcome.done()) return outcome;
    extracted->offsets.push_back(std::ssize(extracted->columns));
  }
  return {};
}

template <typename Columns>
FusedOutcome ExtractBy(const ColumnEdges& edges, const Columns& columns, bool edge_ids,
                       std::span<const ColumnRow> rows, ExtractedEdges* extracted) {
  return edges.topology->HasWideIds()
             ? ExtractRows<int64_t>(rows, columns, edges.num_sources, edge_ids, extracted)
             : ExtractRows<uint32_t>(rows, columns, edges.num_sources, edge_ids, extracted);
}

}  // namespace

Status CheckColumns(const ColumnEdges& edges, std::span<const int64_t> columns) {
  if (columns.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return ResourceExhausted("{}: {} columns are more than a layer can have; draw fewer nodes",
                             edges.relation, columns.size());
  }
  int64_t before = -1;
  for (const int64_t column : columns) {
    if (column < 0 || column >= edges.num_sources) {
      return OutOfRange("{}: column {} is no source: its type has {} nodes", edges.relation, column,
                        edges.num_sources);
    }
    if (column <= before) {
      return InvalidArgument("{}: columns must ascend: {} comes after {}", edges.relation, column,
                             before);
    }
    before = column;
  }
  return OkStatus();
}

Status FindColumnDegrees(const ColumnEdges& edges, std::span<const int64_t> columns,
                         std::vector<int64_t>* degrees) {
  for (const int64_t column : columns) {
    degrees->push_back(-1);
    if (!edges.topology->Has(column)) continue;
    degrees->back() = FindPickRow(*edges.topology, column).degree;
    if (degrees->back() < 0) {
      return DamageOf({.kind = FusedOutcome::Kind::kDamagedOffsets, .id = column}, edges.relation);
    }
  }
  return OkStatus();
}

Status ExtractEdges(const ColumnEdges& edges, std::span<const int64_t> destinations,
                    std::span<const int64_t> columns, const ExtractWanted& wanted,
                    ColumnWorkspace* workspace, ExtractedEdges* extracted) {
  extracted->offsets.assign(1, 0);
  extracted->columns.clear();
  extracted->edge_ids.clear();
  extracted->degrees.clear();
  extracted->column_degrees.clear();
  HG_RETURN_IF_ERROR(CheckColumns(edges, columns));
  const StatusOr<int64_t> num_edges = FindColumnRows(edges, destinations, &workspace->rows);
  HG_RETURN_IF_ERROR(num_edges.status());
  const FusedOutcome outcome =
      workspace->HasTables(edges.num_sources)
          ? ExtractBy(edges, ColumnTable(columns, edges.num_sources, workspace), wanted.edge_ids,
                      workspace->rows, extracted)
          : ExtractBy(edges, ColumnMap(columns), wanted.edge_ids, workspace->rows, extracted);
  if (!outcome.done()) return DamageOf(outcome, edges.relation);
  return wanted.column_degrees ? FindColumnDegrees(edges, columns, &extracted->column_degrees)
                               : OkStatus();
}

}  // namespace halograph
