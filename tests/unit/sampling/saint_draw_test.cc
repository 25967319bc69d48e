// The draws that make subgraphs, against the golden vectors; and that what is made of them is
// unbiased, by many draws on a real graph.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include <gmock/gmock.h>

#include "common/base/sanitizers.h"
#include "common/sampling/draws.h"
#include "common/sampling/kernel/one_layer.h"
#include "common/sampling/samplers/local_source.h"
#include "common/sampling/samplers/minibatch_builder.h"
#include "common/sampling/samplers/presampled_chance.h"
#include "common/sampling/samplers/subgraph_draw.h"
#include "common/storage/npy.h"
#include "tests/support/golden.h"
#include "tests/unit/sampling/saint_graph.h"

namespace halograph {
namespace {

using testing::HasSubstr;

class SaintGoldenTest : public testing::Test {
 protected:
  void SetUp() override {
    auto golden = LoadGoldenSampling("golden_graph_wise_v1.json");
    ASSERT_TRUE(golden.ok()) << golden.status();
    golden_ = *std::move(golden);
  }

  static DrawnNodes Expected(const Json& row, const char* nodes = "drawn_nodes") {
    return {.nodes = row.at(nodes), .counts = row.at("counts")};
  }

  GoldenSampling golden_;
};

TEST_F(SaintGoldenTest, Keys) {
  for (const Json& row : golden_.raw.at("keys")) {
    EXPECT_EQ(SubgraphKey(FromHex(row.at("batch_seed"))), FromHex(row.at("subgraph_key"))) << row;
  }
}

TEST_F(SaintGoldenTest, NodesByDegree) {
  for (const Json& row : golden_.raw.at("degree_draws")) {
    const Json& list = golden_.raw.at("lists").at(row.at("list").get<size_t>());
    const auto degrees = list.at("degrees").get<std::vector<uint32_t>>();
    const auto drawn = DrawByDegree(DegreeSums(degrees), row.at("draws"),
                                    SubgraphKey(FromHex(row.at("batch_seed"))));
    ASSERT_TRUE(drawn.ok()) << drawn.status();
    EXPECT_EQ(*drawn, Expected(row)) << list.at("name");
  }
}

TEST_F(SaintGoldenTest, RootsOfWalks) {
  for (const Json& row : golden_.raw.at("uniform_draws")) {
    const auto drawn =
        DrawUniformly(row.at("nodes"), row.at("draws"), SubgraphKey(FromHex(row.at("batch_seed"))));
    ASSERT_TRUE(drawn.ok()) << drawn.status();
    EXPECT_EQ(*drawn, Expected(row)) << row;
  }
}

// What the neighbour sampler draws from each of the nodes, with replacement, as often as it was
// drawn.
DrawnNodes PickedBySampler(const RelationTopology& topology, const DrawnNodes& from,
                           uint64_t layer_key) {
  std::vector<int64_t> picked;
  for (size_t i = 0; i < from.nodes.size(); ++i) {
    const LayerDraws draws =
        MakeLayerDraws(topology, {.fanout = from.counts[i], .replace = true}, layer_key).value();
    NeighborPicks picks;
    EXPECT_TRUE(SampleNeighbors(draws, std::span(&from.nodes[i], 1), nullptr, &picks).done());
    picked.insert(picked.end(), picks.sources.begin(), picks.sources.end());
  }
  return CountPicked(picked);
}

TEST_F(SaintGoldenTest, SubgraphsAreWhatTheNeighbourSamplerDrawsFromTheFirstNodes) {
  const MemoryGraph graph(golden_.spec, IdWidth::k32);
  for (const Json& row : golden_.raw.at("subgraphs")) {
    const int relation = row.at("relation");
    const RelationTopology& topology = graph.topology[relation];
    const uint64_t batch_seed = FromHex(row.at("batch_seed"));
    std::vector<uint32_t> degrees;
    for (const auto& sources : graph.relations[relation]->in_edges()) {
      degrees.push_back(static_cast<uint32_t>(sources.size()));
    }
    DrawnNodes at =
        row.at("kind") == "walk"
            ? DrawUniformly(std::ssize(degrees), row.at("draws"), SubgraphKey(batch_seed)).value()
            : DrawByDegree(DegreeSums(degrees), row.at("draws"), SubgraphKey(batch_seed)).value();
    std::vector<int64_t> nodes = at.nodes;
    const Json& steps = row.at("steps");
    for (size_t step = 0; step < steps.size(); ++step) {
      EXPECT_EQ(at, Expected(steps[step], "nodes")) << row;
      if (step + 1 == steps.size()) break;
      at = PickedBySampler(topology, at,
                           LayerKey(batch_seed, static_cast<int>(step),
                                    static_cast<int>(graph.schema.relations.size()), relation));
      nodes.insert(nodes.end(), at.nodes.begin(), at.nodes.end());
    }
    EXPECT_EQ(CountPicked(nodes).nodes, row.at("nodes").get<std::vector<int64_t>>()) << row;
  }
}

// The nodes of one minibatch that a builder makes, of the golden graph's relation a:r:a.
std::vector<int64_t> NodesBuilt(const MemoryGraph& graph, const RelationRule& rule,
                                uint64_t batch_seed,
                                std::span<const std::vector<int64_t>> clusters = {}) {
  const SamplingSpec spec{.layers = {{rule}}};
  const SampleRequest request{.seeds = {}, .batch_seed = batch_seed, .spec = &spec};
  LocalSource source(&graph.schema, &graph.topology, nullptr);
  BuilderWorkspaces workspaces(&graph.schema, 2, clusters);
  Minibatch minibatch;
  EXPECT_EQ(BuildMinibatches(graph.schema, {&request, 1}, source, &workspaces, {&minibatch, 1}),
            OkStatus());
  return minibatch.nodes.at(static_cast<size_t>(graph.schema.SourceType(rule.relation)));
}

TEST_F(SaintGoldenTest, MinibatchesOfWalksHaveTheseNodes) {
  const MemoryGraph graph(golden_.spec, IdWidth::k32);
  int checked = 0;
  for (const Json& row : golden_.raw.at("subgraphs")) {
    const DrawRule rule = {.kind = DrawKind::kSaintWalk,
                           .fanout = row.at("draws"),
                           .walk_length = static_cast<int32_t>(row.at("steps").size()) - 1};
    if (row.at("kind") != "walk" || rule.fanout == 0 || rule.walk_length == 0) continue;
    EXPECT_EQ(NodesBuilt(graph, {row.at("relation"), rule}, FromHex(row.at("batch_seed"))),
              row.at("nodes").get<std::vector<int64_t>>())
        << row;
    ++checked;
  }
  EXPECT_EQ(checked, 5);
}

TEST_F(SaintGoldenTest, MinibatchesOfClustersHaveTheseNodes) {
  const MemoryGraph graph(golden_.spec, IdWidth::k32);
  const int relation = golden_.raw.at("subgraphs").at(0).at("relation");
  for (const Json& row : golden_.raw.at("clusters")) {
    const auto bounds = row.at("bounds").get<std::vector<std::vector<int64_t>>>();
    const DrawRule rule = {.kind = DrawKind::kCluster, .fanout = row.at("draws")};
    EXPECT_EQ(NodesBuilt(graph, {relation, rule}, FromHex(row.at("batch_seed")), bounds),
              row.at("nodes").get<std::vector<int64_t>>())
        << row;
  }
}

TEST(DegreeSumsTest, EveryNodeHasAsManyNumbersAsEdges) {
  CounterRng rng(4);
  for (const size_t size : {1, 63, 64, 65, 200, 640}) {
    std::vector<uint32_t> degrees(size);
    for (uint32_t& degree : degrees) {
      degree = static_cast<uint32_t>(rng.NextBounded(3) * rng.NextBounded(5));
    }
    degrees[size / 2] = 3;
    const DegreeSums sums(degrees);
    uint64_t target = 0;
    for (size_t v = 0; v < size; ++v) {
      for (uint32_t i = 0; i < degrees[v]; ++i) {
        EXPECT_EQ(sums.Find(target++), static_cast<int64_t>(v)) << size;
      }
    }
    EXPECT_EQ(sums.total(), target);
  }
}

TEST(SubgraphDrawTest, BadRequestsAreNamed) {
  const std::vector<uint32_t> degrees = {0, 0}, some = {1, 1};
  EXPECT_THAT(Message(DrawByDegree(DegreeSums(degrees), 3, 1).status()),
              HasSubstr("3 draws was asked of a relation without edges"));
  EXPECT_TRUE(DrawByDegree(DegreeSums(degrees), 0, 1).ok());
  EXPECT_THAT(Message(DrawUniformly(0, 1, 1).status()), HasSubstr("without nodes"));
  for (const int64_t draws : {int64_t{-1}, kMaxSubgraphDraws + 1}) {
    EXPECT_EQ(DrawByDegree(DegreeSums(some), draws, 1).status().code(),
              absl::StatusCode::kOutOfRange);
    EXPECT_THAT(Message(DrawUniformly(2, draws, 1).status()), HasSubstr("0 to 1048576"));
  }
}

// ---- a real graph ------------------------------------------------------------------------------

// What is unbiased is the same with sanitizers, which make it thirty times slower.
constexpr int kSubgraphs = kSanitizerAllocator ? 2'000 : 100'000;
constexpr int kSubgraphsWithErrors = kSubgraphs / 20;

class SaintCoraTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const char* const folder = std::getenv("HALOGRAPH_DATA");
    if (folder == nullptr || *folder == '\0') return;
    const auto edges = NpyArray::Open(std::filesystem::path(folder) / "cora" / "edges" / "edge.npy",
                                      NpyOrigin::kForeign);
    ASSERT_TRUE(edges.ok()) << edges.status();
    const auto ends = edges->As<int64_t>().value();
    InEdges in_edges(2708);
    for (size_t e = 0; e < ends.size() / 2; ++e) {
      in_edges[static_cast<size_t>(ends[ends.size() / 2 + e])].push_back(ends[e]);
    }
    graph_ = std::make_unique<SaintGraph>(in_edges);
  }
  static void TearDownTestSuite() { graph_.reset(); }
  void SetUp() override {
    if (graph_ == nullptr) GTEST_SKIP() << "HALOGRAPH_DATA is not set, so cora is not there";
  }

