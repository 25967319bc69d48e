#include <gmock/gmock.h>

#include "partitioner/methods/metis/vertex_weights.h"
#include "partitioner/methods/stream_metis/neighbour_counts.h"
#include "partitioner/methods/stream_metis/node_weights.h"
#include "partitioner/methods/stream_metis/refinement.h"
#include "partitioner/methods/stream_metis/stream_metis_method.h"
#include "tests/unit/partitioner_methods/stream_graph.h"

namespace halograph {
namespace {

using testing::HasSubstr;

// ---- neighbour counts ---------------------------------------------------------------------

std::vector<uint16_t> SomeOwners(int64_t nodes, int parts) {
  std::vector<uint16_t> owners;
  for (int64_t v = 0; v < nodes; ++v) {
    owners.push_back(static_cast<uint16_t>(Bounded(Mix(static_cast<uint64_t>(v)), parts)));
  }
  return owners;
}

TEST(NeighbourCountsTest, CountsBothEndsInRangesAndHalves) {
  constexpr int64_t kNodes = 50;
  constexpr int kParts = 3;
  EdgePairs edges = RandomEdges(kNodes, kNodes, 400, 2);
  edges.emplace_back(4, 4);
  OneType builder(kNodes, edges);
  const Degrees degrees = DegreesOf(builder.dataset());
  const std::vector<uint16_t> owners = SomeOwners(kNodes, kParts);
  std::vector<std::vector<int>> slow(kNodes, std::vector<int>(kParts, 0));
  int64_t slow_cut = 0;
  for (const auto& [u, v] : edges) {
    if (u == v) continue;
    ++slow[u][owners[v]];
    ++slow[v][owners[u]];
    slow_cut += owners[u] != owners[v] ? 1 : 0;
  }
  auto counts = NeighbourCounts::Make(degrees, kParts, 20, 5);
  ASSERT_TRUE(counts.ok()) << counts.status();
  const HashedHalf half = {99, true};
  for (const IdRange range : {IdRange{0, 20}, IdRange{20, 40}, IdRange{40, 50}}) {
    for (const HashedHalf* chosen : {static_cast<const HashedHalf*>(nullptr), &half}) {
      const auto cut = counts->Count(builder.dataset(), owners, range, chosen);
      ASSERT_TRUE(cut.ok()) << cut.status();
      EXPECT_EQ(*cut, slow_cut);
      for (int64_t v = range.begin; v < range.end; ++v) {
        for (int part = 0; part < kParts; ++part) {
          const bool counted = chosen == nullptr || half.Has(v);
          EXPECT_EQ(counts->Of(v)[part], counted ? slow[v][part] : 0) << v;
        }
      }
    }
  }
}

TEST(NeighbourCountsTest, HalvesAreHalvesAndComplements) {
  int64_t in_half = 0;
  for (int64_t v = 0; v < 10000; ++v) {
    EXPECT_NE((HashedHalf{5, false}.Has(v)), (HashedHalf{5, true}.Has(v)));
    in_half += HashedHalf{5, true}.Has(v) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(in_half), 5000, 200);
}

TEST(NeighbourCountsTest, ParallelEdgesStopAt255) {
  OneType builder(3, EdgePairs(255, {0, 1}));
  const Degrees degrees = DegreesOf(builder.dataset());
  auto counts = NeighbourCounts::Make(degrees, 2, 3, 5);
  ASSERT_TRUE(counts->Count(builder.dataset(), SomeOwners(3, 1), {0, 3}, nullptr).ok());
  EXPECT_EQ(counts->Of(1)[0], 255);
  EXPECT_EQ(counts->Scale(1), 1);
}

TEST(NeighbourCountsTest, HubIsCountedByAShareOfItsNeighbours) {
  constexpr int64_t kNodes = 20001;
  OneType builder(kNodes, Star(kNodes));
  const Degrees degrees = DegreesOf(builder.dataset());
  std::vector<uint16_t> owners(kNodes, 0);
  for (int64_t v = 0; v < kNodes; v += 4) owners[v] = 1;  // a quarter
  auto counts = NeighbourCounts::Make(degrees, 2, kNodes, 5);
  ASSERT_TRUE(counts->Count(builder.dataset(), owners, {0, kNodes}, nullptr).ok());
  const uint8_t* hub = counts->Of(0);
  EXPECT_LT(hub[0], 255);
  const double scale = counts->Scale(0);
  EXPECT_NEAR(hub[0] * scale, 15000, 4000);
  EXPECT_NEAR(hub[1] * scale, 5000, 2500);
}

// ---- node weights -------------------------------------------------------------------------

TEST(NodeWeightsTest, RowsAreThoseOfBuildVertexWeights) {
  DatasetBuilder builder;
  builder.Nodes("a", 20)
      .Nodes("b", 30)
      .Edges("a", "to", "b", RandomEdges(20, 30, 100, 2))
      .TaskSet("train", "a", false, {0, 5, 5, 19})
      .TaskSet("valid", "a:to:b", true, {3, 4, 5, 6, 7, 4}, 2);
  for (const BalanceOptions& balance :
       {BalanceOptions{}, BalanceOptions{false, true, false, true, true},
        BalanceOptions{false, false, false, false, false}}) {
    const Degrees degrees = DegreesOf(builder.dataset());
    const auto weights = NodeWeights::Build(builder.dataset(), degrees, balance);
    ASSERT_TRUE(weights.ok()) << weights.status();
    const auto graph = BuildFoldedGraph(builder.dataset(), false);
    const auto slow = BuildVertexWeights(builder.dataset(), *graph, balance);
    ASSERT_EQ(weights->count(), slow->count());
    std::vector<int32_t> row(weights->count());
    for (int64_t v = 0; v < 50; ++v) {
      weights->Row(v, row.data());
      for (size_t c = 0; c < row.size(); ++c) EXPECT_EQ(row[c], slow->Row(v)[c]) << v << " " << c;
    }
  }
}

TEST(NodeWeightsTest, CountsMoreRowsThanAByteHolds) {
  for (const int rows : {253, 254, 255, 256, 1000}) {
    OneType builder(3, {{0, 1}});
    builder.TaskSet("train", "node", false, std::vector<int64_t>(static_cast<size_t>(rows), 2));
    const Degrees degrees = DegreesOf(builder.dataset());
    const auto weights = NodeWeights::Build(builder.dataset(), degrees, {});
    ASSERT_TRUE(weights.ok()) << weights.status();
    std::vector<int32_t> row(weights->count());
    weights->Row(2, row.data());
    EXPECT_EQ(row.back(), rows);
    weights->Row(1, row.data());
    EXPECT_EQ(row.back(), 0);
  }
}

// ---- refinement ---------------------------------------------------------------------------

constexpr int kParts = 4;
constexpr int64_t kBlockNodes = 200;

int64_t Cut(const EdgePairs& edges, const std::vector<uint16_t>& owners) {
  int64_t cut = 0;
  for (const auto& [u, v] : edges) cut += owners[u] != owners[v] ? 1 : 0;
  return cut;
}

// Four blocks, each its own partition but for every eighth node, which is elsewhere.
class RefinementTest : public testing::Test {
 protected:
  RefinementTest()
      : edges_(PlantedEdges(kParts, kBlockNodes, 8000, 3)),
        builder_(kParts * kBlockNodes, edges_),
        degrees_(DegreesOf(builder_.dataset())),
        weights_(*NodeWeights::Build(builder_.dataset(), degrees_, {})) {
    for (int64_t v = 0; v < kParts * kBlockNodes; ++v) {
      owners_.push_back(static_cast<uint16_t>((v / kBlockNodes + (v % 8 == 0 ? 1 : 0)) % kParts));
    }
  }

