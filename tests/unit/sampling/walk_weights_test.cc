// What subgraphs of walks are weighed by: exactly and from subgraphs that were counted.
#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>

#include "common/sampling/samplers/make_walk_weights.h"
#include "tests/unit/sampling/subgraph_fixture.h"

namespace halograph {
namespace {

using testing::HasSubstr;

// A graph in memory as what MakeWalkWeights asks.
class AskedGraph {
 public:
  explicit AskedGraph(const TestGraphSpec& spec) : graph_(spec, IdWidth::k32) {}

  [[nodiscard]] StatusOr<std::shared_ptr<const WalkWeights>> Weights(const WalkWeighing& wanted) {
    return MakeWalkWeights(
        schema(), wanted,
        [this](const TopologyQuestions& questions, TopologyAnswers* answers) {
          return Ask(questions, answers);
        },
        [&](std::span<const uint64_t> batch_seeds, std::span<Minibatch> minibatches) {
          return Sample(wanted.rule, batch_seeds, minibatches);
        });
  }

  [[nodiscard]] Status Ask(const TopologyQuestions& questions, TopologyAnswers* answers) {
    ++asked;
    HG_RETURN_IF_ERROR(ends_ask);
    return source_.Ask(questions, answers);
  }

  [[nodiscard]] Status Sample(const DrawRule& rule, std::span<const uint64_t> batch_seeds,
                              std::span<Minibatch> minibatches) {
    ++rounds;
    seeds.insert(seeds.end(), batch_seeds.begin(), batch_seeds.end());
    if (rounds > whole_rounds) return ends_sample;
    const SamplingSpec spec{.layers = {{{0, rule}}}};
    std::vector<SampleRequest> requests;
    for (const uint64_t seed : batch_seeds) {
      requests.push_back({.seeds = {}, .batch_seed = seed, .spec = &spec, .edge_ids = true});
    }
    return BuildMinibatches(schema(), requests, source_, &workspaces_, minibatches);
  }

  [[nodiscard]] const Schema& schema() const { return graph_.schema; }
  Schema* mutable_schema() { return &graph_.schema; }

  int asked = 0;
  int rounds = 0;
  std::vector<uint64_t> seeds;   // of all rounds
  int whole_rounds = 1 << 20;    // those beyond end by `ends_sample`
  Status ends_ask, ends_sample;  // OK: go on

 private:
  MemoryGraph graph_;
  LocalSource source_{&graph_.schema, &graph_.topology, nullptr};
  BuilderWorkspaces workspaces_{&graph_.schema, 2};
};

class WalkWeightsTest : public SubgraphFixture {
 protected:
  [[nodiscard]] SubgraphWeights ExactWeights() {
    std::vector<int64_t> offsets = {0};
    std::vector<uint32_t> sources;
    for (const std::vector<int64_t>& of_node : graph_.relations[0]->in_edges()) {
      for (const int64_t u : of_node) sources.push_back(static_cast<uint32_t>(u));
      offsets.push_back(std::ssize(sources));
    }
    const InEdgeLists lists = {.offsets = offsets, .sources = sources};
    return WeighWalks(lists, ExactWalkChances(lists, kWalks.walk_length).value(), kWalks.fanout);
  }

