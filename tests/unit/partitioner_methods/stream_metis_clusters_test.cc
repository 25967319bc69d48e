#include <map>

#include <gmock/gmock.h>

#include "common/base/rng.h"
#include "partitioner/methods/stream_metis/clustering.h"
#include "partitioner/methods/stream_metis/coarse_budget.h"
#include "partitioner/methods/stream_metis/coarse_graph.h"
#include "partitioner/methods/stream_metis/pair_sample.h"
#include "partitioner/methods/stream_metis/stream_metis_method.h"
#include "partitioner/stream/edge_pass.h"
#include "tests/unit/partitioner_methods/stream_graph.h"

namespace halograph {
namespace {

using testing::HasSubstr;

// ---- degree pass --------------------------------------------------------------------------

TEST(DegreePassTest, CountsInEdgesAndNeighboursOfEveryNode) {
  const EdgePairs edges = {{0, 1}, {1, 0}, {0, 1}, {2, 2}, {2, 1}};
  const Degrees degrees = DegreesOf(OneType(5, edges).dataset());
  const std::vector<uint32_t> in = {1, 3, 1, 0, 0};
  const std::vector<uint32_t> total = {3, 4, 1, 0, 0};  // the self-loop of 2 is none
  for (int64_t v = 0; v < 5; ++v) {
    EXPECT_EQ(degrees.of[v].in, in[v]) << v;
    EXPECT_EQ(degrees.of[v].total, total[v]) << v;
  }
  EXPECT_EQ(degrees.edges, 5);
  EXPECT_EQ(degrees.volume, 8);
  EXPECT_EQ(degrees.connected, 3);
}

TEST(DegreePassTest, TypesFollowOneAnother) {
  DatasetBuilder builder;
  builder.Nodes("a", 2).Nodes("b", 3).Edges("a", "to", "b", {{1, 0}, {1, 2}});
  const Degrees degrees = DegreesOf(builder.dataset());
  EXPECT_EQ(degrees.num_nodes(), 5);
  EXPECT_EQ(degrees.of[1].total, 2);
  EXPECT_EQ(degrees.of[2].in, 1);
  EXPECT_EQ(degrees.of[4].in, 1);
}

TEST(DegreePassTest, NoNodesAndNoEdges) {
  DatasetBuilder builder;
  const Degrees degrees = DegreesOf(builder.dataset());
  EXPECT_EQ(degrees.num_nodes(), 0);
  EXPECT_EQ(degrees.edges, 0);
}

TEST(DegreePassTest, MoreNodesThanIdsIsResourceExhausted) {
  DatasetBuilder builder;
  builder.Nodes("node", kMaxStreamNodes + 1);
  const auto degrees = CountStreamDegrees(builder.dataset());
  EXPECT_TRUE(absl::IsResourceExhausted(degrees.status())) << degrees.status();
}

// ---- streaming clustering -----------------------------------------------------------------

Clusters Cluster(const Dataset& dataset, const Degrees& degrees, int64_t max_volume) {
  auto clusters = ClusterStream(dataset, degrees, max_volume);
  EXPECT_TRUE(clusters.ok()) << clusters.status();
  return std::move(clusters).value();
}

// The paper's algorithm word by word, volumes summed anew for every edge.
std::vector<int64_t> SlowMergedClusters(int64_t nodes, const EdgePairs& edges, int64_t max_volume) {
  std::vector<int64_t> cluster(nodes), degree(nodes, 0);
  for (int64_t v = 0; v < nodes; ++v) cluster[v] = v;
  for (const auto& [u, v] : edges) {
    if (u == v) continue;
    ++degree[u];
    ++degree[v];
  }
  const auto volume = [&](int64_t c) {
    int64_t sum = 0;
    for (int64_t v = 0; v < nodes; ++v) sum += cluster[v] == c ? degree[v] : 0;
    return sum;
  };
  for (const auto& [u, v] : edges) {
    if (cluster[u] == cluster[v]) continue;
    const int64_t of_u = volume(cluster[u]);
    const int64_t of_v = volume(cluster[v]);
    if (of_u > max_volume || of_v > max_volume) continue;
    if (of_u <= of_v && of_v + degree[u] <= max_volume) cluster[u] = cluster[v];
    if (of_u > of_v && of_u + degree[v] <= max_volume) cluster[v] = cluster[u];
  }
  return cluster;
}

TEST(StreamingClusteringTest, DoesWhatThePaperSays) {
  for (const uint64_t key : {1, 2, 3}) {
    for (const int64_t max_volume : {1, 8, 20, 60, 100000}) {
      const EdgePairs edges = PlantedEdges(5, 12, 150, key);
      OneType builder(62, edges);
      const Degrees degrees = DegreesOf(builder.dataset());
      const Clusters clusters = Cluster(builder.dataset(), degrees, max_volume);
      const std::vector<int64_t> slow = SlowMergedClusters(62, edges, max_volume);
      std::map<int64_t, uint32_t> renamed;
      for (int64_t v = 0; v < 60; ++v) {
        if (degrees.of[v].total == 0) continue;
        const auto [place, first] = renamed.try_emplace(slow[v], clusters.of[v]);
        ASSERT_EQ(clusters.of[v], place->second) << "node " << v << ", v_max " << max_volume;
      }
      EXPECT_EQ(clusters.count, static_cast<int64_t>(renamed.size()));
    }
  }
}

TEST(StreamingClusteringTest, NoClusterOfSeveralNodesExceedsTheVolume) {
  OneType builder(400, RandomEdges(390, 390, 3000, 9));
  const Degrees degrees = DegreesOf(builder.dataset());
  for (const int64_t max_volume : {10, 40, 200}) {
    const Clusters clusters = Cluster(builder.dataset(), degrees, max_volume);
    ExpectClustersConsistent(clusters, degrees);
    std::vector<int> members(static_cast<size_t>(clusters.count), 0);
    for (const uint32_t cluster : clusters.of.span()) {
      if (cluster != kNoCluster) ++members[cluster];
    }
    for (int64_t c = 0; c < clusters.count; ++c) {
      EXPECT_TRUE(clusters.volume[c] <= max_volume || members[static_cast<size_t>(c)] == 1) << c;
    }
  }
}

TEST(StreamingClusteringTest, HubStaysAlone) {
  OneType builder(100, Star(100));
  const Degrees degrees = DegreesOf(builder.dataset());
  const Clusters clusters = Cluster(builder.dataset(), degrees, 10);
  EXPECT_EQ(clusters.count, 100);
  EXPECT_EQ(clusters.volume[0], 99U);
}

TEST(StreamingClusteringTest, SingleNodesLeavesOutThoseWithoutNeighbours) {
  OneType builder(6, {{1, 4}, {2, 2}});
  const Degrees degrees = DegreesOf(builder.dataset());
  const auto clusters = SingleNodes(degrees);
  ASSERT_TRUE(clusters.ok()) << clusters.status();
  EXPECT_EQ(clusters->count, 2);
  ExpectClustersConsistent(*clusters, degrees);
}

TEST(StreamingClusteringTest, StreamThatGrewIsDataLoss) {
  OneType builder(4, {{0, 1}});
  Dataset dataset = builder.dataset();
  dataset.relations[0].edges =
      std::make_shared<ChangingEdges>(EdgePairs{{0, 1}}, EdgePairs{{0, 1}, {2, 3}}, 1);
  const Degrees degrees = DegreesOf(dataset);
  EXPECT_TRUE(absl::IsDataLoss(ClusterStream(dataset, degrees, 10).status()));
}

// ---- cluster merge ------------------------------------------------------------------------

Clusters Merged(const Dataset& dataset, const Degrees& degrees, int64_t max_clusters) {
  auto clusters = SingleNodes(degrees);
  EXPECT_TRUE(clusters.ok()) << clusters.status();
  const Status merged = MergeClusters(dataset, degrees, max_clusters, &*clusters);
  EXPECT_TRUE(merged.ok()) << merged;
  return std::move(clusters).value();
}

TEST(ClusterMergeTest, NeverLeavesMoreThanAsked) {
  OneType builder(320, RandomEdges(310, 310, 1500, 4));
  const Degrees degrees = DegreesOf(builder.dataset());
  for (const int64_t max_clusters : {1, 2, 7, 50, 200}) {
    const Clusters clusters = Merged(builder.dataset(), degrees, max_clusters);
    EXPECT_LE(clusters.count, max_clusters);
    EXPECT_GE(2 * clusters.count, max_clusters);  // and stops there
    ExpectClustersConsistent(clusters, degrees);
  }
}

TEST(ClusterMergeTest, NothingHappensWhereClustersAreFewEnough) {
  OneType builder(20, RandomEdges(20, 20, 60, 4));
  const Degrees degrees = DegreesOf(builder.dataset());
  EXPECT_EQ(Merged(builder.dataset(), degrees, 20).count, degrees.connected);
}

TEST(ClusterMergeTest, JoinsWithinBlocksWhereEdgesAre) {
  constexpr int64_t kBlock = 40;
  OneType builder(8 * kBlock, PlantedEdges(8, kBlock, 4000, 6));
  const Degrees degrees = DegreesOf(builder.dataset());
  const Clusters clusters = Merged(builder.dataset(), degrees, 80);
  std::vector<std::set<int64_t>> blocks(static_cast<size_t>(clusters.count));
  for (int64_t v = 0; v < 8 * kBlock; ++v) blocks[clusters.of[v]].insert(v / kBlock);
  int64_t pure = 0;
  for (const auto& within : blocks) pure += within.size() == 1 ? 1 : 0;
  // Four nodes by four edges, of which five of six lie within a block; by chance one of 500.
  EXPECT_GE(pure * 2, clusters.count);
}

TEST(ClusterMergeTest, CapsTheVolumeWhileEdgesDecide) {
  OneType builder(2000, RandomEdges(2000, 2000, 10000, 8));
  const Degrees degrees = DegreesOf(builder.dataset());
  const Clusters clusters = Merged(builder.dataset(), degrees, 500);
  const int64_t last_cap = (2 * (degrees.volume / 500 + 1)) << (kMaxMergePasses - 1);
  for (int64_t c = 0; c < clusters.count; ++c) EXPECT_LE(clusters.volume[c], last_cap);
}

TEST(ClusterMergeTest, LeavesOfAHubJoinOneAnother) {
  OneType builder(1000, Star(1000));
  const Degrees degrees = DegreesOf(builder.dataset());
  const Clusters clusters = Merged(builder.dataset(), degrees, 100);
  EXPECT_LE(clusters.count, 100);
  for (int64_t c = 0; c < clusters.count; ++c) {
    EXPECT_TRUE(clusters.volume[c] <= 100 || clusters.volume[c] >= 999) << clusters.volume[c];
  }
  ExpectClustersConsistent(clusters, degrees);
}

TEST(ClusterMergeTest, ComponentsWithoutAnEdgeBetweenThemArePacked) {
  EdgePairs edges;
  for (int64_t v = 0; v < 200; v += 2) edges.emplace_back(v, v + 1);
  OneType builder(200, edges);
  const Degrees degrees = DegreesOf(builder.dataset());
  const Clusters clusters = Merged(builder.dataset(), degrees, 10);
  EXPECT_LE(clusters.count, 10);
  ExpectClustersConsistent(clusters, degrees);
}

TEST(ClusterMergeTest, IsDeterministic) {
  OneType builder(300, RandomEdges(300, 300, 1500, 4));
  const Degrees degrees = DegreesOf(builder.dataset());
  const Clusters one = Merged(builder.dataset(), degrees, 40);
  const Clusters two = Merged(builder.dataset(), degrees, 40);
  EXPECT_TRUE(std::ranges::equal(one.of.span(), two.of.span()));
}

// ---- pair sample --------------------------------------------------------------------------

using Sums = std::map<std::pair<uint32_t, uint32_t>, uint32_t>;

PairSample Sampled(const EdgePairs& pairs, int64_t max_pairs, uint64_t key) {
  auto sample = PairSample::Make(max_pairs, key);
  EXPECT_TRUE(sample.ok()) << sample.status();
  for (const auto& [a, b] : pairs) {
    if (a != b) sample->Add(static_cast<uint32_t>(a), static_cast<uint32_t>(b));
  }
  return std::move(sample).value();
}

Sums SlowSums(const EdgePairs& pairs) {
  Sums sums;
  for (const auto& [a, b] : pairs) {
    if (a != b)
      ++sums[{static_cast<uint32_t>(std::min(a, b)), static_cast<uint32_t>(std::max(a, b))}];
  }
  return sums;
}

Sums SumsOf(const PairSample& sample) {
  Sums sums;
  sample.ForEach([&](const PairSample::Pair& pair) { sums[{pair.a, pair.b}] += pair.weight; });
  return sums;
}

TEST(PairSampleTest, KeepsAllSumsWhereTheyFit) {
  const EdgePairs pairs = RandomEdges(60, 60, 5000, 3);
  const PairSample sample = Sampled(pairs, 60 * 59 / 2, 7);
  EXPECT_EQ(SumsOf(sample), SlowSums(pairs));
  EXPECT_EQ(sample.share(), 1);
}

TEST(PairSampleTest, WhatIsKeptIsWhole) {
  const EdgePairs pairs = RandomEdges(200, 200, 30000, 3);
  const Sums all = SlowSums(pairs);
  for (const int64_t max_pairs : {1, 10, 500, 5000}) {
    const PairSample sample = Sampled(pairs, max_pairs, 7);
    EXPECT_LE(sample.size(), max_pairs);
    EXPECT_LT(sample.share(), 1);
    for (const auto& [pair, weight] : SumsOf(sample)) EXPECT_EQ(weight, all.at(pair));
  }
}

TEST(PairSampleTest, OrderOfTheStreamDoesNotMatter) {
  EdgePairs pairs = RandomEdges(100, 100, 9000, 5);
  const Sums forward = SumsOf(Sampled(pairs, 700, 1));
  std::reverse(pairs.begin(), pairs.end());
  for (auto& [a, b] : pairs) std::swap(a, b);
  EXPECT_EQ(SumsOf(Sampled(pairs, 700, 1)), forward);
}

TEST(PairSampleTest, ScaledWeightIsUnbiased) {
  const EdgePairs pairs = RandomEdges(120, 120, 20000, 5);
  const double truth = static_cast<double>(pairs.size()) * 119 / 120;
  double sum = 0;
  constexpr int kKeys = 40;
  for (uint64_t key = 0; key < kKeys; ++key) {
    const PairSample sample = Sampled(pairs, 1000, Mix(key));
    for (const auto& [pair, weight] : SumsOf(sample)) sum += weight / sample.share();
  }
  // One sample is off by some 3 %, the mean of 40 by half a per cent.
  EXPECT_NEAR(sum / kKeys / truth, 1, 0.02);
}

// ---- coarse graph -------------------------------------------------------------------------

struct Built {
  Degrees degrees;
  Clusters clusters;
  StatusOr<CoarseGraph> coarse = Internal("not built");
};

Built BuildCoarse(const Dataset& dataset, int64_t cluster_size, int64_t max_pairs = 100000) {
  Built built;
  built.degrees = DegreesOf(dataset);
  built.clusters = EvenClusters(built.degrees, cluster_size);
  const auto weights = NodeWeights::Build(dataset, built.degrees, {});
  EXPECT_TRUE(weights.ok()) << weights.status();
  built.coarse =
      BuildCoarseGraph(dataset, built.clusters, *weights, built.degrees.edges, max_pairs, 3);
  return built;
}

TEST(CoarseGraphTest, WeighsPairsOfClustersByTheirEdges) {
  const EdgePairs edges = RandomEdges(60, 60, 400, 2);
  OneType builder(60, edges);
  const Built built = BuildCoarse(builder.dataset(), 6);
  ASSERT_TRUE(built.coarse.ok()) << built.coarse.status();
  std::map<std::pair<uint32_t, uint32_t>, int> expected;
  for (const auto& [u, v] : edges) {
    const uint32_t a = built.clusters.of[u];
    const uint32_t b = built.clusters.of[v];
    if (a == b) continue;
    ++expected[{a, b}];
    ++expected[{b, a}];
  }
  const FoldedGraph& graph = built.coarse->graph;
  std::map<std::pair<uint32_t, uint32_t>, int> found;
  for (uint32_t a = 0; a < graph.num_nodes(); ++a) {
    for (int i = graph.xadj[a]; i < graph.xadj[a + 1]; ++i) {
      EXPECT_TRUE(i == graph.xadj[a] ||
                  graph.neighbours.data()[i - 1] < graph.neighbours.data()[i]);
      found[{a, graph.neighbours.data()[i]}] = graph.weights[i];
    }
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(built.coarse->share, 1);
}

TEST(CoarseGraphTest, SumsTheWeightsOfNodesInClusters) {
  DatasetBuilder builder;
  builder.Nodes("a", 20)
      .Nodes("b", 30)
      .Edges("a", "to", "b", RandomEdges(20, 25, 100, 2))
      .TaskSet("train", "b", false, {1, 2, 3, 3});
  const Built built = BuildCoarse(builder.dataset(), 5);
  ASSERT_TRUE(built.coarse.ok()) << built.coarse.status();
  const VertexWeights& weights = built.coarse->weights;
  ASSERT_EQ(weights.count(), 4);
  std::vector<int64_t> sums(weights.count(), 0);
  for (int64_t c = 0; c < built.clusters.count; ++c) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += weights.Row(c)[i];
  }
  EXPECT_EQ(sums[0] + sums[1], built.degrees.connected);
  EXPECT_EQ(sums[2], 100);
  EXPECT_EQ(sums[3], 4);
  for (size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(weights.constraints[i].total, sums[i]);
}

TEST(CoarseGraphTest, SamplesDownToTheBudget) {
  OneType builder(200, RandomEdges(200, 200, 4000, 2));
  const Built built = BuildCoarse(builder.dataset(), 1, 300);
  ASSERT_TRUE(built.coarse.ok()) << built.coarse.status();
  EXPECT_LE(built.coarse->graph.num_arcs(), 2 * 300);
  EXPECT_GE(built.coarse->graph.num_arcs(), 2 * 100);
  EXPECT_LT(built.coarse->share, 1);
}

TEST(CoarseGraphTest, StreamThatShrankIsDataLoss) {
  OneType builder(4, {{0, 1}});
  Dataset dataset = builder.dataset();
  dataset.relations[0].edges =
      std::make_shared<ChangingEdges>(EdgePairs{{0, 1}, {2, 3}}, EdgePairs{{0, 1}}, 1);
  EXPECT_TRUE(absl::IsDataLoss(BuildCoarse(dataset, 1).coarse.status()));
}

// ---- coarse budget ------------------------------------------------------------------------

GraphCounts Counts(int64_t nodes, int64_t edges, bool sets = true) {
  GraphCounts counts;
  counts.nodes = {nodes};
  counts.relations.push_back({.source_type = 0, .destination_type = 0, .edges = edges});
  counts.train = counts.valid = counts.test = sets;
  return counts;
}

MethodOptions BudgetOptions(int parts, int64_t memory) {
  MethodOptions options;
  options.parts = parts;
  options.memory = memory;
  return options;
}

constexpr int64_t kGiB = int64_t{1} << 30;

TEST(CoarseBudgetTest, SmallGraphsAreNotClustered) {
  const CoarseBudget budget = ChooseBudget(Counts(36692, 367662), BudgetOptions(8, 8 * kGiB));
  EXPECT_EQ(budget.clusters, 36692);
  EXPECT_EQ(budget.pairs, 367662);
  EXPECT_EQ(budget.counter_bytes, 8 * 36692);
}

TEST(CoarseBudgetTest, LargestGraphFitsEightGiB) {
  const GraphCounts counts = Counts(111'059'956, 1'615'685'872);
  const MethodOptions options = BudgetOptions(8, 8 * kGiB);
  const CoarseBudget budget = ChooseBudget(counts, options);
  EXPECT_GE(budget.clusters, 3'000'000);
  EXPECT_LE(budget.clusters, 5'000'000);
  EXPECT_GE(budget.pairs, 30'000'000);
  EXPECT_LE(budget.pairs, 40'000'000);
  const MemoryPlan plan = PlanOfBudget(counts, options, budget);
  EXPECT_TRUE(CheckMemory(plan, options.memory).ok()) << plan.ToText();
}

TEST(CoarseBudgetTest, TwentyEightBytesANodeAndAHundredTenAPair) {
  const GraphCounts counts = Counts(111'059'956, 1'615'685'872);
  const MethodOptions options = BudgetOptions(8, 100 * kGiB);
  const CoarseBudget budget = ChooseBudget(counts, options);
  EXPECT_EQ(budget.pairs, 40'000'000);
  for (const MemoryPhase& phase : PlanOfBudget(counts, options, budget).phases) {
    const bool coarse = phase.name == "METIS" || phase.name == "coarse graph";
    EXPECT_LE(phase.bytes(),
              28 * counts.num_nodes() + kEdgePassBytes + (coarse ? 110 * budget.pairs : 0))
        << phase.name;
  }
}

TEST(CoarseBudgetTest, AskedForClustersAreTaken) {
  MethodOptions options = BudgetOptions(4, 8 * kGiB);
  options.stream_metis.clusters = 5000;
  EXPECT_EQ(ChooseBudget(Counts(100'000, 1'000'000), options).clusters, 5000);
  // But enough for METIS to balance, and no more than nodes.
  options.stream_metis.clusters = 10;
  EXPECT_EQ(ChooseBudget(Counts(100'000, 1'000'000), options).clusters, 256);
  options.stream_metis.clusters = 500'000;
  EXPECT_EQ(ChooseBudget(Counts(100'000, 1'000'000), options).clusters, 100'000);
}

TEST(CoarseBudgetTest, NeverOverTheMemoryAboveTheLeast) {
  for (const int64_t nodes : {1, 100, 40'000, 3'000'000, 111'000'000}) {
    for (const int parts : {2, 8, 64, 4096}) {
      const GraphCounts counts = Counts(nodes, 20 * nodes);
      const auto plan = [&](int64_t memory) {
        return StreamMetisMethod().PlanMemory(counts, BudgetOptions(parts, memory));
      };
      const int64_t least = kProgramBytes + plan(1 << 20).peak_bytes();
      for (const int64_t more : {int64_t{0}, least / 100, least / 3, least, 10 * least}) {
        const Status fits = CheckMemory(plan(least + more), least + more);
        EXPECT_TRUE(fits.ok()) << nodes << " nodes, " << parts << " parts: " << fits;
      }
    }
  }
}

TEST(CoarseBudgetTest, OneMiBIsRefusedWithTheLeastThatWorks) {
  const MemoryPlan plan =
      StreamMetisMethod().PlanMemory(Counts(1'000'000, 16'000'000), BudgetOptions(8, 1 << 20));
  const Status status = CheckMemory(plan, 1 << 20);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(Message(status),
              HasSubstr(fmt::format("({} bytes)", kProgramBytes + plan.peak_bytes())));
  // Beside the program and the chunks, some ten bytes a node.
  EXPECT_LE(plan.peak_bytes(), 30'000'000 + kEdgePassBytes);
}

TEST(CoarseBudgetTest, ManyPartitionsCountInRanges) {
  const CoarseBudget budget =
      ChooseBudget(Counts(10'000'000, 100'000'000), BudgetOptions(1024, 4 * kGiB));
  EXPECT_LT(budget.counter_bytes, 4 * kGiB);
  EXPECT_GE(budget.counter_bytes, 10'000'000);
}

}  // namespace
}  // namespace halograph
