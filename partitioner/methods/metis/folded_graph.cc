#include "partitioner/methods/metis/folded_graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/base/progress.h"
#include "common/base/units.h"
#include "partitioner/methods/metis/neighbour_lists.h"
#include "partitioner/stream/edge_pass.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {
namespace {

Status TooLarge(std::string_view what, int64_t found, int64_t limit) {
  return ResourceExhausted(
      "metis: {} {} are more than its 32-bit index holds ({}); use --method random, or leave out "
      "constraints with --balance",
      FormatCount(found), what, FormatCount(limit));
}

// Raw lists behind one another; ends[v] is the end of node v's list.
struct RawLists {
  ShrinkableArray entries;
  std::vector<int64_t> ends;
};

// Before: lists->ends[v] = the start of node v's list. After: its end.
Status FillLists(const Dataset& dataset, const EntryCounts& counts, RawLists* lists) {
  constexpr char kPhase[] = "gathering edges";
  HG_RETURN_IF_ERROR(RepeatUnionEdges(dataset, kPhase, counts.edges, [&](const UnionEdges& edges) {
    const bool fits =
        ScatterEntries(edges, counts.entries, lists->ends.data(), lists->entries.data());
    return fits ? OkStatus() : OtherEdges(kPhase);
  }));
  // Sorting would run over the end of a list that ends before it begins.
  const std::vector<int64_t>& ends = lists->ends;
  const bool whole = ends.empty() || ends.back() == counts.entries;
  return whole && std::is_sorted(ends.begin(), ends.end()) ? OkStatus() : OtherEdges(kPhase);
}

struct RunStats {
  int64_t arcs = 0;
  int64_t weight = 0;
  int64_t divisor = 0;  // greatest common divisor of all weights
};

RunStats SortLists(RawLists* lists, bool drop_duplicates, FoldedGraph* graph) {
  RunStats stats;
  Progress progress("sorting neighbours", static_cast<int64_t>(lists->ends.size()));
  int64_t begin = 0;
  int64_t reported = 0;
  for (size_t v = 0; v < lists->ends.size(); ++v) {
    uint32_t* first = lists->entries.data() + begin;
    uint32_t* last = lists->entries.data() + lists->ends[v];
    std::sort(first, last);
    if (drop_duplicates) graph->in_degrees[v] -= RepeatedInEdges(first, last);
    ForEachRun(first, last, drop_duplicates, [&](uint32_t, int64_t weight) {
      ++stats.arcs;
      stats.weight += weight;
      if (stats.divisor != 1) stats.divisor = std::gcd(stats.divisor, weight);
    });
    begin = lists->ends[v];
    if (v % 65536 == 65535) progress.Advance(static_cast<int64_t>(v) - std::exchange(reported, v));
  }
  return stats;
}

// Writes the runs over the sorted entries, which is safe since a run is never longer than what it
// comes from.
void MergeLists(RawLists* lists, const RunStats& stats, bool drop_duplicates, FoldedGraph* graph) {
  const bool weighted = stats.weight != stats.arcs * std::max<int64_t>(stats.divisor, 1);
  graph->xadj.assign(lists->ends.size() + 1, 0);
  if (weighted) graph->weights.resize(static_cast<size_t>(stats.arcs));
  uint32_t* out = lists->entries.data();
  int64_t begin = 0;
  int32_t written = 0;
  for (size_t v = 0; v < lists->ends.size(); ++v) {
    const uint32_t* first = lists->entries.data() + begin;
    const uint32_t* last = lists->entries.data() + lists->ends[v];
    ForEachRun(first, last, drop_duplicates, [&](uint32_t neighbour, int64_t weight) {
      if (weighted) {
        graph->weights[static_cast<size_t>(written)] = static_cast<int32_t>(weight / stats.divisor);
      }
      out[written++] = neighbour;
    });
    begin = lists->ends[v];
    graph->xadj[v + 1] = written;
  }
  lists->entries.ShrinkTo(static_cast<size_t>(written));
  graph->neighbours = std::move(lists->entries);
}

}  // namespace

Status ShrinkableArray::Allocate(size_t count, std::string_view what) {
  data_.reset(static_cast<uint32_t*>(std::malloc(std::max<size_t>(count, 1) * sizeof(uint32_t))));
  if (data_ == nullptr) {
    return ResourceExhausted("{}: no memory for {}", what,
                             FormatBytes(static_cast<int64_t>(count * sizeof(uint32_t))));
  }
  return OkStatus();
}

void ShrinkableArray::ShrinkTo(size_t count) {
  void* smaller = std::realloc(data_.get(), std::max<size_t>(count, 1) * sizeof(uint32_t));
  if (smaller == nullptr) return;  // the larger block stays valid
  static_cast<void>(data_.release());
  data_.reset(static_cast<uint32_t*>(smaller));
}

StatusOr<FoldedGraph> BuildFoldedGraph(const Dataset& dataset, bool drop_duplicates,
                                       int64_t limit) {
  FoldedGraph graph;
  graph.type_offsets = UnionNodes(dataset).offsets();
  // One bit of an entry is the direction.
  if (graph.num_nodes() >= limit) return TooLarge("nodes", graph.num_nodes(), limit);
  const auto nodes = static_cast<size_t>(graph.num_nodes());
  int64_t max_edges = 0;
  for (const InputRelation& relation : dataset.relations) max_edges += relation.edges->max_edges();
  if (max_edges > limit) return TooLarge("edges", max_edges, limit);

  graph.in_degrees.assign(nodes, 0);
  RawLists lists;
  lists.ends.assign(nodes, 0);
  HG_ASSIGN_OR_RETURN(const EntryCounts counts,
                      CountEntries(dataset, "counting edges", graph.in_degrees, lists.ends));
  graph.directed_edges = counts.edges;
  HG_RETURN_IF_ERROR(lists.entries.Allocate(static_cast<size_t>(counts.entries), "metis: edges"));
  HG_RETURN_IF_ERROR(FillLists(dataset, counts, &lists));

  const bool fold_duplicates = drop_duplicates && dataset.relations.size() == 1;
  const RunStats stats = SortLists(&lists, fold_duplicates, &graph);
  if (stats.arcs > limit) return TooLarge("neighbours (both directions)", stats.arcs, limit);
  const int64_t weight = stats.weight / std::max<int64_t>(stats.divisor, 1);
  if (weight > limit) return TooLarge("edges (summed weights, both directions)", weight, limit);
  MergeLists(&lists, stats, fold_duplicates, &graph);
  return graph;
}

}  // namespace halograph