  static std::unique_ptr<SaintGraph> graph_;
};
std::unique_ptr<SaintGraph> SaintCoraTest::graph_;

// The nodes of one minibatch's subgraph, one after the other. `one_each`: an error that tests must
// see: how often a node was drawn is dropped.
std::vector<int64_t> DrawSubgraph(const SaintGraph& graph, const DegreeSums& sums,
                                  const SaintRule& rule, uint64_t batch_seed,
                                  bool one_each = false) {
  const uint64_t key = SubgraphKey(batch_seed);
  DrawnNodes at = rule.kind == SaintKind::kWalk
                      ? DrawUniformly(std::ssize(graph.degrees), rule.draws, key).value()
                      : DrawByDegree(sums, rule.draws, key).value();
  std::vector<int64_t> nodes = at.nodes, picked, positions;
  const int steps = rule.kind == SaintKind::kEdge ? 1 : rule.length;
  for (int step = 0; step < steps; ++step) {
    picked.clear();
    const uint64_t layer_key = LayerKey(batch_seed, step, 1, 0);
    for (size_t i = 0; i < at.nodes.size(); ++i) {
      const auto v = static_cast<size_t>(at.nodes[i]);
      positions.resize(one_each ? 1 : static_cast<size_t>(at.counts[i]));
      DrawWithReplacement(SubKey(layer_key, v), graph.degrees[v], positions);
      for (const int64_t position : positions) picked.push_back(graph.InEdgesOf(v)[position]);
    }
    at = CountPicked(picked);
    nodes.insert(nodes.end(), at.nodes.begin(), at.nodes.end());
  }
  return CountPicked(nodes).nodes;
}

