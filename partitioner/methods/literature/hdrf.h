// HDRF, high-degree are replicated first: F. Petroni, L. Querzoni, K. Daudjee, S. Kamali,
// G. Iacoboni, "HDRF: Stream-Based Partitioning for Power-Law Graphs", CIKM 2015, section 3.
// An edge (u, v) goes to the partition p with the largest C(u, v, p) = C_REP + lambda * C_BAL:
//   theta(u) = d(u) / (d(u) + d(v))
//   g(u, p)  = 1 + (1 - theta(u)) if p is in A(u), else 0
//   C_REP    = g(u, p) + g(v, p)
//   C_BAL    = (maxsize - |p|) / (epsilon + maxsize - minsize)
// The paper counts d while the stream passes; here the true degrees are known from a pass before.
// Only partitions in A(u) or A(v) and the least loaded one can win, so no others are looked at. A
// partition with edge_imbalance times its share of edges is full and not considered.
#pragma once

#include "common/base/rng.h"
#include "partitioner/methods/literature/edge_loads.h"
#include "partitioner/methods/literature/edge_partitioner.h"

namespace halograph {

class Hdrf : public EdgePartitioner {
 public:
  static constexpr EdgePartitionerTraits kTraits = {.name = "hdrf", .needs_replicas = true};
  static constexpr double kEpsilon = 1;

  Status Start(const EdgeStream& stream) override {
    stream_ = stream;
    return OkStatus();
  }
  void Restart(ReplicaSets* replicas) override {
    replicas_ = replicas;
    loads_ = EdgeLoads(stream_.parts, stream_.edge_cap());
    next_edge_ = 0;
  }
  void PlaceChunk(int, const UnionEdges& edges, std::span<uint16_t> parts) override {
    PlaceEach(this, edges, replicas_, parts);
  }

  void Prefetch(int64_t node) const { stream_.degrees->of.Prefetch(node); }
  [[nodiscard]] uint16_t Place(int64_t u, int64_t v) {
    const double degree_u = stream_.degrees->of[u].total;
    const double degree_v = stream_.degrees->of[v].total;
    const double gain_u = 1 + degree_v / (degree_u + degree_v);
    const double gain_v = 1 + degree_u / (degree_u + degree_v);
    const auto most = static_cast<double>(loads_.most());
    const double weight =
        stream_.options.hdrf_lambda / (kEpsilon + most - static_cast<double>(loads_.least()));
    // Ties of load by chance, of score for a replica.
    const uint64_t chance = SubKey(Mix(stream_.seed), next_edge_++);
    int best =
        loads_.LeastLoaded(static_cast<int>(Bounded(chance, static_cast<uint64_t>(stream_.parts))));
    double best_score = weight * (most - static_cast<double>(loads_.of(best)));
    for (int w = 0; w < replicas_->words(); ++w) {
      const uint64_t of_u = replicas_->Word(u, w), of_v = replicas_->Word(v, w);
      ForEachPart(of_u | of_v, w, [&](int part) {
        const int bit = part % 64;
        const double score = weight * (most - static_cast<double>(loads_.of(part))) +
                             static_cast<double>(of_u >> bit & 1) * gain_u +
                             static_cast<double>(of_v >> bit & 1) * gain_v;
        // No branches: which partition wins is as good as random to the processor.
        const bool better =
            static_cast<int>(score >= best_score) & static_cast<int>(loads_.HasRoom(part));
        best = better ? part : best;
        best_score = better ? score : best_score;
      });
    }
    loads_.Add(best);
    return static_cast<uint16_t>(best);
  }

 private:
  EdgeStream stream_;
  ReplicaSets* replicas_ = nullptr;
  EdgeLoads loads_;
  uint64_t next_edge_ = 0;
};

}  // namespace halograph
