// The graph in the form that METIS takes: the union of all node types, undirected, without
// self-loops. Each pair of neighbours is there once, weighted by the number of directed edges
// between them. It is built in two passes over the edges, without a second copy of them.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

// An array that can give memory back without being copied (std::vector cannot).
class ShrinkableArray {
 public:
  ShrinkableArray() = default;
  // ResourceExhausted, naming `what` and the bytes, if the memory cannot be had.
  [[nodiscard]] Status Allocate(size_t count, std::string_view what);
  void ShrinkTo(size_t count);  // keeps the first `count` elements
  void Free() { data_.reset(); }
  [[nodiscard]] uint32_t* data() { return data_.get(); }
  [[nodiscard]] const uint32_t* data() const { return data_.get(); }

 private:
  struct Deleter {
    void operator()(uint32_t* p) const { std::free(p); }
  };
  std::unique_ptr<uint32_t[], Deleter> data_;
};

// Not thread-safe while built; then immutable. A neighbour is the node's type offset + input id.
struct FoldedGraph {
  std::vector<int64_t> type_offsets;  // types + 1; the last is the number of nodes
  std::vector<int32_t> xadj;          // nodes + 1
  ShrinkableArray neighbours;         // xadj.back(), ascending per node
  std::vector<int32_t> weights;       // xadj.back(), or empty where all weights are equal
  std::vector<int32_t> in_degrees;    // per node, self-loops included
  int64_t directed_edges = 0;         // of the stream

  [[nodiscard]] int64_t num_nodes() const { return type_offsets.back(); }
  [[nodiscard]] int64_t num_arcs() const { return xadj.back(); }  // each pair counts twice
};

// What one 32-bit index of METIS can hold: nodes, arcs, and every sum of weights. A parameter of
// BuildFoldedGraph so that tests can refuse small graphs.
inline constexpr int64_t kMetisLimit = 2147483647;

// `drop_duplicates`: parallel edges of one direction weigh as one (exact where the graph has one
// relation; parallel edges over several relations keep their weight).
//   ResourceExhausted  nodes, arcs or weights exceed `limit` (numbers and advice), or no memory
//   DataLoss           the second pass gave other edges than the first
// and whatever the edge stream reports.
[[nodiscard]] StatusOr<FoldedGraph> BuildFoldedGraph(const Dataset& dataset, bool drop_duplicates,
                                                     int64_t limit = kMetisLimit);

}  // namespace halograph
