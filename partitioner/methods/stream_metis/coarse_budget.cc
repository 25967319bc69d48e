#include "partitioner/methods/stream_metis/coarse_budget.h"

#include <algorithm>

#include "partitioner/methods/constraints.h"
#include "partitioner/methods/degrees.h"
#include "partitioner/methods/stream_clusters.h"
#include "partitioner/methods/stream_metis/pair_sample.h"
#include "partitioner/stream/edge_pass.h"

namespace halograph {
namespace {

// Replication against METIS' own, 8 partitions, planted and hierarchical graphs of a million nodes:
// 3 nodes a cluster 1.000 and 1.000, 18 nodes 1.017 and 1.019; on small graphs 1.00 with 4 nodes a
// cluster, 1.014 with 10. So clusters are as small as METIS' time allows, which is what 5 M bound.
constexpr int64_t kNodesPerCluster = 25;
constexpr int64_t kLeastClusters = 500'000;
constexpr int64_t kMostClusters = 5'000'000;
constexpr int64_t kMostPairs = 40'000'000;
// Clustering does not hit its aim exactly.
constexpr double kClusterSlack = 1.5;

// The least that makes sense: METIS needs some clusters a partition to balance, and a cluster some
// neighbours to find its place.
constexpr int64_t kFewestClustersPerPart = 64;
constexpr int64_t kFewestPairsPerCluster = 8;

// METIS on the coarse graph, measured: its own levels beside the graph it is given.
constexpr int64_t kMetisPairBytes = 110;
constexpr int64_t kMetisClusterBytes = 80;
constexpr int64_t kMetisWeightBytes = 12;  // a cluster and constraint

// With fewer counters a round would see little of the graph (kMaxPassesPerRound).
constexpr int64_t kLeastCounterBytesPerNode = 1;

// Degrees and rows of sets: held from the start to the end.
int64_t StandingBytes(const GraphCounts& counts, const MethodOptions& options) {
  return (8 + BalancedSets(counts, options.balance)) * counts.num_nodes();
}

int64_t ClusterBytes(const GraphCounts& counts, const MethodOptions& options) {
  return kMetisClusterBytes + kMetisWeightBytes * MostConstraints(counts, options.balance);
}

// The cluster of each node.
constexpr int64_t kClusterOfBytes = 4;

}  // namespace

int64_t CoarseMemory(const GraphCounts& counts, const MethodOptions& options) {
  return MemoryLeft(options.memory, kProgramBytes + StandingBytes(counts, options) +
                                        kClusterOfBytes * counts.num_nodes());
}

CoarseBudget ChooseBudget(const GraphCounts& counts, const MethodOptions& options) {
  const int64_t nodes = counts.num_nodes();
  const int64_t standing = kProgramBytes + kEdgePassBytes + StandingBytes(counts, options);
  const int64_t room = std::max<int64_t>(options.memory - standing, 0);

  const int64_t fewest = std::min(nodes, kFewestClustersPerPart * options.parts);
  const int64_t fewest_pairs = std::min(counts.num_edges(), kFewestPairsPerCluster * fewest);
  int64_t clusters = options.stream_metis.clusters > 0
                         ? options.stream_metis.clusters
                         : std::clamp(nodes / kNodesPerCluster, kLeastClusters, kMostClusters);
  clusters = std::max(std::min(clusters, nodes), fewest);
  // Pairs go first: of an even share of the room a cluster gets its own bytes and the fewest pairs.
  const int64_t coarse_room = std::max<int64_t>(room - kClusterOfBytes * nodes, 0);
  const int64_t least_bytes =
      static_cast<int64_t>(kClusterSlack * static_cast<double>(ClusterBytes(counts, options))) +
      kFewestPairsPerCluster * kMetisPairBytes;
  clusters = std::max(std::min(clusters, coarse_room / least_bytes), fewest);

  CoarseBudget budget;
  budget.clusters = clusters;
  budget.max_clusters =
      std::min(nodes, static_cast<int64_t>(kClusterSlack * static_cast<double>(clusters)));
  const int64_t pairs_room =
      (coarse_room - budget.max_clusters * ClusterBytes(counts, options)) / kMetisPairBytes;
  budget.pairs =
      std::max<int64_t>({1, fewest_pairs, std::min({counts.num_edges(), kMostPairs, pairs_room})});

  const int64_t all = nodes * options.parts;
  // Owners, candidates of half the nodes, and clusters where they are kept.
  const int64_t counter_room =
      room - 6 * nodes - (options.order == NodeOrder::kCluster ? 4 * nodes : 0);
  budget.counter_bytes =
      std::max<int64_t>({options.parts, std::min(all, kLeastCounterBytesPerNode * nodes),
                         std::min(all, counter_room)});
  return budget;
}

MemoryPlan PlanOfBudget(const GraphCounts& counts, const MethodOptions& options,
                        const CoarseBudget& budget) {
  const int64_t nodes = counts.num_nodes();
  const HeldMemory chunks = {"edge chunks", kEdgePassBytes};
  const HeldMemory degrees = {"degrees", 8 * nodes};
  const HeldMemory sets = {"rows of task sets", StandingBytes(counts, options) - degrees.bytes};
  MemoryPlan plan;
  plan.phases.push_back(
      {"degrees", {degrees, {"edge ends in queues", EndCounter::Bytes(nodes)}, chunks}});
  if (nodes <= budget.clusters) {
    plan.phases.push_back(
        {"clustering", {degrees, {"nodes and their volumes", Clusters::kBytesPerNode * nodes}}});
  } else {
    plan.phases.push_back(
        {"clustering",
         {degrees,
          {"clusters with degrees, and their copy", StreamClusters::kTakeBytesPerNode * nodes},
          chunks}});
    // As many clusters as nodes, at worst.
    plan.phases.push_back({"merging clusters",
                           {degrees,
                            {"clusters and their volumes", 8 * nodes},
                            {"best neighbours of clusters", 12 * nodes},
                            chunks}});
  }
  const HeldMemory clusters = {"clusters", kClusterOfBytes * nodes};
  const HeldMemory coarse_nodes = {"clusters and METIS on them (estimate)",
                                   budget.max_clusters * ClusterBytes(counts, options)};
  plan.phases.push_back({"coarse graph",
                         {degrees,
                          sets,
                          clusters,
                          coarse_nodes,
                          chunks,
                          {"pairs of clusters", kPairSampleBytes * budget.pairs}}});
  plan.phases.push_back(
      {"METIS",
       {degrees,
        sets,
        clusters,
        coarse_nodes,
        {"pairs of clusters and METIS on them (estimate)", kMetisPairBytes * budget.pairs}}});
  plan.phases.push_back({"refinement",
                         {degrees,
                          sets,
                          chunks,
                          {"owners", 2 * nodes},
                          {"candidates", 4 * nodes},
                          {"neighbours per partition", budget.counter_bytes}}});
  if (options.order == NodeOrder::kCluster) {
    plan.phases.back().held.push_back(clusters);
    plan.phases.push_back(
        {"clusters for the order",
         {degrees,
          sets,
          chunks,
          {"owners", 2 * nodes},
          {"clusters with degrees, and their copy", StreamClusters::kTakeBytesPerNode * nodes}}});
    plan.phases.push_back(
        {"order keys", {degrees, sets, {"owners", 4 * nodes}, {"clusters and keys", 8 * nodes}}});
  }
  return plan;
}

}  // namespace halograph
