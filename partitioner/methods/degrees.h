// Counts the degrees of all nodes in one pass over the edges. Streaming methods begin with it.
// Each later pass compares its number of edges with that of this pass (RepeatUnionEdges).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/stream/node_array.h"

namespace halograph {

// Side by side, because a pass touches both. Counts stop at kMaxDegree.
struct NodeDegree {
  uint32_t in = 0;     // in-edges, self-loops included: what a partition will hold of a node
  uint32_t total = 0;  // ends of edges
};
inline constexpr uint32_t kMaxDegree = 2147483647;

// What a self-loop adds to its node's total.
enum class SelfLoops { kIgnored, kTwoEnds };

struct Degrees {
  NodeArray<NodeDegree> of;  // per union id
  int64_t edges = 0;         // of the stream
  int64_t volume = 0;        // sum of total
  int64_t connected = 0;     // nodes whose total is not 0

  [[nodiscard]] int64_t num_nodes() const { return of.size(); }
};

// ResourceExhausted without memory; and whatever the edge stream reports.
[[nodiscard]] StatusOr<Degrees> CountDegrees(const Dataset& dataset, SelfLoops self_loops);

// Counts the edge ends of each node. Counted in the random order in which they come, each would
// miss the cache, and at 100 million nodes the translation of addresses too. So ends are sorted
// into ranges of nodes whose counts fit the cache: first into a short queue per range, which stays
// in the cache as well, then in runs into a longer one, until there are enough to count them all.
// At 111 million nodes this halves the time. Not thread-safe.
class EndCounter {
 public:
  static constexpr int kRangeBits = 18;
  static constexpr int64_t kRangeNodes = int64_t{1} << kRangeBits;

  // Counts into `degrees`, which outlives this. ResourceExhausted: no memory.
  [[nodiscard]] static StatusOr<EndCounter> Make(NodeArray<NodeDegree>* degrees);
  // About a byte a node.
  [[nodiscard]] static int64_t Bytes(int64_t nodes);

  void AddSource(int64_t node) { Add(static_cast<uint64_t>(node), 0); }
  void AddDestination(int64_t node) { Add(static_cast<uint64_t>(node), 1); }
  // Counts what still waits.
  void Finish();

 private:
  static constexpr uint32_t kQueued = 1024;
  static constexpr uint32_t kWaiting = 1 << 16;

  struct Range {
    uint32_t queued = 0;
    uint32_t waiting = 0;
  };

  // An end: its node's place in the range, and whether it is a destination.
  void Add(uint64_t node, uint32_t is_destination) {
    const size_t range = node >> kRangeBits;
    uint32_t& queued = ranges_[range].queued;
    const auto place = static_cast<uint32_t>(node & (kRangeNodes - 1));
    queues_[static_cast<int64_t>(range * kQueued + queued)] = place << 1 | is_destination;
    if (++queued == kQueued) Dequeue(range);
  }
  void Dequeue(size_t range);
  void CountRange(size_t range);

  NodeArray<NodeDegree>* degrees_ = nullptr;
  std::vector<Range> ranges_;
  NodeArray<uint32_t> queues_;   // kQueued ends a range
  NodeArray<uint32_t> waiting_;  // kWaiting ends a range
};

}  // namespace halograph
