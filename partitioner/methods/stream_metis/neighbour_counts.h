// Counts in one pass over the edges how many neighbours a node has in each partition: one byte
// per node and partition, for a range of nodes. Counts stop at 255. A node with many neighbours
// therefore counts only a hashed share (1/2, 1/4, ...) of them, which gives an unbiased
// estimate. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "common/base/rng.h"
#include "common/base/status.h"
#include "common/graph/partition_book.h"
#include "partitioner/methods/degrees.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/stream/edge_pass.h"
#include "partitioner/stream/node_array.h"

namespace halograph {

// Half of the nodes by hash; `odd` is the other half.
struct HashedHalf {
  uint64_t key = 0;
  bool odd = false;

  [[nodiscard]] bool Has(int64_t node) const {
    return ((Mix(key ^ static_cast<uint64_t>(node)) & 1) != 0) == odd;
  }
};

class NeighbourCounts {
 public:
  // For ranges of at most max_nodes. Keeps a reference to `degrees`. ResourceExhausted: no memory.
  [[nodiscard]] static StatusOr<NeighbourCounts> Make(const Degrees& degrees, int parts,
                                                      int64_t max_nodes, uint64_t key);

  // One pass that counts for the nodes of `range`; with `half` for its nodes only, the rest stays
  // 0. Edges count in both directions, self-loops not at all. Returns the edges of the stream whose
  // ends have different owners. DataLoss: another number of edges than in the degree pass; and what
  // the edge stream reports.
  [[nodiscard]] StatusOr<int64_t> Count(const Dataset& dataset, std::span<const uint16_t> owners,
                                        IdRange range, const HashedHalf* half);

  // [parts], of a node of the range. Times Scale, about the number of edges to a partition.
  [[nodiscard]] const uint8_t* Of(int64_t node) const {
    return counts_.data() + (node - range_.begin) * parts_;
  }
  [[nodiscard]] int Scale(int64_t node) const { return 1 << Shift(degrees_->of[node].total); }

 private:
  NeighbourCounts(const Degrees& degrees, int parts, uint64_t key)
      : degrees_(&degrees), parts_(parts), key_(key) {}

  static constexpr uint32_t kManyNeighbours = 256;
  // Of edge ends, one of 2^Shift is counted: 128 of them at most, about.
  [[nodiscard]] static int Shift(uint32_t degree) {
    return degree < kManyNeighbours ? 0 : 25 - __builtin_clz(degree);
  }
  void Add(int64_t node, int64_t neighbour, uint16_t owner);
  template <typename Wanted>
  int64_t CountChunk(const UnionEdges& edges, const uint16_t* owners, Wanted wanted);

  const Degrees* degrees_;
  int parts_;
  uint64_t key_;
  IdRange range_;
  NodeArray<uint8_t> counts_;
};

}  // namespace halograph
