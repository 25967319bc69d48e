#include "partitioner/methods/folded_graph.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "common/base/progress.h"
#include "common/base/units.h"

namespace halograph {
namespace {

Status TooLarge(std::string_view what, int64_t found, int64_t limit) {
  return ResourceExhausted(
      "metis: {} {} are more than its 32-bit index holds ({}); use --method random, or leave out "
      "constraints with --balance",
      FormatCount(found), what, FormatCount(limit));
}

// Calls visit(source, destination) with union ids for every edge of every relation.
template <typename Visit>
Status ForEachEdge(const Dataset& dataset, const std::vector<int64_t>& type_offsets,
                   std::string_view phase, Visit visit) {
  int64_t total = 0;
  for (const InputRelation& relation : dataset.relations) total += relation.edges->max_edges();
  Progress progress(std::string(phase), total);
  EdgeChunk chunk;
  for (const InputRelation& relation : dataset.relations) {
    const auto source = static_cast<size_t>(dataset.NodeTypeIndex(relation.source));
    const auto destination = static_cast<size_t>(dataset.NodeTypeIndex(relation.destination));
    const int64_t source_offset = type_offsets[source];
    const int64_t destination_offset = type_offsets[destination];
    HG_ASSIGN_OR_RETURN(const auto cursor, relation.edges->Open());
    while (true) {
      HG_ASSIGN_OR_RETURN(const bool more, cursor->Next(&chunk));
      if (!more) break;
      visit(chunk, source_offset, destination_offset);
      progress.Advance(static_cast<int64_t>(chunk.size()));
    }
  }
  return OkStatus();
}

// One entry a neighbour and direction: twice the neighbour, plus one where the edge comes in.
constexpr uint32_t Entry(int64_t neighbour, bool incoming) {
  return static_cast<uint32_t>(neighbour) << 1 | static_cast<uint32_t>(incoming);
}

// Loads that miss the cache are asked for this many edges ahead.
constexpr size_t kAhead = 24;

// Raw lists behind one another; ends[v] is the end of node v's list.
struct RawLists {
  ShrinkableArray entries;
  std::vector<int64_t> ends;
};

Status CountDegrees(const Dataset& dataset, FoldedGraph* graph, std::vector<int64_t>* degrees) {
  auto count = [&](const EdgeChunk& chunk, int64_t source_offset, int64_t destination_offset) {
    for (size_t i = 0; i < chunk.size(); ++i) {
      const int64_t u = chunk.sources[i] + source_offset;
      const int64_t v = chunk.destinations[i] + destination_offset;
      ++graph->in_degrees[static_cast<size_t>(v)];
      if (u == v) continue;
      ++(*degrees)[static_cast<size_t>(u)];
      ++(*degrees)[static_cast<size_t>(v)];
    }
    graph->directed_edges += static_cast<int64_t>(chunk.size());
  };
  return ForEachEdge(dataset, graph->type_offsets, "counting edges", count);
}

// Before: lists->ends[v] = the start of node v's list. After: its end.
Status FillLists(const Dataset& dataset, const FoldedGraph& graph, RawLists* lists) {
  uint32_t* entries = lists->entries.data();
  int64_t* next = lists->ends.data();
  auto fill = [&](const EdgeChunk& chunk, int64_t source_offset, int64_t destination_offset) {
    for (size_t i = 0; i < chunk.size(); ++i) {
      if (i + kAhead < chunk.size()) {
        __builtin_prefetch(next + chunk.sources[i + kAhead] + source_offset, 1);
        __builtin_prefetch(next + chunk.destinations[i + kAhead] + destination_offset, 1);
      }
      if (i + kAhead / 2 < chunk.size()) {
        __builtin_prefetch(entries + next[chunk.sources[i + kAhead / 2] + source_offset], 1);
        __builtin_prefetch(entries + next[chunk.destinations[i + kAhead / 2] + destination_offset],
                           1);
      }
      const int64_t u = chunk.sources[i] + source_offset;
      const int64_t v = chunk.destinations[i] + destination_offset;
      if (u == v) continue;
      entries[next[u]++] = Entry(v, false);
      entries[next[v]++] = Entry(u, true);
    }
  };
  return ForEachEdge(dataset, graph.type_offsets, "gathering edges", fill);
}

struct RunStats {
  int64_t arcs = 0;
  int64_t weight = 0;
  int64_t divisor = 0;  // greatest common divisor of all weights
};

// Calls emit(neighbour, weight) for each run of one neighbour in a sorted list.
template <typename Emit>
void ForEachRun(const uint32_t* begin, const uint32_t* end, bool drop_duplicates, Emit emit) {
  while (begin < end) {
    const uint32_t neighbour = *begin >> 1;
    int64_t weight = 1;
    const uint32_t* next = begin + 1;
    for (; next < end && *next >> 1 == neighbour; ++next) {
      weight += !drop_duplicates || *next != *(next - 1) ? 1 : 0;
    }
    emit(neighbour, weight);
    begin = next;
  }
}

int32_t RepeatedInEdges(const uint32_t* begin, const uint32_t* end) {
  int32_t repeated = 0;
  for (const uint32_t* entry = begin; entry + 1 < end; ++entry) {
    repeated += entry[0] == entry[1] && (entry[0] & 1) != 0 ? 1 : 0;
  }
  return repeated;
}

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

// Degrees become the starts of the lists; returns their total.
int64_t PrefixSum(std::vector<int64_t>* degrees) {
  int64_t total = 0;
  for (int64_t& degree : *degrees) {
    const int64_t start = total;
    total += degree;
    degree = start;
  }
  return total;
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
  graph.type_offsets.push_back(0);
  for (const InputNodeType& type : dataset.node_types) {
    graph.type_offsets.push_back(graph.type_offsets.back() + type.count);
  }
  // One bit of an entry is the direction.
  if (graph.num_nodes() >= limit) return TooLarge("nodes", graph.num_nodes(), limit);
  const auto nodes = static_cast<size_t>(graph.num_nodes());
  int64_t max_edges = 0;
  for (const InputRelation& relation : dataset.relations) max_edges += relation.edges->max_edges();
  if (max_edges > limit) return TooLarge("edges", max_edges, limit);

  graph.in_degrees.assign(nodes, 0);
  RawLists lists;
  lists.ends.assign(nodes, 0);
  HG_RETURN_IF_ERROR(CountDegrees(dataset, &graph, &lists.ends));
  const int64_t entries = PrefixSum(&lists.ends);
  HG_RETURN_IF_ERROR(lists.entries.Allocate(static_cast<size_t>(entries), "metis: edges"));
  HG_RETURN_IF_ERROR(FillLists(dataset, graph, &lists));

  const bool fold_duplicates = drop_duplicates && dataset.relations.size() == 1;
  const RunStats stats = SortLists(&lists, fold_duplicates, &graph);
  if (stats.arcs > limit) return TooLarge("neighbours (both directions)", stats.arcs, limit);
  const int64_t weight = stats.weight / std::max<int64_t>(stats.divisor, 1);
  if (weight > limit) return TooLarge("edges (summed weights, both directions)", weight, limit);
  MergeLists(&lists, stats, fold_duplicates, &graph);
  return graph;
}

}  // namespace halograph
