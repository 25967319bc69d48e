#include "common/sampling/kernel/column_sums.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "common/sampling/kernel/add_column_sums.h"
#include "common/sampling/kernel/column_sweep.h"
#include "common/sampling/kernel/outcome.h"
#include "common/sampling/kernel/rows.h"

namespace halograph {
namespace {

// Above one edge in so many nodes the whole table is swept, in vectors; below, a bit a node is set
// and words of bits are walked, which is cheaper than a list of what is new (a branch an edge).
constexpr int64_t kNodesASweptEdge = 8;
// Below one edge in so many nodes walking the words costs more than sorting the few edges.
constexpr int64_t kNodesASortedEdge = 8192;

// Destinations between two looks at the limits of a call that reads all edges of a part.
constexpr int64_t kNodesALook = 4096;

// An edge that is sorted: its source, and what it adds.
struct SourceShare {
  uint64_t source;
  uint64_t share;
};

FusedOutcome UnknownSource(int64_t source) {
  return {.kind = FusedOutcome::Kind::kUnknownSource, .id = source};
}

// Calls take(source, share) for each edge, until one has a source that its type does not have.
template <typename IdT, typename Take>
FusedOutcome ForEachEdge(std::span<const ColumnRow> rows, ColumnValue value, int64_t num_sources,
                         const Take& take) {
  const auto sources = static_cast<uint64_t>(num_sources);
  for (const ColumnRow& row : rows) {
    if (row.degree == 0) continue;
    const uint64_t share = value == ColumnValue::kOne ? 1 : DegreeShare(row.degree);
    for (const IdT id : row.SourcesAs<IdT>()) {
      const auto source = static_cast<uint64_t>(id);
      if (source >= sources) [[unlikely]]
        return UnknownSource(static_cast<int64_t>(id));
      take(source, share);
    }
  }
  return {};
}

// Adds to the table for each edge, and sets its source's bit where there are bits. Most sums stay
// below 2^32: their upper halves, apart, cost nothing but where there are any.
template <typename IdT, bool kBits>
FusedOutcome AddEdges(std::span<const ColumnRow> rows, ColumnValue value, int64_t num_sources,
                      SumTable* table, uint64_t* bits) {
  uint32_t* const lower = table->lower;
  uint32_t* const upper = table->upper;
  bool carried = false;
  const FusedOutcome outcome =
      ForEachEdge<IdT>(rows, value, num_sources, [&](uint64_t source, uint64_t share) {
        const auto added = static_cast<uint32_t>(share);
        const uint32_t sum = lower[source] + added;
        lower[source] = sum;
        if (sum < added || added == 0) [[unlikely]] {  // 2^32 itself is the only share without bits
          ++upper[source];
          carried = true;
        }
        if constexpr (kBits) bits[source / 64] |= uint64_t{1} << source % 64;
      });
  table->carried = carried;
  return outcome;
}

// Appends what `bits` names of a table, and makes both zero.
void WalkBits(uint64_t* bits, int64_t num_sources, const SumTable& table, ColumnSums* sums) {
  for (int64_t word = 0; word <= (num_sources - 1) / 64; ++word) {
    for (uint64_t left = bits[word]; left != 0; left &= left - 1) {
      const int64_t source = 64 * word + std::countr_zero(left);
      sums->sources.push_back(source);
      sums->sums.push_back(table.Take(source));
    }
    bits[word] = 0;
  }
}

// By the lowest bits first, eleven at a time.
void SortBySource(int64_t num_sources, std::vector<SourceShare>* edges) {
  constexpr uint64_t kBits = 11;
  constexpr size_t kDigits = size_t{1} << kBits;
  if (edges->size() < kDigits) {
    std::sort(edges->begin(), edges->end(),
              [](const SourceShare& a, const SourceShare& b) { return a.source < b.source; });
    return;
  }
  std::vector<SourceShare> sorted(edges->size());
  const uint64_t width = std::bit_width(static_cast<uint64_t>(num_sources));
  for (uint64_t shift = 0; shift < width; shift += kBits) {
    std::array<size_t, kDigits + 1> begins{};
    for (const SourceShare& edge : *edges) ++begins[(edge.source >> shift) % kDigits + 1];
    for (size_t digit = 0; digit < kDigits; ++digit) begins[digit + 1] += begins[digit];
    for (const SourceShare& edge : *edges)
      sorted[begins[(edge.source >> shift) % kDigits]++] = edge;
    edges->swap(sorted);
  }
}

// The rows of one call and what becomes of them.
struct Summing {
  std::span<const ColumnRow> rows;
  int64_t num_edges;
  ColumnValue value;
  int64_t num_sources;
  ColumnWorkspace* workspace;
  ColumnSums* sums;
};

template <typename IdT>
FusedOutcome SumBySorting(const Summing& call) {
  std::vector<SourceShare> edges;
  edges.reserve(static_cast<size_t>(call.num_edges));
  const FusedOutcome outcome = ForEachEdge<IdT>(call.rows, call.value, call.num_sources,
                                                [&](uint64_t source, uint64_t share) {
                                                  edges.push_back({source, share});
                                                });
  if (!outcome.done()) return outcome;
  SortBySource(call.num_sources, &edges);
  for (const SourceShare& edge : edges) {
    const auto source = static_cast<int64_t>(edge.source);
    if (call.sums->sources.empty() || call.sums->sources.back() != source) {
      call.sums->sources.push_back(source);
      call.sums->sums.push_back(0);
    }
    call.sums->sums.back() += edge.share;
  }
  return {};
}

template <typename IdT>
FusedOutcome SumInTable(const Summing& call) {
  SumTable table{.lower = call.workspace->Entries(call.num_sources),
                 .upper = call.workspace->UpperEntries(call.num_sources)};
  if (call.num_edges > call.num_sources / kNodesASweptEdge) {
    const FusedOutcome outcome =
        AddEdges<IdT, false>(call.rows, call.value, call.num_sources, &table, nullptr);
    if (outcome.done()) SweepTable(table, call.num_sources, call.sums);
    return outcome;
  }
  uint64_t* const bits = call.workspace->Bits(call.num_sources);
  const FusedOutcome outcome =
      AddEdges<IdT, true>(call.rows, call.value, call.num_sources, &table, bits);
  if (outcome.done()) WalkBits(bits, call.num_sources, table, call.sums);
  return outcome;
}

template <typename IdT>
FusedOutcome Sum(const Summing& call) {
  if (!call.workspace->HasTables(call.num_sources) ||
      call.num_edges < call.num_sources / kNodesASortedEdge) {
    return SumBySorting<IdT>(call);
  }
  // Whatever ends it on the way, memory too, leaves no sums for the next call.
  absl::Cleanup clear = [workspace = call.workspace] { workspace->Clear(); };
  const FusedOutcome outcome = SumInTable<IdT>(call);
  if (outcome.done()) std::move(clear).Cancel();
  return outcome;
}

// Of one segment whose ids are as wide as IdT.
template <typename IdT>
Status CountSegment(const ColumnEdges& edges, IdRange sources, std::span<const IdT> ids,
                    std::span<uint32_t> degrees) {
  for (const IdT id : ids) {
    const auto source = static_cast<uint64_t>(id);
    if (source >= static_cast<uint64_t>(edges.num_sources)) {
      return DamageOf(UnknownSource(static_cast<int64_t>(id)), edges.relation);
    }
    const uint64_t of_range = source - static_cast<uint64_t>(sources.begin);
    if (of_range < degrees.size() && ++degrees[of_range] == 0) {
      return TooManyOutEdges(edges.relation, static_cast<int64_t>(id));
    }
  }
  return OkStatus();
}

// Adds what the in-edges of destination `v` add.
template <typename IdT>
FusedOutcome AddAsymmetry(std::span<const IdT> ids, int64_t v, int64_t num_sources, uint64_t* sum) {
  for (const IdT id : ids) {
    const auto source = static_cast<uint64_t>(id);
    if (source >= static_cast<uint64_t>(num_sources)) [[unlikely]]
      return UnknownSource(static_cast<int64_t>(id));
    *sum += AsymmetryOfEdge(source, static_cast<uint64_t>(v));
  }
  return {};
}

// Of the destinations [begin, end) of a segment, counted from its first.
FusedOutcome AddAsymmetryOfRows(const CscSegment& segment, IdRange rows, int64_t num_sources,
                                uint64_t* sum) {
  const int64_t num_edges = segment.indptr[segment.nodes.size()];
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const int64_t* const offsets = segment.indptr + row;
    const int64_t v = segment.nodes.begin + row;
    if (!ValidOffsets(offsets, num_edges)) [[unlikely]]
      return {.kind = FusedOutcome::Kind::kDamagedOffsets, .id = v};
    const auto degree = static_cast<size_t>(offsets[1] - offsets[0]);
    if (degree == 0) continue;
    const FusedOutcome outcome =
        segment.indices64 != nullptr
            ? AddAsymmetry(std::span(segment.indices64 + offsets[0], degree), v, num_sources, sum)
            : AddAsymmetry(std::span(segment.indices32 + offsets[0], degree), v, num_sources, sum);
    if (!outcome.done()) return outcome;
  }
  return {};
}

}  // namespace

