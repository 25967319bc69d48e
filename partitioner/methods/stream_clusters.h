// Finds clusters of nodes in one pass over the edges (A. Hollocou, J. Maudet, T. Bonald, M.
// Lelarge, "A Streaming Algorithm for Graph Clustering", 2017). SPRING, 2PS-L and stream-metis
// begin with it. Every node starts as its own cluster. For each edge whose ends are in clusters
// of at most `max_volume`, the end in the cluster of lower volume moves to the other cluster, if
// that stays within `max_volume`. Volume is the sum of the true degrees of a cluster's nodes. It
// works because most edges lie within communities, so nodes that are joined early mostly belong
// together.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "partitioner/methods/clusters.h"
#include "partitioner/methods/degrees.h"
#include "partitioner/stream/edge_pass.h"
#include "partitioner/stream/node_array.h"

namespace halograph {

// Which volumes are compared: of the whole clusters (Hollocou, SPRING), or without the node that
// would move (2PS-L).
enum class ComparedVolume { kWhole, kWithoutNode };

// Not thread-safe. A cluster is named by the node that it began with; a cluster whose nodes all
// left has volume 0.
class StreamClusters {
 private:
  // Degrees beside the clusters: both ends of an edge are met at random, and a line of memory each
  // is what a pass has time for.
  struct Member {
    uint32_t cluster = 0;
    uint32_t degree = 0;
  };

 public:
  static constexpr int64_t kBytesPerNode = sizeof(Member) + sizeof(uint32_t);
  static constexpr int64_t kTakeBytesPerNode = sizeof(Member) + Clusters::kBytesPerNode;

  // Each node alone; `what` names the method in messages.
  //   ResourceExhausted  no memory, or more than 2^32 - 1 nodes
  [[nodiscard]] static StatusOr<StreamClusters> Make(const Degrees& degrees, uint32_t max_volume,
                                                     ComparedVolume compared,
                                                     std::string_view what);

  // All edges of a chunk, in order.
  void JoinAll(const UnionEdges& edges);

  // What has become of the nodes; a node without edges is alone. Names are as they were, count is
  // the number of nodes. Empties this. ResourceExhausted: no memory.
  [[nodiscard]] StatusOr<Clusters> Take();

 private:
  template <ComparedVolume kCompared>
  void JoinEach(const UnionEdges& edges);
  template <ComparedVolume kCompared>
  void Join(Member* u, Member* v);
  void Move(Member* member, uint32_t to);

  uint32_t max_volume_ = 0;
  ComparedVolume compared_ = ComparedVolume::kWhole;
  NodeArray<Member> members_;   // of a node
  NodeArray<uint32_t> volume_;  // of a cluster
};

}  // namespace halograph