  std::vector<RefinementRound> RefineRounds(int rounds, int64_t counter_bytes) {
    NodeLoads loads(weights_, owners_, kParts);
    auto done =
        Refine({&builder_.dataset(), &degrees_, kParts, counter_bytes, 1, owners_, &loads}, rounds);
    EXPECT_TRUE(done.ok()) << done.status();
    EXPECT_EQ(loads.parts().Excess(), 0);
    EXPECT_EQ(NodeLoads(weights_, owners_, kParts).parts().Balance(), loads.parts().Balance());
    return std::move(done).value();
  }

  EdgePairs edges_;
  OneType builder_;
  Degrees degrees_;
  NodeWeights weights_;
  std::vector<uint16_t> owners_;
};

TEST_F(RefinementTest, BringsStrayNodesHomeWithinTheBounds) {
  const int64_t before = Cut(edges_, owners_);
  const auto rounds = RefineRounds(4, kParts * kParts * kBlockNodes);
  EXPECT_EQ(rounds.front().cut, before);
  EXPECT_LT(rounds[1].cut, before);
  int64_t strays = 0;
  for (int64_t v = 0; v < kParts * kBlockNodes; ++v)
    strays += owners_[v] != v / kBlockNodes ? 1 : 0;
  EXPECT_LE(strays, 4);
}

TEST_F(RefinementTest, RangesOfNodesFindTheSame) {
  RefineRounds(4, 100 * kParts);  // 100 nodes a pass, 8 passes a round
  int64_t strays = 0;
  for (int64_t v = 0; v < kParts * kBlockNodes; ++v)
    strays += owners_[v] != v / kBlockNodes ? 1 : 0;
  EXPECT_LE(strays, 4);
}

TEST_F(RefinementTest, FewCountersTakeTurns) {
  const int64_t before = Cut(edges_, owners_);
  const auto rounds = RefineRounds(2, 20 * kParts);  // 40 ranges, 8 a round
  EXPECT_EQ(rounds.size(), 2);
  EXPECT_LT(Cut(edges_, owners_), before);
  // The ranges of later turns were not looked at.
  for (int64_t v = 16 * 20; v < kParts * kBlockNodes; v += 8)
    EXPECT_NE(owners_[v], v / kBlockNodes) << v;
}

TEST_F(RefinementTest, NoRoundsNoPass) {
  const std::vector<uint16_t> before = owners_;
  EXPECT_TRUE(RefineRounds(0, 1000).empty());
  EXPECT_EQ(owners_, before);
}

// ---- balance ------------------------------------------------------------------------------

struct Balanced {
  std::vector<uint16_t> owners;
  double excess = 0;
  int64_t moves = 0;
};

Balanced Balance(const Dataset& dataset, std::vector<uint16_t> owners, int parts,
                 int64_t counter_bytes) {
  const Degrees degrees = DegreesOf(dataset);
  const auto weights = NodeWeights::Build(dataset, degrees, {});
  NodeLoads loads(*weights, owners, parts);
  const auto moves = BalanceOwners({&dataset, &degrees, parts, counter_bytes, 1, owners, &loads});
  EXPECT_TRUE(moves.ok()) << moves.status();
  return {owners, loads.parts().Excess(), *moves};
}

TEST(BalanceTest, EverythingInOnePartitionIsSpread) {
  OneType builder(800, PlantedEdges(4, 200, 4000, 3));
  for (const int64_t counter_bytes : {4 * 800, 4 * 200}) {
    const Balanced balanced =
        Balance(builder.dataset(), std::vector<uint16_t>(800, 0), 4, counter_bytes);
    // From so far away single moves may end a node or a few edges above a bound.
    EXPECT_LE(balanced.excess, 0.01);
    EXPECT_GT(balanced.moves, 500);
  }
}

TEST(BalanceTest, WhatIsEvenStaysAsItIs) {
  OneType builder(800, PlantedEdges(4, 200, 4000, 3));
  std::vector<uint16_t> owners;
  for (int64_t v = 0; v < 800; ++v) owners.push_back(static_cast<uint16_t>(v / 200));
  const Balanced balanced = Balance(builder.dataset(), owners, 4, 4 * 800);
  EXPECT_EQ(balanced.owners, owners);
  EXPECT_EQ(balanced.moves, 0);
}

TEST(BalanceTest, StraysLeaveBeforeThoseAtHome) {
  // Block 0's partition has 40 nodes of block 1 beside its own: those are what it gives back.
  OneType builder(400, PlantedEdges(2, 200, 6000, 3));
  std::vector<uint16_t> owners;
  for (int64_t v = 0; v < 400; ++v) owners.push_back(v < 240 ? 0 : 1);
  const Balanced balanced = Balance(builder.dataset(), owners, 2, 2 * 400);
  EXPECT_EQ(balanced.excess, 0);
  int64_t home_left = 0;
  for (int64_t v = 0; v < 200; ++v) home_left += balanced.owners[v] != 0 ? 1 : 0;
  EXPECT_LE(home_left, 2);
}

TEST(BalanceTest, AHubThatIsTooHeavyForAnyPartitionEnds) {
  OneType builder(100, Star(100));
  const Balanced balanced = Balance(builder.dataset(), std::vector<uint16_t>(100, 0), 4, 400);
  EXPECT_GT(balanced.excess, 0);  // 99 in-edges on one node
  std::vector<int> nodes(4, 0);
  for (const uint16_t owner : balanced.owners) ++nodes[owner];
  for (const int count : nodes) EXPECT_LE(count, 26);
}

// ---- stream metis method ------------------------------------------------------------------

MethodOptions StreamOptions(int parts, int64_t clusters = 0) {
  MethodOptions options;
  options.parts = parts;
  options.seed = 1;
  options.stream_metis.clusters = clusters;
  return options;
}

StatusOr<Assignment> AssignStream(const Dataset& dataset, const MethodOptions& options) {
  return StreamMetisMethod().Assign(dataset, options);
}

double MaxOverMean(const std::vector<int64_t>& loads) {
  int64_t sum = 0;
  for (const int64_t load : loads) sum += load;
  return static_cast<double>(*std::max_element(loads.begin(), loads.end())) *
         static_cast<double>(loads.size()) / static_cast<double>(sum);
}

TEST(StreamMetisMethodTest, FindsPlantedBlocksThroughClusters) {
  constexpr int64_t kBlock = 1000;
  const EdgePairs edges = PlantedEdges(4, kBlock, 40000, 3);
  OneType builder(4 * kBlock, edges);
  const auto assignment = AssignStream(builder.dataset(), StreamOptions(4, 400));
  ASSERT_TRUE(assignment.ok()) << assignment.status();
  EXPECT_LE(assignment->report["clusters"], 600);
  int64_t cut = 0;
  for (const auto& [u, v] : edges) {
    cut += assignment->owners[0][u] != assignment->owners[0][v] ? 1 : 0;
  }
  // 15 % of the edges lie between blocks.
  EXPECT_LE(cut * 100, static_cast<int64_t>(edges.size()) * 18);
}

TEST(StreamMetisMethodTest, KeepsEveryTypeEdgesAndSetsWithinTheirBounds) {
  std::vector<int64_t> train;
  for (int64_t v = 0; v < 3000; v += 7) train.push_back(v);
  DatasetBuilder builder;
  builder.Nodes("a", 2000)
      .Nodes("b", 3000)
      .Edges("a", "to", "b", RandomEdges(2000, 3000, 15000, 2))
      .Edges("b", "with", "b", PlantedEdges(6, 500, 20000, 3))
      .TaskSet("train", "b", false, train);
  for (const int parts : {2, 5}) {
    for (const int64_t clusters : {0, 700}) {
      const auto assignment = AssignStream(builder.dataset(), StreamOptions(parts, clusters));
      ASSERT_TRUE(assignment.ok()) << assignment.status();
      for (size_t type = 0; type < 2; ++type) {
        std::vector<int64_t> nodes(parts, 0);
        for (const uint16_t owner : assignment->owners[type]) ++nodes[owner];
        EXPECT_LE(MaxOverMean(nodes), 1.03) << parts << " parts, type " << type;
      }
      std::vector<int64_t> rows(parts, 0);
      for (const int64_t v : train) ++rows[assignment->owners[1][v]];
      EXPECT_LE(MaxOverMean(rows), 1.05);
      for (const Json& constraint : assignment->report["constraints"]) {
        const double bound = constraint["name"] == "edges" ? 1.10 : 1.05;
        EXPECT_LE(constraint["max_over_mean"].get<double>(), bound) << constraint.dump();
      }
    }
  }
}

TEST(StreamMetisMethodTest, NodesWithoutEdgesAreDealtEvenly) {
  // 3000 nodes with edges, then 1000 without, one of them with a loop.
  EdgePairs edges = PlantedEdges(3, 1000, 12000, 3);
  edges.emplace_back(3500, 3500);
  OneType builder(4000, edges);
  const auto assignment = AssignStream(builder.dataset(), StreamOptions(4));
  ASSERT_TRUE(assignment.ok()) << assignment.status();
  std::vector<int64_t> isolated(4, 0);
  for (int64_t v = 3000; v < 4000; ++v) ++isolated[assignment->owners[0][v]];
  EXPECT_LE(MaxOverMean(isolated), 1.03);
}

TEST(StreamMetisMethodTest, GiantHubAndTooFewClustersEndWithEvenNodes) {
  OneType builder(5000, Star(5000));
  for (const int64_t clusters : {0, 600}) {
    const auto assignment = AssignStream(builder.dataset(), StreamOptions(8, clusters));
    ASSERT_TRUE(assignment.ok()) << assignment.status();
    std::vector<int64_t> nodes(8, 0);
    for (const uint16_t owner : assignment->owners[0]) ++nodes[owner];
    EXPECT_LE(MaxOverMean(nodes), 1.03);
  }
}

TEST(StreamMetisMethodTest, SameOwnersEveryTime) {
  OneType builder(3000, RandomEdges(3000, 3000, 30000, 3));
  const auto one = AssignStream(builder.dataset(), StreamOptions(5, 500));
  const auto two = AssignStream(builder.dataset(), StreamOptions(5, 500));
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->owners, two->owners);
  EXPECT_EQ(one->report, two->report);
}

TEST(StreamMetisMethodTest, LittleMemoryOnlyCostsQuality) {
  OneType builder(20000, PlantedEdges(8, 2500, 200000, 3));
  MethodOptions options = StreamOptions(8);
  options.memory =
      kProgramBytes +
      StreamMetisMethod().PlanMemory(GraphCounts::Of(builder.dataset()), options).peak_bytes() / 2;
  const auto assignment = AssignStream(builder.dataset(), options);
  ASSERT_TRUE(assignment.ok()) << assignment.status();
  EXPECT_LT(assignment->report["clusters"], 20000);
}

TEST(StreamMetisMethodTest, OptionsOutOfRangeAreInvalid) {
  OneType builder(100, RandomEdges(100, 100, 300, 3));
  MethodOptions options = StreamOptions(2);
  options.stream_metis.refinement_rounds = 17;
  EXPECT_THAT(Message(AssignStream(builder.dataset(), options).status()),
              HasSubstr("17 refinement rounds"));
  EXPECT_THAT(Message(AssignStream(builder.dataset(), StreamOptions(2, -5)).status()),
              HasSubstr("-5 clusters"));
}

// A small graph is not clustered unless it stands for one that is.
TEST(StreamMetisMethodTest, TrialHasClustersInTheShareOfTheGraphItStandsFor) {
  const GraphCounts large = {
      .nodes = {100'000'000},
      .relations = {{.source_type = 0, .destination_type = 0, .edges = 1'600'000'000}}};
  const int64_t clusters =
      StreamMetisMethod().ForTrial(large, 30'000, StreamOptions(8)).stream_metis.clusters;
  EXPECT_GE(clusters, 30'000 / 40);
  EXPECT_LE(clusters, 30'000 / 18);
  const GraphCounts small = {.nodes = {1000}, .relations = {}};
  EXPECT_EQ(StreamMetisMethod().ForTrial(small, 1000, StreamOptions(8)).stream_metis.clusters, 0);
}

TEST(StreamMetisMethodTest, InputThatChangesBetweenPassesIsDataLoss) {
  const EdgePairs edges = RandomEdges(1000, 1000, 5000, 3);
  EdgePairs more = edges;
  more.emplace_back(1, 2);
  for (const int passes : {1, 2, 3, 4}) {
    OneType builder(1000, edges);
    Dataset dataset = builder.dataset();
    dataset.relations[0].edges = std::make_shared<ChangingEdges>(edges, more, passes);
    EXPECT_TRUE(absl::IsDataLoss(AssignStream(dataset, StreamOptions(2, 200)).status())) << passes;
  }
}

}  // namespace
}  // namespace halograph