Status SumColumns(const ColumnEdges& edges, std::span<const int64_t> destinations,
                  ColumnValue value, ColumnWorkspace* workspace, ColumnSums* sums) {
  assert(destinations.empty() || value != ColumnValue::kAsymmetry);
  sums->sources.clear();
  sums->sums.clear();
  HG_ASSIGN_OR_RETURN(const int64_t num_edges,
                      FindColumnRows(edges, destinations, &workspace->rows));
  const Summing call{.rows = workspace->rows,
                     .num_edges = num_edges,
                     .value = value,
                     .num_sources = edges.num_sources,
                     .workspace = workspace,
                     .sums = sums};
  const FusedOutcome outcome =
      edges.topology->HasWideIds() ? Sum<int64_t>(call) : Sum<uint32_t>(call);
  return outcome.done() ? OkStatus() : DamageOf(outcome, edges.relation);
}

Status CountOutDegrees(const ColumnEdges& edges, IdRange sources, std::vector<uint32_t>* degrees) {
  assert(sources.begin >= 0 && sources.begin <= sources.end && sources.end <= edges.num_sources);
  degrees->assign(static_cast<size_t>(sources.size()), 0);
  for (const CscSegment& segment : edges.topology->segments()) {
    if (!segment.present()) continue;
    const auto count = static_cast<size_t>(segment.indptr[segment.nodes.size()]);
    if (segment.indices64 != nullptr) {
      HG_RETURN_IF_ERROR(
          CountSegment(edges, sources, std::span(segment.indices64, count), *degrees));
    } else if (segment.indices32 != nullptr) {
      HG_RETURN_IF_ERROR(
          CountSegment(edges, sources, std::span(segment.indices32, count), *degrees));
    }
  }
  return OkStatus();
}

StatusOr<uint64_t> SumAsymmetry(const ColumnEdges& edges, int part, const WorkLimits& limits) {
  const CscSegment& segment = edges.topology->segments()[static_cast<size_t>(part)];
  assert(segment.present());
  const int64_t num_rows = segment.nodes.size();
  uint64_t sum = 0;
  for (int64_t row = 0; row < num_rows; row += kNodesALook) {
    HG_RETURN_IF_ERROR(limits.Check());
    const FusedOutcome outcome = AddAsymmetryOfRows(
        segment, {row, std::min(num_rows, row + kNodesALook)}, edges.num_sources, &sum);
    if (!outcome.done()) return DamageOf(outcome, edges.relation);
  }
  return sum;
}

}  // namespace halograph
