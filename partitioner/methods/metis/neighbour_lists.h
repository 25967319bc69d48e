// Builds lists of neighbours in two passes over the edges, for FoldedGraph (in memory) and
// DiskCsr (in files). Entries are counted, scattered to the lists of their nodes and sorted;
// entries of the same neighbour are merged. Pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/stream/edge_pass.h"

namespace halograph {

// One entry a neighbour and direction: twice the neighbour, plus one where the edge comes in.
constexpr uint32_t NeighbourEntry(int64_t neighbour, bool incoming) {
  return static_cast<uint32_t>(neighbour) << 1 | static_cast<uint32_t>(incoming);
}

struct EntryCounts {
  int64_t edges = 0;    // of the stream
  int64_t entries = 0;  // two an edge that is no self-loop
};

// The first pass. starts[v], zeroed before: where node v's list begins, the lists lying one behind
// the other. in_degrees[v], zeroed before: in-edges, self-loops included; stops at what 32 bits
// hold. Errors are the edge stream's.
[[nodiscard]] StatusOr<EntryCounts> CountEntries(const Dataset& dataset, const std::string& phase,
                                                 std::span<int32_t> in_degrees,
                                                 std::span<int64_t> starts);

// The second pass, a chunk at a time: next[v], at first the start of node v's list, moves to its
// end. False where an entry would lie at `end` or behind it, which only happens where the stream
// gives other edges than in the first pass.
[[nodiscard]] bool ScatterEntries(const UnionEdges& edges, int64_t end, int64_t* next,
                                  uint32_t* entries);

// Calls emit(neighbour, weight) for each run of one neighbour in a sorted list. A weight counts
// both directions apart: with drop_duplicates each at most once.
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

// In-edges of a sorted list that are there more than once.
[[nodiscard]] int32_t RepeatedInEdges(const uint32_t* begin, const uint32_t* end);

}  // namespace halograph
