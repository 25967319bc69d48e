// DBH, degree-based hashing: C. Xie, L. Yan, W.-J. Li, Z. Zhang, "Distributed Power-law Graph
// Computing: Theoretical and Empirical Analysis", NIPS 2014, section 3. An edge goes where the hash
// of its end of lower degree says, so that the hubs are cut and the many small nodes are not.
// Balance of edges is that of the hash: no bound is kept.
#pragma once

#include "common/base/rng.h"
#include "partitioner/methods/literature/edge_partitioner.h"

namespace halograph {

class Dbh : public EdgePartitioner {
 public:
  static constexpr EdgePartitionerTraits kTraits = {.name = "dbh"};

  Status Start(const EdgeStream& stream) override {
    degrees_ = &stream.degrees->of;
    parts_ = static_cast<uint64_t>(stream.parts);
    key_ = Mix(stream.seed);
    return OkStatus();
  }
  void Restart(ReplicaSets* replicas) override { replicas_ = replicas; }
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
  ReplicaSets* replicas_ = nullptr;
  uint64_t parts_ = 1;
  uint64_t key_ = 0;
};

}  // namespace halograph
