#include <algorithm>
#include <map>

#include <gmock/gmock.h>

#include "partitioner/methods/literature/cluster_packing.h"
#include "partitioner/methods/literature/part_state.h"
#include "partitioner/methods/literature/spring.h"
#include "partitioner/methods/literature/stream_rules.h"
#include "partitioner/methods/literature/two_phase.h"
#include "tests/unit/partitioner_methods/placed_edges.h"

namespace halograph {
namespace {

using testing::Contains;

// ---- cluster rules ------------------------------------------------------------------------
// 2ps-l and spring against slow transcriptions of their papers' rules.

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

// ---- stream rules -------------------------------------------------------------------------
// dbh, greedy and hdrf against slow transcriptions of their papers' rules: every placement must be
// one that the rule allows, given the placements before it.

constexpr int64_t kRuleNodes = 300;
constexpr int64_t kEdges = 2000;

// The state that the rules look at, kept the plain way.
struct Slow {
  explicit Slow(const EdgeStream& stream)
      : cap(ShareCap(stream.num_edges(), stream.parts, stream.options.edge_imbalance)),
        loads(static_cast<size_t>(stream.parts), 0),
        replicas(static_cast<size_t>(stream.num_nodes())),
        placed(replicas.size(), 0) {}

  void Add(const PlacedEdge& edge) {
    ++loads[edge.part];
    for (const int64_t node : {edge.source, edge.destination}) {
      replicas[node].insert(edge.part);
      ++placed[node];
    }
  }
  // Those of `parts` with room that are loaded least; of all partitions if none has room.
  [[nodiscard]] std::vector<int> LeastLoaded(const std::set<int>& parts) const {
    std::vector<int> best;
    for (const int part : parts) {
      if (loads[part] >= cap) continue;
      if (!best.empty() && loads[part] > loads[best.front()]) continue;
      if (!best.empty() && loads[part] < loads[best.front()]) best.clear();
      best.push_back(part);
    }
    return best.empty() ? LeastLoaded(All()) : best;
  }
  [[nodiscard]] std::set<int> All() const {
    std::set<int> all;
    for (int part = 0; part < static_cast<int>(loads.size()); ++part) all.insert(part);
    return all;
  }