// One linear layer's loss over all nodes, of many subgraphs, from the full one, in sigmas.
double LossInSigmas(const SaintGraph& graph, const SaintRule& rule, const SaintChances& chances,
                    int subgraphs, bool one_each = false) {
  const auto all = std::ssize(graph.degrees);
  CounterRng rng(31);
  std::vector<double> values(graph.num_nodes()), slopes(graph.num_nodes());
  for (double& value : values) value = .2 + rng.NextDouble();
  double full = 0;
  for (size_t v = 0; v < values.size(); ++v) {
    slopes[v] = (.5 + rng.NextDouble());
    full += slopes[v] * FullMean(graph, values, v) / static_cast<double>(all);
  }
  const DegreeSums sums(graph.degrees);
  std::vector<char> in(graph.num_nodes());
  double mean = 0, squares = 0;  // Welford
  for (int i = 1; i <= subgraphs; ++i) {
    const auto nodes =
        DrawSubgraph(graph, sums, rule, SubKey(19, static_cast<uint64_t>(i)), one_each);
    for (const int64_t v : nodes) in[v] = 1;
    double loss = 0;
    for (const int64_t v : nodes) {
      loss += LossWeight(chances.nodes[v], all) * slopes[v] *
              SaintMean(graph, chances, values, in, static_cast<size_t>(v));
    }
    for (const int64_t v : nodes) in[v] = 0;
    const double step = loss - mean;
    mean += step / i;
    squares += step * (loss - mean);
  }
  const double sigma = std::sqrt(squares / subgraphs / subgraphs);
  std::printf("full loss %.4f, mean of %d subgraphs %.4f: %.2f sigma off\n", full, subgraphs, mean,
              (mean - full) / sigma);
  return (mean - full) / sigma;
}

