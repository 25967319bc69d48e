// Packs clusters into partitions: the largest first, each into the partition that is filled
// least (R. Graham's rule for machines, at most 4/3 of the best possible). Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "common/base/rng.h"
#include "partitioner/stream/node_array.h"

namespace halograph {

// What a cluster takes of two quantities, in even shares of a partition.
struct ClusterShare {
  double nodes = 0;
  double volume = 0;

  [[nodiscard]] double larger() const { return std::max(nodes, volume); }
};

// parts[c] for clusters 0 to count - 1; clusters without volume are left at 0. share(c) is asked
// several times. `key` decides between equals. ResourceExhausted without memory: 6 bytes a cluster.
template <typename Share>
[[nodiscard]] StatusOr<NodeArray<uint16_t>> PackClusters(int64_t count, int parts, uint64_t key,
                                                         const Share& share) {
  HG_ASSIGN_OR_RETURN(auto order, NodeArray<uint32_t>::Make(count, "order of clusters"));
  size_t used = 0;
  for (int64_t c = 0; c < count; ++c) {
    if (share(c).volume > 0) order.data()[used++] = static_cast<uint32_t>(c);
  }
  std::sort(order.data(), order.data() + used, [&](uint32_t a, uint32_t b) {
    const double larger_a = share(a).larger(), larger_b = share(b).larger();
    return larger_a != larger_b ? larger_a > larger_b : SubKey(key, a) < SubKey(key, b);
  });
  HG_ASSIGN_OR_RETURN(auto part_of, NodeArray<uint16_t>::Make(count, "partitions of clusters"));
  using Filled = std::tuple<double, uint64_t, uint16_t>;  // how much, chance, partition
  std::priority_queue<Filled, std::vector<Filled>, std::greater<>> least;
  std::vector<ClusterShare> filled(static_cast<size_t>(parts));
  for (int p = 0; p < parts; ++p) {
    least.emplace(0, SubKey(~key, static_cast<uint64_t>(p)), static_cast<uint16_t>(p));
  }
  for (size_t i = 0; i < used; ++i) {
    const auto [before, chance, part] = least.top();
    least.pop();
    const ClusterShare taken = share(order.data()[i]);
    ClusterShare& now = filled[part];
    now = {now.nodes + taken.nodes, now.volume + taken.volume};
    least.emplace(now.larger(), chance, part);
    part_of[order.data()[i]] = part;
  }
  return part_of;
}

}  // namespace halograph
