// Edge partitioners that decide about one edge at a time: DBH, greedy (PowerGraph) and HDRF.
#pragma once

#include <limits>

#include "common/base/rng.h"
#include "partitioner/methods/literature/edge_partitioner.h"
#include "partitioner/methods/literature/part_state.h"

namespace halograph {

// DBH, degree-based hashing: C. Xie, L. Yan, W.-J. Li, Z. Zhang, "Distributed Power-law Graph
// Computing: Theoretical and Empirical Analysis", NIPS 2014, section 3. The hash of the end with
// the lower degree decides about an edge, so hubs are cut and the many small nodes are not. The
// balance of edges is that of the hash; no bound is kept.
class Dbh : public EdgePartitioner {
 public:
  static constexpr EdgePartitionerTraits kTraits = {.name = "dbh"};

  Status Start(const EdgeStream& stream) override {
    degrees_ = &stream.degrees->of;
    parts_ = static_cast<uint64_t>(stream.parts);
    key_ = Mix(stream.seed);
    return OkStatus();
  }
  void Restart(NodeReplicas* replicas) override { replicas_ = replicas; }
  void PlaceChunk(int, const UnionEdges& edges, std::span<uint16_t> parts) override {
    PlaceEach(this, edges, replicas_, parts);
  }

  void Prefetch(int64_t node) const { degrees_->Prefetch(node); }
  [[nodiscard]] uint16_t Place(int64_t u, int64_t v) const {
    const bool u_lower = (*degrees_)[u].total < (*degrees_)[v].total;
    return static_cast<uint16_t>(
        Bounded(SubKey(key_, static_cast<uint64_t>(u_lower ? u : v)), parts_));
  }

 private:
  const NodeArray<NodeDegree>* degrees_ = nullptr;
  NodeReplicas* replicas_ = nullptr;
  uint64_t parts_ = 1;
  uint64_t key_ = 0;
};

// Greedy vertex cuts: J. Gonzalez, Y. Low, H. Gu, D. Bickson, C. Guestrin, "PowerGraph: Distributed
// Graph-Parallel Computation on Natural Graphs", OSDI 2012, section 4.2.1. The four cases for an
// edge (u, v), A(v) being the partitions that have edges of v already:
//   1. A(u) and A(v) intersect: one of the intersection
//   2. they do not, neither is empty: one of the set of the end with more edges still to come
//   3. one of them is empty: one of the other
//   4. both are: the least loaded partition
// "One of" is the least loaded. The paper bounds nothing, and a stream that follows the graph
// (breadth first) would fill one partition: a partition with edge_imbalance times its share is full
// and not considered; if all that a case offers are full, the least loaded partition takes the
// edge.
class Greedy : public EdgePartitioner {
 public:
  static constexpr EdgePartitionerTraits kTraits = {
      .name = "greedy", .needs_replicas = true, .held_bytes = sizeof(uint32_t)};

  Status Start(const EdgeStream& stream) override {
    stream_ = stream;
    HG_ASSIGN_OR_RETURN(placed_, NodeArray<uint32_t>::Make(stream.num_nodes(), "placed edges"));
    return OkStatus();
  }
  void Restart(NodeReplicas* replicas) override {
    replicas_ = replicas;
    loads_ = EdgeLoads(stream_.parts, stream_.edge_cap());
    placed_.Clear();
    next_edge_ = 0;
  }
  void PlaceChunk(int, const UnionEdges& edges, std::span<uint16_t> parts) override {
    PlaceEach(this, edges, replicas_, parts);
  }

  void Prefetch(int64_t node) const {
    placed_.Prefetch(node);
    stream_.degrees->of.Prefetch(node);
  }
  [[nodiscard]] uint16_t Place(int64_t u, int64_t v) {
    const uint64_t edge = next_edge_++;
    int part = LeastLoaded([&](int w) { return replicas_->Word(u, w) & replicas_->Word(v, w); });
    if (part < 0) {
      const bool none_u = replicas_->Empty(u), none_v = replicas_->Empty(v);
      // An empty set offers nothing, so in case 3 the other end is asked.
      const int64_t asked = none_v || (!none_u && ToCome(u) >= ToCome(v)) ? u : v;
      part = LeastLoaded([&](int w) { return replicas_->Word(asked, w); });
    }
    if (part < 0) {
      // Ties by chance, or partition 0 would get the first edge of everything.
      const uint64_t chance = SubKey(Mix(stream_.seed), edge);
      part = loads_.LeastLoaded(
          static_cast<int>(Bounded(chance, static_cast<uint64_t>(stream_.parts))));
    }
    loads_.Add(part);
    ++placed_[u];
    ++placed_[v];
    return static_cast<uint16_t>(part);
  }

 private:
  [[nodiscard]] uint32_t ToCome(int64_t node) const {
    return stream_.degrees->of[node].total - placed_[node];
  }
  // Of the partitions in words(0), words(1), ... that have room; -1 if there is none.
  template <typename Words>
  [[nodiscard]] int LeastLoaded(const Words& words) const {
    int best = -1;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (int w = 0; w < replicas_->words(); ++w) {
      ForEachPart(words(w), w, [&](int part) {
        // No branches: which is the least loaded is as good as random to the processor.
        const int64_t load = loads_.of(part);
        const bool better = static_cast<int>(load < least) & static_cast<int>(loads_.HasRoom(part));
        best = better ? part : best;
        least = better ? load : least;
      });
    }
    return best;
  }

  EdgeStream stream_;
  NodeReplicas* replicas_ = nullptr;
  EdgeLoads loads_;
  NodeArray<uint32_t> placed_;  // edges of a node placed so far
  uint64_t next_edge_ = 0;
};

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
class Hdrf : public EdgePartitioner {
 public:
  static constexpr EdgePartitionerTraits kTraits = {.name = "hdrf", .needs_replicas = true};
  static constexpr double kEpsilon = 1;

  Status Start(const EdgeStream& stream) override {
    stream_ = stream;
    return OkStatus();
  }
  void Restart(NodeReplicas* replicas) override {
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
  NodeReplicas* replicas_ = nullptr;
  EdgeLoads loads_;
  uint64_t next_edge_ = 0;
};

}  // namespace halograph
