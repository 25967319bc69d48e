// The interface of an edge partitioner. It puts each edge of a stream into a partition. A node
// then has a replica in each partition that has one of its edges. There is one small class per
// paper; what is the same for all (passes, replica sets, owners, balance, report) is in
// edge_method.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "common/base/status.h"
#include "partitioner/methods/degrees.h"
#include "partitioner/methods/literature/part_state.h"
#include "partitioner/methods/method.h"
#include "partitioner/stream/ahead.h"

namespace halograph {

// How many edges ahead of the current one the state of both ends is asked for: a miss of memory
// takes about as long as this many edges.
inline constexpr size_t kPrefetchEdges = 12;

// What PlaceChunk gives for an edge that another placing pass places.
inline constexpr uint16_t kPlacedElsewhere = 0xffff;

// What is known of the stream after the degree pass. Outlives the partitioner that is started
// with it.
struct EdgeStream {
  const Dataset* dataset = nullptr;
  const Degrees* degrees = nullptr;
  int parts = 1;
  uint64_t seed = 0;
  EdgePartitionOptions options = {};

  [[nodiscard]] int64_t num_nodes() const { return degrees->num_nodes(); }
  [[nodiscard]] int64_t num_edges() const { return degrees->edges; }
  // What a partition takes of them where a rule keeps a bound.
  [[nodiscard]] int64_t edge_cap() const {
    return ShareCap(num_edges(), parts, options.edge_imbalance);
  }
  // What a cluster of its nodes holds at most: volume_factor of the edges' even share, as far as
  // 32 bits hold it; at least 1.
  [[nodiscard]] uint32_t max_volume() const {
    const double share = static_cast<double>(num_edges()) / parts;
    constexpr double kMost = std::numeric_limits<uint32_t>::max();
    return static_cast<uint32_t>(std::clamp(options.volume_factor * share, 1.0, kMost));
  }
};

// What a partitioner costs, in bytes a node beside degrees and replica sets.
struct EdgePartitionerTraits {
  std::string_view name;
  bool needs_replicas = false;  // its rule looks at A(v)
  int64_t start_bytes = 0;      // in the passes of Start
  int64_t settle_bytes = 0;     // behind them, in Start too
  int64_t held_bytes = 0;       // after Start
};

// Deterministic. Start once, then any number of rounds: Restart and PlaceChunk for all chunks of
// each placing pass, which gives the same placements every time. Not thread-safe.
class EdgePartitioner {
 public:
  virtual ~EdgePartitioner() = default;
  // Passes of its own (clustering). Their errors; ResourceExhausted without memory.
  [[nodiscard]] virtual Status Start(const EdgeStream& stream) = 0;
  // Over the whole stream; each edge is placed in exactly one of them.
  [[nodiscard]] virtual int placing_passes() const { return 1; }
  // Forgets all placements. `replicas` is empty, filled by PlaceChunk; null only where the traits
  // do not need it.
  virtual void Restart(NodeReplicas* replicas) = 0;
  // parts[i]: where edge i goes, or kPlacedElsewhere.
  virtual void PlaceChunk(int pass, const UnionEdges& edges, std::span<uint16_t> parts) = 0;
};

// The loop of PlaceChunk: PlacerT has `void Prefetch(int64_t node)` and
// `uint16_t Place(int64_t u, int64_t v)`, u being the source.
template <typename PlacerT>
void PlaceEach(PlacerT* placer, const UnionEdges& edges, NodeReplicas* replicas,
               std::span<uint16_t> parts) {
  const size_t count = edges.sources.size();
  for (size_t i = 0; i < count; ++i) {
    AskForEnds(edges, i + kPrefetchEdges, [&](int64_t node) {
      placer->Prefetch(node);
      if (replicas != nullptr) replicas->Prefetch(node);
    });
    const int64_t u = edges.sources[i];
    const int64_t v = edges.destinations[i];
    const uint16_t part = placer->Place(u, v);
    parts[i] = part;
    if (replicas == nullptr || part == kPlacedElsewhere) continue;
    replicas->Add(u, part);
    replicas->Add(v, part);
  }
}

}  // namespace halograph
