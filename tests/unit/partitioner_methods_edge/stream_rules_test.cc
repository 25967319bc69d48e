// dbh, greedy and hdrf against slow transcriptions of their papers' rules: every placement must be
// one that the rule allows, given the placements before it.
#include "partitioner/methods/literature/stream_rules.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>

#include "partitioner/methods/literature/part_state.h"
#include "tests/unit/partitioner_methods_edge/placed_edges.h"

namespace halograph {
namespace {

using testing::Contains;

constexpr int64_t kNodes = 300;
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
  PlacedEdges<Greedy> run(kNodes, SkewedEdges(kNodes, kEdges, 3), GetParam());
  Slow slow(run.stream());
  for (const PlacedEdge& edge : run.Place()) {
    const int64_t u = edge.source, v = edge.destination;
    const auto candidates = GreedyCandidates(slow, u, v, run.degree(u) - slow.placed[u],
                                             run.degree(v) - slow.placed[v]);
    ASSERT_THAT(slow.LeastLoaded(candidates), Contains(edge.part)) << u << " -> " << v;
    slow.Add(edge);
  }
}

double HdrfScore(const Slow& slow, const PlacedEdge& edge, int part, double degree_u,
                 double degree_v, double lambda) {
  const auto most = static_cast<double>(*std::max_element(slow.loads.begin(), slow.loads.end()));
  const auto least = static_cast<double>(*std::min_element(slow.loads.begin(), slow.loads.end()));
  const double theta_u = degree_u / (degree_u + degree_v);
  const double theta_v = 1 - theta_u;
  const double g_u = slow.replicas[edge.source].contains(part) ? 1 + (1 - theta_u) : 0;
  const double g_v = slow.replicas[edge.destination].contains(part) ? 1 + (1 - theta_v) : 0;
  return g_u + g_v +
         lambda * (most - static_cast<double>(slow.loads[part])) / (Hdrf::kEpsilon + most - least);
}

TEST_P(StreamRules, HdrfTakesTheHighestScoreOfAllPartitions) {
  for (const double lambda : {0.1, 1.1, 20.0}) {
    PlacedEdges<Hdrf> run(kNodes, SkewedEdges(kNodes, kEdges, 4), GetParam(),
                          {.owner = OwnerRule::kMajority,
                           .hdrf_lambda = lambda,
                           .volume_factor = 1,
                           .edge_imbalance = 1.05});
    Slow slow(run.stream());
    for (const PlacedEdge& edge : run.Place()) {
      const auto score = [&](int part) {
        return HdrfScore(slow, edge, part, run.degree(edge.source), run.degree(edge.destination),
                         lambda);
      };
      ASSERT_LT(slow.loads[edge.part], slow.cap);
      for (const int other : slow.All()) {
        if (slow.loads[other] >= slow.cap) continue;
        ASSERT_GE(score(edge.part), score(other) - 1e-9) << "lambda " << lambda << ", " << other;
      }
      slow.Add(edge);
    }
  }
}

TEST_P(StreamRules, DbhPlacesByTheEndOfLowerDegreeAlone) {
  PlacedEdges<Dbh> run(kNodes, SkewedEdges(kNodes, kEdges, 5), GetParam());
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
  PlacedEdges<Greedy> run(kNodes, SkewedEdges(kNodes, kEdges, 6), GetParam());
  const auto expected = PlacedEdges<Greedy>::Replicas(kNodes, run.Place());
  for (int64_t node = 0; node < kNodes; ++node) {
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
  PlacedEdges<PartitionerT> run(kNodes, SkewedEdges(kNodes, kEdges, 7), 5);
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