TEST_F(SaintCoraTest, LossOfManyDrawsIsWithinThreeSigma) {
  for (const SaintRule& rule : {SaintRule{SaintKind::kNode, 80}, SaintRule{SaintKind::kEdge, 60},
                                SaintRule{SaintKind::kWalk, 25, 2}}) {
    const double sigmas = LossInSigmas(*graph_, rule, SaintChancesOf(*graph_, rule), kSubgraphs);
    RecordProperty("sigmas_" + std::to_string(static_cast<int>(rule.kind)), std::to_string(sigmas));
    EXPECT_LT(std::abs(sigmas), 3);
  }
}

TEST_F(SaintCoraTest, LossIsOffWhereAnEdgeOrItsMultiplicityIsForgotten) {
  const SaintRule edges{SaintKind::kEdge, 40};
  EXPECT_GT(std::abs(LossInSigmas(*graph_, edges, SaintChancesOf(*graph_, edges, true),
                                  kSubgraphsWithErrors)),
            3);
  const SaintRule many{SaintKind::kEdge, 300};
  EXPECT_GT(std::abs(LossInSigmas(*graph_, many, SaintChancesOf(*graph_, many),
                                  kSubgraphsWithErrors, true)),
            3);
}

// The share of nodes of which the estimate of p is off by less, relative to p.
ChanceError ErrorOf(const PresampledChances& counts, std::span<const double> exact) {
  std::vector<double> off;
  for (size_t v = 0; v < exact.size(); ++v) {
    off.push_back(std::abs(counts.ChanceOfSeen(static_cast<int64_t>(v)) / exact[v] - 1));
  }
  std::sort(off.begin(), off.end());
  return {.median = off[off.size() / 2], .high = off[off.size() * 95 / 100]};
}

TEST_F(SaintCoraTest, PresampledChancesTellHowFarTheyAreFromTheExactOnes) {
  const SaintRule walks{SaintKind::kWalk, 200, 2};
  const std::vector<double> exact = SaintChancesOf(*graph_, walks).nodes;
  const DegreeSums sums(graph_->degrees);
  PresampledChances counts(std::ssize(graph_->degrees), 0);
  struct Row {
    double coverage, median, high;
  };
  for (const Row& row : {Row{17, .15, .48}, {52, .09, .27}, {175, .05, .15}, {525, .03, .08}}) {
    while (counts.coverage() < row.coverage) {
      const auto seed = SubKey(23, static_cast<uint64_t>(counts.subgraphs()));
      counts.Add(DrawSubgraph(*graph_, sums, walks, seed), {});
    }
    const ChanceError is = ErrorOf(counts, exact), told = counts.NodeError();
    std::printf("coverage %.0f, %ld subgraphs: off by %.3f (95 %%: %.3f), told %.3f (%.3f)\n",
                counts.coverage(), counts.subgraphs(), is.median, is.high, told.median, told.high);
    EXPECT_NEAR(is.median, row.median, .01);
    EXPECT_NEAR(is.high, row.high, .02);
    EXPECT_NEAR(told.median / is.median, 1, .1);
    EXPECT_NEAR(told.high / is.high, 1, .1);
  }
}

}  // namespace
}  // namespace halograph
