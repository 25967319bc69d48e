// 2PS-L, two-phase streaming in linear time: R. Mayer, K. Orujzade, H.-A. Jacobsen, "Out-of-Core
// Edge Partitioning at Linear Run-Time", ICDE 2022, section III.
// Phase 1 (Algorithm 1): streaming clustering with a bound on volume.
// Phase 2 (Algorithm 2): clusters go to partitions, largest volume first into the least filled. An
// edge whose ends' clusters lie in one partition goes there ("pre-partitioning", a pass of its
// own). Any other goes to one of the two partitions of its ends' clusters, whichever scores more:
//   s(u, v, p) = g(u, p) + g(v, p) + sc(u, p) + sc(v, p)
//   g(u, p)    = 1 + (1 - d(u) / (d(u) + d(v)))   if u has a replica on p, else 0
//   sc(u, p)   = vol(c(u)) / (vol(c(u)) + vol(c(v)))   if c(u) lies in p, else 0
// A partition with edge_imbalance times its share of edges is full: its edges go where the hash of
// their end of higher degree says, or to the least loaded partition if that is full as well.
#pragma once

#include "partitioner/methods/literature/edge_partitioner.h"
#include "partitioner/methods/literature/part_state.h"
#include "partitioner/methods/stream_clusters.h"

namespace halograph {

class TwoPhase : public EdgePartitioner {
 public:
  // Clusters; then these while they are taken, which is more than their order and partitions; then
  // the partitions of nodes as well.
  static constexpr EdgePartitionerTraits kTraits = {
      .name = "2ps-l",
      .needs_replicas = true,
      .start_bytes = StreamClusters::kBytesPerNode,
      .settle_bytes = StreamClusters::kTakeBytesPerNode,
      .held_bytes = Clusters::kBytesPerNode + 2};

  Status Start(const EdgeStream& stream) override;
  int placing_passes() const override { return 2; }
  void Restart(NodeReplicas* replicas) override;
  void PlaceChunk(int pass, const UnionEdges& edges, std::span<uint16_t> parts) override;

  // Of a node's cluster; of a node without edges 0.
  [[nodiscard]] int PartOf(int64_t node) const { return part_[node]; }
  [[nodiscard]] const Clusters& clusters() const { return clusters_; }

 private:
  struct PrePartitioning;
  struct Scoring;

  [[nodiscard]] uint16_t TakeOrPassOn(int part, int64_t u, int64_t v);
  [[nodiscard]] int BetterOf(int64_t u, int64_t v) const;

  EdgeStream stream_;
  NodeReplicas* replicas_ = nullptr;
  EdgeLoads loads_;
  Clusters clusters_;
  NodeArray<uint16_t> part_;  // of a node's cluster
};

}  // namespace halograph