  static constexpr DrawRule kWalks = {.kind = DrawKind::kSaintWalk, .fanout = 8, .walk_length = 2};
  AskedGraph asked_{Spec()};
};

TEST_F(WalkWeightsTest, MeansAndLossesAreUnbiased) {
  const auto weights = asked_.Weights({.rule = kWalks});
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_TRUE((*weights)->exact());
  EXPECT_EQ(asked_.rounds, 0);
  ExpectUnbiased(SigmasOff(kWalks, 0, weights->get()));
}

TEST_F(WalkWeightsTest, MeansAndLossesAreOffByWeightsOfOthers) {
  SubgraphWeights of_others = ExactWeights();
  std::rotate(of_others.factors.begin(), of_others.factors.begin() + 1, of_others.factors.end());
  EXPECT_GT(std::abs(SigmasOff(kWalks, 0, std::make_unique<WalkWeights>(0, of_others).get()).means),
            5);
  of_others = ExactWeights();
  std::rotate(of_others.chances.begin(), of_others.chances.begin() + 1, of_others.chances.end());
  EXPECT_GT(std::abs(SigmasOff(kWalks, 0, std::make_unique<WalkWeights>(0, of_others).get()).loss),
            5);
}

TEST_F(WalkWeightsTest, AllLayersAreWeighedAlike) {
  const WalkWeights weights(0, ExactWeights());
  Minibatch minibatch = Made(kWalks, 3, 2);
  ASSERT_EQ(weights.Weigh(&minibatch), OkStatus());
  const Block& block = minibatch.layers[0].blocks[0];
  EXPECT_EQ(block.coefficients.size(), block.indices.size());
  EXPECT_EQ(minibatch.node_weights.size(), minibatch.nodes[0].size());
  EXPECT_TRUE(minibatch.layers[0] == minibatch.layers[1]);
}

// Of every node and edge by counted subgraphs, in deviations of what was to be expected.
TEST_F(WalkWeightsTest, CountedOnesAreAsFarOffAsTheyTell) {
  WalkWeighing wanted{.rule = kWalks, .coverage = 400, .key = 5, .max_work = 0};
  const auto counted = asked_.Weights(wanted);
  ASSERT_TRUE(counted.ok()) << counted.status();
  EXPECT_EQ(asked_.asked, 0);
  EXPECT_FALSE((*counted)->exact());
  EXPECT_EQ((*counted)->unseen(), 0);
  EXPECT_GE((*counted)->coverage(), 400);
  const auto subgraphs = static_cast<double>((*counted)->subgraphs());
  const WalkWeights exact(0, ExactWeights());
  int nodes = 0, below_median = 0, below_high = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Minibatch truth = Made(kWalks, seed), found = truth;
    ASSERT_EQ(exact.Weigh(&truth), OkStatus());
    ASSERT_EQ((*counted)->Weigh(&found), OkStatus());
    for (size_t i = 0; i < truth.node_weights.size(); ++i) {
      const double p = 1 / truth.node_weights[i];
      const double off = std::abs(truth.node_weights[i] / found.node_weights[i] - 1);
      EXPECT_LT(off, 4 * std::sqrt((1 - p) / (subgraphs * p)));
      ++nodes;
      below_median += off < (*counted)->error().median ? 1 : 0;
      below_high += off < (*counted)->error().high ? 1 : 0;
    }
    const Block& exactly = truth.layers[0].blocks[0];
    for (size_t i = 0; i < truth.node_weights.size(); ++i) {
      const double with_node = subgraphs / truth.node_weights[i];
      for (int64_t e = exactly.indptr[i]; e < exactly.indptr[i + 1]; ++e) {
        // Factors are one over the share of the node's subgraphs that have the edge.
        const double factor = exactly.coefficients[e];
        const double off = factor / found.layers[0].blocks[0].coefficients[e] - 1;
        EXPECT_LE(std::abs(off), 4 * std::sqrt((factor - 1) / with_node));
      }
    }
  }
  std::printf("  %.0f subgraphs: %d of %d below the median told, %.3f, %d below the high\n",
              subgraphs, below_median, nodes, (*counted)->error().median, below_high);
  EXPECT_NEAR(below_median, nodes * .5, nodes * .15);
  EXPECT_NEAR(below_high, nodes * .95, nodes * .05);
}

TEST_F(WalkWeightsTest, CountsGoOnUntilTheyCoverOrAreEnough) {
  const WalkWeighing bounded{
      .rule = kWalks, .coverage = 1e9, .key = 9, .max_work = 0, .max_subgraphs = 40};
  const auto weights = asked_.Weights(bounded);
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ((*weights)->subgraphs(), 40);
  EXPECT_EQ(asked_.rounds, 3);
  std::vector<uint64_t> expected;
  for (uint64_t i = 0; i < 40; ++i) expected.push_back(SubKey(9, i));
  EXPECT_EQ(asked_.seeds, expected);
  const auto covered = asked_.Weights({.rule = kWalks, .coverage = 1, .max_work = 0});
  ASSERT_TRUE(covered.ok()) << covered.status();
  EXPECT_EQ((*covered)->subgraphs(), kPresampledTogether);
}

// Every node with every other.
TestGraphSpec Complete(int64_t nodes) {
  TestGraphSpec spec{.parts = 2, .node_types = {{}}, .relations = {{}}};
  for (int64_t v = 0; v < nodes; ++v) {
    spec.node_types[0].owners.push_back(static_cast<int>(v % 2));
    for (int64_t u = 0; u < nodes; ++u) {
      if (u != v) spec.relations[0].edges.push_back({u, v});
    }
  }
  return spec;
}

TEST_F(WalkWeightsTest, WhatTakesTooMuchWorkIsCounted) {
  AskedGraph complete(Complete(60));
  WalkWeighing wanted{.rule = kWalks, .coverage = 20, .max_work = 230'000};
  ASSERT_TRUE(MayBeExact(complete.schema(), wanted));  // the relation is small enough to be read
  auto weights = complete.Weights(wanted);
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ(complete.asked, 1);
  EXPECT_GT((*weights)->subgraphs(), 0);
  wanted.max_work = 440'000;
  weights = complete.Weights(wanted);
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_TRUE((*weights)->exact());
}

// A ring, of which all nodes are alike.
TestGraphSpec Ring(int64_t nodes) {
  TestGraphSpec spec{.parts = 1, .node_types = {{}}, .relations = {{}}};
  spec.node_types[0].owners.assign(static_cast<size_t>(nodes), 0);
  for (int64_t v = 0; v < nodes; ++v) {
    spec.relations[0].edges.push_back({v, (v + 1) % nodes});
    spec.relations[0].edges.push_back({(v + 1) % nodes, v});
  }
  return spec;
}

TEST_F(WalkWeightsTest, ALargeRelationIsReadInPieces) {
  AskedGraph ring(Ring(2 * kReadTogether + 9));
  const auto weights = ring.Weights({.rule = kWalks});
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_TRUE((*weights)->exact());
  EXPECT_EQ(ring.asked, 3);
  const uint64_t seed = 1;
  Minibatch minibatch;
  ASSERT_EQ(ring.Sample(kWalks, {&seed, 1}, {&minibatch, 1}), OkStatus());
  ASSERT_EQ((*weights)->Weigh(&minibatch), OkStatus());
  EXPECT_THAT(minibatch.node_weights, testing::Each(minibatch.node_weights[0]));
  const std::vector<float>& factors = minibatch.layers[0].blocks[0].coefficients;
  EXPECT_THAT(factors, testing::Each(testing::FloatEq(factors.at(0))));
}

// Two nodes that are joined, and others without edges.
TestGraphSpec NearlyIsolated(int64_t nodes) {
  TestGraphSpec spec{.parts = 2, .node_types = {{}}, .relations = {{}}};
  for (int64_t v = 0; v < nodes; ++v) spec.node_types[0].owners.push_back(static_cast<int>(v % 2));
  spec.relations[0].edges = {{0, 1}, {1, 0}};
  return spec;
}

TEST_F(WalkWeightsTest, WalksEndAtNodesWithoutEdgesAndTheseCountAsRoots) {
  AskedGraph graph(NearlyIsolated(20));
  for (const int64_t max_work : {kMaxWalkWork, int64_t{0}}) {
    const WalkWeighing wanted{.rule = kWalks, .coverage = 4'000, .max_work = max_work};
    const auto weights = graph.Weights(wanted);
    ASSERT_TRUE(weights.ok()) << weights.status();
    EXPECT_EQ((*weights)->exact(), max_work > 0);
    const double as_root = 1 - std::pow(1 - 1. / 20, 8), of_two = 1 - std::pow(1 - 2. / 20, 8);
    const double spread = max_work > 0 ? 1e-6 : 4 / std::sqrt(4'000.);
    int joined = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Minibatch minibatch;
      ASSERT_EQ(graph.Sample(kWalks, {&seed, 1}, {&minibatch, 1}), OkStatus());
      ASSERT_EQ((*weights)->Weigh(&minibatch), OkStatus());
      const Block& block = minibatch.layers[0].blocks[0];
      EXPECT_THAT(block.coefficients, testing::Each(1.0F));  // either brings the other
      for (size_t i = 0; i < minibatch.nodes[0].size(); ++i) {
        const bool has_edge = block.degrees[i] > 0;
        joined += has_edge ? 1 : 0;
        EXPECT_NEAR(1 / minibatch.node_weights[i] / (has_edge ? of_two : as_root), 1, spread);
      }
    }
    EXPECT_GT(joined, 0);
  }
}

TEST_F(WalkWeightsTest, ErrorsOfWhatIsAskedEndIt) {
  asked_.ends_ask = Cancelled("stop");
  EXPECT_EQ(Message(asked_.Weights({.rule = kWalks}).status()), "stop");
  EXPECT_EQ(asked_.rounds, 0);
  // Not that of exact chances, after which subgraphs are counted.
  asked_.ends_ask = ResourceExhausted("too large");
  EXPECT_EQ(Message(asked_.Weights({.rule = kWalks}).status()), "too large");
  asked_.ends_sample = Cancelled("stop, too");
  asked_.whole_rounds = 2;
  const WalkWeighing counted{.rule = kWalks, .coverage = 1e9, .max_work = 0};
  EXPECT_EQ(Message(asked_.Weights(counted).status()), "stop, too");
  EXPECT_EQ(asked_.rounds, 3);
}

TEST_F(WalkWeightsTest, WhatIsNotTheWholeOfASymmetricRelationIsRefused) {
  TestGraphSpec one_way = NearlyIsolated(5);
  one_way.relations[0].edges.pop_back();
  const Status status = AskedGraph(one_way).Weights({.rule = kWalks}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(Message(status), testing::AllOf(HasSubstr("not symmetric"), HasSubstr("relation '")));
  ++asked_.mutable_schema()->relations[0].count;
  EXPECT_THAT(Message(asked_.Weights({.rule = kWalks}).status()),
              HasSubstr("a store of all parts"));
}

TEST_F(WalkWeightsTest, NodesAndEdgesThatTheGraphHasNotAreInternal) {
  const WalkWeights weights(0, ExactWeights());
  const Minibatch good = Made(kWalks, 1);
  const auto refused = [&](const auto& damage, const char* text) {
    Minibatch bad = good;
    damage(&bad);
    const Status status = weights.Weigh(&bad);
    EXPECT_TRUE(absl::IsInternal(status)) << status;
    EXPECT_THAT(Message(status), HasSubstr(text));
  };
  refused([](Minibatch* bad) { bad->layers[0].blocks[0].edge_ids[2] = 1'000'000; },
          "has edge 1000000, but the graph has");
  refused([](Minibatch* bad) { bad->layers[0].blocks[0].edge_ids[2] = -1; }, "has edge -1");
  refused([](Minibatch* bad) { bad->nodes[0][0] = kNodes; }, "has node 60, but the graph has 60");
  refused([](Minibatch* bad) { bad->layers[0].blocks[0].edge_ids.clear(); }, "and 0 edge ids");
}

}  // namespace
}  // namespace halograph