  int64_t cap;
  std::vector<int64_t> loads;
  std::vector<std::set<int>> replicas;
  std::vector<int64_t> placed;
};

std::set<int> GreedyCandidates(const Slow& slow, int64_t u, int64_t v, int64_t to_come_u,
                               int64_t to_come_v) {
  const std::set<int>& of_u = slow.replicas[u];
  const std::set<int>& of_v = slow.replicas[v];
  std::set<int> both;
  std::set_intersection(of_u.begin(), of_u.end(), of_v.begin(), of_v.end(),
                        std::inserter(both, both.end()));
  const bool room_in_both =
      std::any_of(both.begin(), both.end(), [&](int p) { return slow.loads[p] < slow.cap; });
  if (room_in_both) return both;
  if (of_u.empty() && of_v.empty()) return slow.All();
  if (of_u.empty()) return of_v;
  if (of_v.empty()) return of_u;
  return to_come_u >= to_come_v ? of_u : of_v;
}

class StreamRules : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, StreamRules, testing::Values(2, 7, 64, 65, 130),
                         testing::PrintToStringParamName());

TEST_P(StreamRules, GreedyFollowsThePapersFourCases) {
  PlacedEdges<Greedy> run(kRuleNodes, SkewedEdges(kRuleNodes, kEdges, 3), GetParam());
  Slow slow(run.stream());
  for (const PlacedEdge& edge : run.Place()) {
    const int64_t u = edge.source, v = edge.destination;
    const auto candidates = GreedyCandidates(slow, u, v, run.degree(u) - slow.placed[u],
                                             run.degree(v) - slow.placed[v]);
    ASSERT_THAT(slow.LeastLoaded(candidates), Contains(edge.part)) << u << " -> " << v;
    slow.Add(edge);
  }
}

// C(p) of `edge` for every partition.
std::vector<double> HdrfScores(const Slow& slow, const PlacedEdge& edge, double degree_u,
                               double degree_v, double lambda) {
  const auto [least, most] = std::minmax_element(slow.loads.begin(), slow.loads.end());
  const auto spread = static_cast<double>(*most - *least);
  const double theta_u = degree_u / (degree_u + degree_v);
  const double theta_v = 1 - theta_u;
  std::vector<double> scores;
  for (const int64_t load : slow.loads) {
    scores.push_back(lambda * static_cast<double>(*most - load) / (Hdrf::kEpsilon + spread));
  }
  for (const int part : slow.replicas[edge.source]) scores[part] += 1 + (1 - theta_u);
  for (const int part : slow.replicas[edge.destination]) scores[part] += 1 + (1 - theta_v);
  return scores;
}

TEST_P(StreamRules, HdrfTakesTheHighestScoreOfAllPartitions) {
  for (const double lambda : {0.1, 1.1, 20.0}) {
    PlacedEdges<Hdrf> run(kRuleNodes, SkewedEdges(kRuleNodes, kEdges, 4), GetParam(),
                          {.owner = OwnerRule::kMajority,
                           .hdrf_lambda = lambda,
                           .volume_factor = 1,
                           .edge_imbalance = 1.05});
    Slow slow(run.stream());
    for (const PlacedEdge& edge : run.Place()) {
      const std::vector<double> scores =
          HdrfScores(slow, edge, run.degree(edge.source), run.degree(edge.destination), lambda);
      ASSERT_LT(slow.loads[edge.part], slow.cap);
      for (size_t other = 0; other < scores.size(); ++other) {
        if (slow.loads[other] >= slow.cap) continue;
        ASSERT_GE(scores[edge.part], scores[other] - 1e-9) << "lambda " << lambda << ", " << other;
      }
      slow.Add(edge);
    }
  }
}

TEST_P(StreamRules, DbhPlacesByTheEndOfLowerDegreeAlone) {
  PlacedEdges<Dbh> run(kRuleNodes, SkewedEdges(kRuleNodes, kEdges, 5), GetParam());
  std::map<int64_t, int> part_of;  // of the node that decides
  for (const PlacedEdge& edge : run.Place()) {
    const int64_t u = edge.source, v = edge.destination;
    const int64_t lower = run.degree(u) < run.degree(v) ? u : v;
    const auto [known, first] = part_of.emplace(lower, edge.part);
    EXPECT_EQ(known->second, edge.part) << "node " << lower;
  }
  std::set<int> used;
  for (const auto& [node, part] : part_of) used.insert(part);
  EXPECT_GT(used.size(), static_cast<size_t>(GetParam()) / 2);
}

TEST_P(StreamRules, ReplicaSetsHoldExactlyThePartitionsOfANodesEdges) {
  PlacedEdges<Greedy> run(kRuleNodes, SkewedEdges(kRuleNodes, kEdges, 6), GetParam());
  const auto expected = PlacedEdges<Greedy>::Replicas(kRuleNodes, run.Place());
  for (int64_t node = 0; node < kRuleNodes; ++node) {
    std::set<int> found;
    for (int w = 0; w < run.replicas().words(); ++w) {
      ForEachPart(run.replicas().Word(node, w), w, [&](int part) { found.insert(part); });
    }
    EXPECT_EQ(found, expected[node]) << "node " << node;
    EXPECT_EQ(run.replicas().Count(node), static_cast<int>(expected[node].size()));
  }
}

TEST(DbhTest, LeavesOfAStarKeepOneReplicaAndTheHubIsCut) {
  EdgePairs edges;
  for (int64_t leaf = 1; leaf <= 200; ++leaf) edges.emplace_back(leaf, 0);
  PlacedEdges<Dbh> run(201, edges, 4);
  const auto replicas = PlacedEdges<Dbh>::Replicas(201, run.Place());
  EXPECT_EQ(replicas[0].size(), 4u);
  for (int64_t leaf = 1; leaf <= 200; ++leaf) EXPECT_EQ(replicas[leaf].size(), 1u);
}

// 0 - 1 - 2   3 - 4 : the second edge follows node 1 (case 3), the third opens the other partition
// (case 4), and joining 0 with 3 goes to the end with more edges to come (case 2): 0, for 0 - 5.
TEST(GreedyTest, SixEdgesByHand) {
  PlacedEdges<Greedy> run(
      6, {{0, 1}, {1, 2}, {3, 4}, {0, 3}, {3, 4}, {0, 5}}, 2,
      {.owner = OwnerRule::kMajority, .hdrf_lambda = 1, .volume_factor = 1, .edge_imbalance = 2});
  const auto placed = run.Place();
  EXPECT_EQ(placed[1].part, placed[0].part);
  EXPECT_NE(placed[2].part, placed[0].part);
  // 0 has {0, 3} and {0, 5} to come, 3 has {0, 3} and {3, 4}: a tie goes to the source.
  EXPECT_EQ(placed[3].part, placed[0].part);
  EXPECT_EQ(placed[4].part, placed[2].part);  // 3 and 4 share that partition: case 1
  EXPECT_EQ(placed[5].part, placed[0].part);
}

TEST(HdrfTest, SmallLambdaKeepsAPathTogetherAndALargeOneAlternates) {
  EdgePairs path;
  for (int64_t i = 0; i < 20; ++i) path.emplace_back(i, i + 1);
  EdgePartitionOptions options;
  options.edge_imbalance = 2;
  options.hdrf_lambda = 0.5;
  PlacedEdges<Hdrf> together(21, path, 2, options);
  for (const PlacedEdge& edge : together.Place()) {
    EXPECT_EQ(edge.part, together.Place().front().part);
  }
  options.hdrf_lambda = 100;
  PlacedEdges<Hdrf> apart(21, path, 2, options);
  const auto placed = apart.Place();
  for (size_t i = 1; i < placed.size(); i += 2) EXPECT_NE(placed[i].part, placed[i - 1].part);
}

TEST(GreedyTest, AStreamInBreadthFirstOrderFillsNoPartitionBeyondItsShare) {
  EdgePairs path;
  for (int64_t i = 0; i < 999; ++i) path.emplace_back(i, i + 1);
  PlacedEdges<Greedy> run(1000, path, 4);
  std::vector<int64_t> loads(4, 0);
  for (const PlacedEdge& edge : run.Place()) ++loads[edge.part];
  for (const int64_t load : loads) EXPECT_LE(load, 262);  // 1.05 * 999 / 4
}

template <typename PartitionerT>
void ExpectSamePlacementsAgain() {
  PlacedEdges<PartitionerT> run(kRuleNodes, SkewedEdges(kRuleNodes, kEdges, 7), 5);
  const auto first = run.Place();
  const auto second = run.Place();
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) ASSERT_EQ(first[i].part, second[i].part) << i;
}

TEST(StreamRulesTest, RestartedPartitionersPlaceAlike) {
  ExpectSamePlacementsAgain<Dbh>();
  ExpectSamePlacementsAgain<Greedy>();
  ExpectSamePlacementsAgain<Hdrf>();
}

}  // namespace
}  // namespace halograph
