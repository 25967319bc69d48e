// 2ps-l and spring against slow transcriptions of their papers' rules.
#include <map>

#include <gmock/gmock.h>

#include "partitioner/methods/literature/cluster_packing.h"
#include "partitioner/methods/literature/spring.h"
#include "partitioner/methods/literature/two_phase.h"
#include "tests/unit/partitioner_methods_edge/placed_edges.h"

namespace halograph {
namespace {

constexpr int64_t kCommunityNodes = 400;

// Communities of 20 nodes, in random order, with some edges across and twelve hubs.
EdgePairs Communities(uint64_t key) {
  CounterRng rng(key);
  EdgePairs edges = SkewedEdges(kCommunityNodes, 300, key + 1);
  for (int64_t i = 0; i < 2500; ++i) {
    const auto u = static_cast<int64_t>(rng.NextBounded(kCommunityNodes - 20));
    edges.emplace_back(u, u / 20 * 20 + static_cast<int64_t>(rng.NextBounded(20)));
  }
  return edges;
}

// Algorithm 1 of 2PS-L, or Hollocou's comparison of whole volumes. Clusters are named by their
// first node, where the papers count them.
struct SlowClusters {
  std::map<int64_t, int64_t> c, vol;

  template <typename Degree>
  SlowClusters(const EdgePairs& edges, int64_t max_vol, bool whole, const Degree& d) {
    for (const auto& [u, v] : edges) {
      for (const int64_t node : {u, v}) {
        if (c.contains(node)) continue;
        c[node] = node;
        vol[c[node]] = d(node);
      }
      if (vol[c[u]] > max_vol || vol[c[v]] > max_vol) continue;
      const int64_t rest_u = vol[c[u]] - (whole ? 0 : d(u));
      const int64_t rest_v = vol[c[v]] - (whole ? 0 : d(v));
      const int64_t small = rest_u <= rest_v ? u : v, large = rest_u <= rest_v ? v : u;
      if (c[small] == c[large] || vol[c[large]] + d(small) > max_vol) continue;
      vol[c[large]] += d(small);
      vol[c[small]] -= d(small);
      c[small] = c[large];
    }
  }
};

class ClusterRules : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, ClusterRules, testing::Values(2, 5, 70),
                         testing::PrintToStringParamName());

TEST_P(ClusterRules, TwoPhaseClustersAsAlgorithm1) {
  const EdgePairs edges = Communities(1);
  PlacedEdges<TwoPhase> run(kCommunityNodes, edges, GetParam());
  const auto degree = [&](int64_t node) { return static_cast<int64_t>(run.degree(node)); };
  const int64_t max_vol = static_cast<int64_t>(edges.size()) / GetParam();
  SlowClusters slow(edges, max_vol, false, degree);
  const Clusters& clusters = run.partitioner().clusters();
  std::map<int64_t, int> part_of;
  for (const auto& [node, cluster] : slow.c) {
    EXPECT_EQ(clusters.of[node], cluster) << "node " << node;
    EXPECT_EQ(clusters.volume[cluster], slow.vol[cluster]);
    // Clusters go to partitions as a whole.
    const auto [known, first] = part_of.emplace(cluster, run.partitioner().PartOf(node));
    EXPECT_EQ(known->second, run.partitioner().PartOf(node));
  }
  EXPECT_LT(part_of.size(), slow.c.size());  // something was clustered
}

TEST_P(ClusterRules, TwoPhasePlacesAsAlgorithm2) {
  PlacedEdges<TwoPhase> run(kCommunityNodes, Communities(2), GetParam());
  const TwoPhase& method = run.partitioner();
  const int64_t cap = ShareCap(run.stream().num_edges(), GetParam(), 1.05);
  std::vector<int64_t> loads(static_cast<size_t>(GetParam()), 0);
  std::vector<std::set<int>> replicas(kCommunityNodes);
  for (const PlacedEdge& edge : run.Place()) {
    const int64_t u = edge.source, v = edge.destination;
    const int part_u = method.PartOf(u), part_v = method.PartOf(v);
    EXPECT_EQ(edge.pass, part_u == part_v ? 0 : 1);
    const double d_u = run.degree(u), d_v = run.degree(v);
    const double vol_u = method.clusters().volume[method.clusters().of[u]];
    const double vol_v = method.clusters().volume[method.clusters().of[v]];
    const auto score = [&](int p) {
      const double g_u = replicas[u].contains(p) ? 1 + (1 - d_u / (d_u + d_v)) : 0;
      const double g_v = replicas[v].contains(p) ? 1 + (1 - d_v / (d_u + d_v)) : 0;
      const double sc_u = part_u == p ? vol_u / (vol_u + vol_v) : 0;
      const double sc_v = part_v == p ? vol_v / (vol_u + vol_v) : 0;
      return g_u + g_v + sc_u + sc_v;
    };
    const int wanted = score(part_u) >= score(part_v) ? part_u : part_v;
    if (loads[wanted] < cap) {
      ASSERT_EQ(edge.part, wanted) << u << " -> " << v;
    }
    ASSERT_LT(loads[edge.part], cap);
    ++loads[edge.part];
    for (const int64_t node : {u, v}) replicas[node].insert(edge.part);
  }
}

// Algorithm 1 of SPRING with sets of nodes: the groups that go to partitions as a whole. Of
// clusters of one size the one with the lower name is merged first.
template <typename Degree>
std::vector<std::set<int64_t>> SlowSpring(const EdgePairs& edges, int parts, const Degree& d) {
  const auto m = static_cast<double>(edges.size());
  SlowClusters clusters(edges, std::max<int64_t>(1, static_cast<int64_t>(m / parts)), true, d);
  std::map<int64_t, int64_t> richest;
  for (const auto& [u, v] : edges) {
    for (const auto& [node, other] : {std::pair(u, v), std::pair(v, u)}) {
      // A self-loop makes a node no neighbour of another: the next one counts.
      if (!richest.contains(node) || richest[node] == node || d(other) > d(richest[node])) {
        richest[node] = other;
      }
    }
  }
  std::map<int64_t, std::set<int64_t>> members;
  for (const auto& [node, cluster] : clusters.c) members[cluster].insert(node);
  std::map<int64_t, int64_t> group;       // of a node
  std::map<int64_t, int64_t> richest_of;  // of a cluster
  for (const auto& [cluster, nodes] : members) {
    richest_of[cluster] = richest[*nodes.begin()];
    for (const int64_t node : nodes) {
      group[node] = cluster;
      if (d(richest[node]) > d(richest_of[cluster])) richest_of[cluster] = richest[node];
    }
  }
  std::vector<std::pair<size_t, int64_t>> order;
  for (const auto& [cluster, nodes] : members) order.emplace_back(nodes.size(), cluster);
  std::sort(order.begin(), order.end());
  const auto volume = [&](const std::set<int64_t>& nodes) {
    double sum = 0;
    for (const int64_t node : nodes) sum += static_cast<double>(d(node));
    return sum;
  };
  for (const auto& [size, cluster] : order) {
    const std::set<int64_t> nodes = members[cluster];
    const int64_t target = group[richest_of[cluster]];
    const double n = static_cast<double>(group.size());
    if (target == cluster ||
        static_cast<double>(nodes.size() + members[target].size()) > 1.05 * n / parts ||
        volume(nodes) + volume(members[target]) > 1.05 * 2 * m / parts) {
      continue;
    }
    for (const int64_t node : nodes) group[node] = target;
    members[target].insert(nodes.begin(), nodes.end());
    if (d(richest_of[cluster]) > d(richest_of[target])) richest_of[target] = richest_of[cluster];
    members.erase(cluster);
  }
  std::vector<std::set<int64_t>> groups;
  for (const auto& [name, nodes] : members) groups.push_back(nodes);
  return groups;
}

// A chain of cliques of growing size.
EdgePairs CliquesOfGrowingSize() {
  EdgePairs edges;
  int64_t first = 0;
  for (int64_t size = 4; size <= 14; ++size) {
    for (int64_t u = 0; u < size; ++u) {
      for (int64_t v = 0; v < u; ++v) edges.emplace_back(first + u, first + v);
    }
    if (first > 0) edges.emplace_back(first - 1, first);
    first += size;
  }
  return edges;
}

void ExpectGroupsTogether(int64_t nodes, const EdgePairs& edges) {
  for (const int parts : {2, 3, 4, 9}) {
    PlacedEdges<Spring> run(nodes, edges, parts);
    const auto groups = SlowSpring(
        edges, parts, [&](int64_t node) { return static_cast<int64_t>(run.degree(node)); });
    EXPECT_LT(static_cast<int64_t>(groups.size()), nodes);
    for (const std::set<int64_t>& group : groups) {
      for (const int64_t node : group) {
        ASSERT_EQ(run.partitioner().PartOf(node), run.partitioner().PartOf(*group.begin()))
            << "node " << node << ", " << parts << " partitions";
      }
    }
  }
}

TEST(SpringTest, GroupsOfAlgorithm1StayTogether) {
  ExpectGroupsTogether(99, CliquesOfGrowingSize());
  for (uint64_t key = 10; key < 16; ++key) ExpectGroupsTogether(kCommunityNodes, Communities(key));
}

TEST(SpringTest, AnEdgeGoesToTheClusterOfItsDestination) {
  PlacedEdges<Spring> run(kCommunityNodes, Communities(3), 5);
  std::set<int> used;
  for (const PlacedEdge& edge : run.Place()) {
    ASSERT_EQ(edge.part, run.partitioner().PartOf(edge.destination));
    used.insert(edge.part);
  }
  EXPECT_EQ(used.size(), 5u);
}

TEST(PackClustersTest, LargestFirstIntoTheLeastFilled) {
  // Volumes 7 6 5 4 3 into two: 7 4 3 | 6 5 by Graham's rule.
  const std::vector<double> volumes = {3, 7, 0, 5, 6, 4};
  const auto parts = PackClusters(6, 2, 1, [&](int64_t c) {
    return ClusterShare{.nodes = 0, .volume = volumes[static_cast<size_t>(c)]};
  });
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_NE((*parts)[1], (*parts)[4]);
  EXPECT_EQ((*parts)[3], (*parts)[4]);
  EXPECT_EQ((*parts)[5], (*parts)[1]);
  EXPECT_EQ((*parts)[0], (*parts)[1]);
}

TEST(StreamClustersTest, NoClusterGrowsBeyondTheVolumeBound) {
  PlacedEdges<TwoPhase> run(kCommunityNodes, Communities(4), 8);
  const Clusters& clusters = run.partitioner().clusters();
  const uint32_t bound = run.stream().max_volume();
  for (int64_t node = 0; node < kCommunityNodes; ++node) {
    // A node alone may be larger than the bound.
    EXPECT_LE(clusters.volume[clusters.of[node]], std::max(bound, run.degree(node)));
  }
}

TEST(ClusterRulesTest, RestartedTwoPhasePlacesAlike) {
  PlacedEdges<TwoPhase> run(kCommunityNodes, Communities(5), 6);
  const auto first = run.Place(), second = run.Place();
  for (size_t i = 0; i < first.size(); ++i) ASSERT_EQ(first[i].part, second[i].part) << i;
}

}  // namespace
}  // namespace halograph
