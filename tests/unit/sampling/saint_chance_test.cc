// How likely nodes and edges are in a subgraph, against going through everything that can be drawn.
#include <cmath>
#include <functional>
#include <map>

#include <gmock/gmock.h>

#include "common/base/rng.h"
#include "common/sampling/samplers/presampled_chance.h"
#include "common/sampling/samplers/subgraph_weights.h"
#include "tests/unit/sampling/saint_graph.h"

namespace halograph {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;

__extension__ using Quad = __float128;  // 113 bits

Quad Power(Quad base, int64_t exponent) {
  Quad result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base) {
    if ((exponent & 1) != 0) result *= base;
  }
  return result;
}

double RelativeError(double found, Quad exact) {
  return std::abs(static_cast<double>((found - exact) / exact));
}

TEST(InclusionChanceTest, OfANodeKeepsAllDigits) {
  double worst = 0, worst_of_power = 0;
  for (const double q : {1e-15, 3e-12, 1e-8, 1e-5, .003, .1, .5, .9, 1.0}) {
    for (const int64_t draws : {1, 2, 3, 7, 64, 600, 6001, 1 << 20}) {
      const Quad exact = 1 - Power(1 - static_cast<Quad>(q), draws);
      worst = std::max(worst, RelativeError(ChanceOfNode(q, draws), exact));
      const double by_power = 1 - std::pow(1 - q, static_cast<double>(draws));
      worst_of_power = std::max(worst_of_power, RelativeError(by_power, exact));
    }
  }
  EXPECT_LT(worst, 2e-15);
  EXPECT_GT(worst_of_power, 1e-5);  // what the bound is there to see
  EXPECT_EQ(ChanceOfNode(.5, 0), 0);
  EXPECT_EQ(ChanceOfNode(0, 100), 0);
}

TEST(InclusionChanceTest, OfAPairKeepsAllDigits) {
  CounterRng rng(5);
  double worst = 0;
  for (int i = 0; i < 3000; ++i) {
    const uint64_t all = uint64_t{16} << rng.NextBounded(30);
    const uint64_t both = rng.NextBounded(3) == 0 ? 0 : 1 + rng.NextBounded(1 + all / 64);
    const uint64_t at_u = both + 1 + rng.NextBounded(all / 4);
    const uint64_t at_v = both + 1 + (rng.NextBounded(all / 4) >> rng.NextBounded(20));
    const int64_t draws = 2 + static_cast<int64_t>(rng.NextBounded(4000) >> rng.NextBounded(12));
    const auto chance = [&](uint64_t edges) {  // that all draws miss them
      return Power(1 - static_cast<Quad>(edges) / static_cast<Quad>(all), draws);
    };
    const Quad exact = 1 - chance(at_u) - chance(at_v) + chance(at_u + at_v - both);
    const PairChances pair = ChancesOfPair(PairOfEdgeDraw(at_u, at_v, both, all), draws);
    worst = std::max(worst, RelativeError(pair.both, exact));
    // What is alone is small beside both after many draws: its digits are those of the whole.
    const Quad of_u = 1 - chance(at_u);
    EXPECT_LT(RelativeError(pair.only_u + pair.both, of_u), 2e-15);
    EXPECT_LT(RelativeError(ChanceOfNode(ChanceOfOneDraw(at_u, all), draws), of_u), 2e-15);
  }
  EXPECT_LT(worst, 2e-15);
}

// ---- all that can be drawn ---------------------------------------------------------------------

// Sets of nodes, a bit each, with their chances.
using SetChances = std::vector<long double>;

void AddWalks(const SaintGraph& graph, size_t at, int steps_left, size_t set, long double chance,
              SetChances* sets) {
  set |= size_t{1} << at;
  if (steps_left == 0 || graph.degrees[at] == 0) {
    (*sets)[set] += chance;
    return;
  }
  for (const uint32_t u : graph.InEdgesOf(at)) {
    AddWalks(graph, u, steps_left - 1, set, chance / graph.degrees[at], sets);
  }
}

// What one draw brings.
SetChances OneDraw(const SaintGraph& graph, const SaintRule& rule) {
  const size_t nodes = graph.num_nodes();
  const auto all = static_cast<long double>(graph.sources.size());
  SetChances sets(size_t{1} << nodes);
  for (size_t v = 0; v < nodes; ++v) {
    const size_t alone = size_t{1} << v;
    if (rule.kind == SaintKind::kNode) sets[alone] += graph.degrees[v] / all;
    if (rule.kind == SaintKind::kWalk) AddWalks(graph, v, rule.length, 0, 1.0L / nodes, &sets);
    if (rule.kind != SaintKind::kEdge) continue;
    for (const uint32_t u : graph.InEdgesOf(v)) sets[alone | size_t{1} << u] += 1 / all;
  }
  return sets;
}

SetChances ManyDraws(const SaintGraph& graph, const SaintRule& rule) {
  const SetChances one = OneDraw(graph, rule);
  SetChances result(one.size());
  result[0] = 1;
  for (int64_t i = 0; i < rule.draws; ++i) {
    SetChances next(one.size());
    for (size_t a = 0; a < one.size(); ++a) {
      for (size_t b = 0; b < one.size() && result[a] > 0; ++b) next[a | b] += result[a] * one[b];
    }
    result = next;
  }
  return result;
}

long double ChanceOfAll(const SetChances& sets, size_t nodes) {
  long double sum = 0;
  for (size_t set = 0; set < sets.size(); ++set) sum += (set & nodes) == nodes ? sets[set] : 0;
  return sum;
}

double Off(long double found, long double exact) {
  return std::abs(static_cast<double>(found / exact - 1));
}

double WorstChance(const SaintGraph& graph, const SaintRule& rule, const SetChances& sets,
                   const SaintChances& chances) {
  double worst = 0;
  for (size_t v = 0, e = 0; v < graph.num_nodes(); ++v) {
    const size_t alone = size_t{1} << v;
    if (graph.degrees[v] > 0 || rule.kind == SaintKind::kWalk) {
      worst = std::max(worst, Off(chances.nodes[v], ChanceOfAll(sets, alone)));
    } else {
      EXPECT_EQ(chances.nodes[v], 0);
    }
    for (const uint32_t u : graph.InEdgesOf(v)) {
      worst = std::max(worst, Off(chances.edges[e++], ChanceOfAll(sets, alone | size_t{1} << u)));
    }
  }
  return worst;
}

// How far the expected mean of each node, given that it is in, and the expected loss, of all nodes
// but the first, are from those of the whole graph.
double WorstBias(const SaintGraph& graph, const SetChances& sets, const SaintChances& chances) {
  const std::vector<double> values = {1, .75, 1.25, .5, 1.5, 2};
  const size_t nodes = graph.num_nodes();
  std::vector<long double> means(nodes);
  long double loss = 0, full_loss = 0;
  const auto trains = [&](size_t v) { return v > 0 && graph.degrees[v] > 0; };
  int64_t training = 0;
  for (size_t v = 0; v < nodes; ++v) training += trains(v) ? 1 : 0;
  for (size_t set = 0; set < sets.size(); ++set) {
    std::vector<char> in(nodes);
    for (size_t v = 0; v < nodes; ++v) in[v] = static_cast<char>(set >> v & 1);
    for (size_t v = 0; v < nodes; ++v) {
      if (in[v] == 0 || graph.degrees[v] == 0) continue;
      const double mean = SaintMean(graph, chances, values, in, v);
      means[v] += sets[set] * mean / ChanceOfAll(sets, size_t{1} << v);
      if (trains(v)) {
        loss += sets[set] * LossWeight(chances.nodes[v], training) * mean * values[v];
      }
    }
  }
  double worst = 0;
  for (size_t v = 0; v < nodes; ++v) {
    if (graph.degrees[v] == 0) continue;
    worst = std::max(worst, Off(means[v], FullMean(graph, values, v)));
    if (trains(v)) full_loss += FullMean(graph, values, v) * values[v] / training;
  }
  return std::max(worst, Off(loss, full_loss));
}

// At most six nodes, with parallel edges and self-loops, and an isolated one now and then.
SaintGraph SmallGraph(CounterRng* rng) {
  const uint64_t nodes = 2 + rng->NextBounded(5);
  InEdges in_edges(nodes);
  for (uint64_t left = 2 + rng->NextBounded(6); left > 0; --left) {
    const uint64_t u = rng->NextBounded(nodes), v = rng->NextBounded(nodes);
    in_edges[v].push_back(static_cast<int64_t>(u));
    if (u != v) in_edges[u].push_back(static_cast<int64_t>(v));
  }
  in_edges[0].push_back(1);
  in_edges[1].push_back(0);
  return SaintGraph(in_edges);
}

std::vector<SaintRule> RulesOf(int64_t draws) {
  std::vector<SaintRule> rules = {{SaintKind::kEdge, draws}};
  // One draw by degree brings no edge but self-loops.
  if (draws > 1) rules.push_back({SaintKind::kNode, draws});
  for (const int length : {1, 2, 3}) rules.push_back({SaintKind::kWalk, draws, length});
  return rules;
}

TEST(SaintEnumerationTest, ChancesMeansAndLossesAreThoseOfAllDraws) {
  CounterRng rng(8);
  double worst_chance = 0, worst_bias = 0;
  for (int i = 0; i < 40; ++i) {
    const SaintGraph graph = SmallGraph(&rng);
    for (int64_t draws = 1; draws <= 4; ++draws) {
      for (const SaintRule& rule : RulesOf(draws)) {
        const SetChances sets = ManyDraws(graph, rule);
        const SaintChances chances = SaintChancesOf(graph, rule);
        worst_chance = std::max(worst_chance, WorstChance(graph, rule, sets, chances));
        worst_bias = std::max(worst_bias, WorstBias(graph, sets, chances));
      }
    }
  }
  std::printf("chances are off by %.1e, means and losses by %.1e\n", worst_chance, worst_bias);
  EXPECT_LT(worst_chance, 5e-14);
  EXPECT_LT(worst_bias, 1e-12);
}

TEST(SaintEnumerationTest, SeesWhatIsLeftOut) {
  CounterRng rng(8);
  const SaintGraph graph = SmallGraph(&rng);
  const SaintRule edges{SaintKind::kEdge, 3};
  const SetChances sets = ManyDraws(graph, edges);
  const SaintChances right = SaintChancesOf(graph, edges);
  const SaintChances no_both = SaintChancesOf(graph, edges, true);
  EXPECT_GT(WorstChance(graph, edges, sets, no_both), 1e-2);
  EXPECT_GT(WorstBias(graph, sets, no_both), 1e-2);
  SaintChances no_factor = right;  // edges are not weighed
  for (size_t v = 0, e = 0; v < graph.num_nodes(); ++v) {
    for (uint32_t i = 0; i < graph.degrees[v]; ++i) no_factor.edges[e++] = right.nodes[v];
  }
  EXPECT_GT(WorstBias(graph, sets, no_factor), 1e-2);
  SaintChances no_loss_weight{.nodes = {}, .edges = {}};
  for (const double chance : right.nodes) no_loss_weight.nodes.push_back(chance > 0 ? 1 : 0);
  for (const double chance : right.edges) no_loss_weight.edges.push_back(chance > 0 ? 1 : 0);
  EXPECT_GT(WorstBias(graph, sets, no_loss_weight), 1e-2);
}

// ---- weights of a subgraph ---------------------------------------------------------------------

// The nodes of a set, from the last on, with the edges between them, and the place of each edge in
// the whole graph.
struct Induced {
  std::vector<size_t> nodes;
  std::vector<int64_t> offsets = {0}, degrees;
  std::vector<int32_t> sources;
  std::vector<size_t> edges;

  Induced(const SaintGraph& graph, size_t set) {
    std::map<size_t, int32_t> places;
    for (size_t v = graph.num_nodes(); v-- > 0;) {
      if ((set >> v & 1) == 0) continue;
      places[v] = static_cast<int32_t>(nodes.size());
      nodes.push_back(v);
      degrees.push_back(graph.degrees[v]);
    }
    for (const size_t v : nodes) {
      for (auto e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
        const auto place = places.find(graph.sources[e]);
        if (place == places.end()) continue;
        sources.push_back(place->second);
        edges.push_back(static_cast<size_t>(e));
      }
      offsets.push_back(std::ssize(sources));
    }
  }
};

// Of all edges; 0 where they cannot come.
std::vector<double> FactorsOf(const SaintGraph& graph, const SaintChances& chances) {
  std::vector<double> factors;
  for (size_t v = 0; v < graph.num_nodes(); ++v) {
    for (uint32_t i = 0; i < graph.degrees[v]; ++i) {
      const double both = chances.edges[factors.size()];
      factors.push_back(both > 0 ? EdgeFactor(chances.nodes[v], both) : 0);
    }
  }
  return factors;
}

TEST(SubgraphWeightsTest, OfASubgraphAreThoseOfTheGraphBitByBit) {
  CounterRng rng(12);
  SubgraphWeigher weigher;  // with the memory of what came before
  SubgraphWeights weights;
  for (int i = 0; i < 60; ++i) {
    const SaintGraph graph = SmallGraph(&rng);
    const int64_t draws = 1 + static_cast<int64_t>(rng.NextBounded(70));
    for (const SaintKind kind : {SaintKind::kNode, SaintKind::kEdge}) {
      const SaintChances chances = SaintChancesOf(graph, {kind, draws});
      const std::vector<double> factors = FactorsOf(graph, chances);
      for (size_t set = 0; set < size_t{1} << graph.num_nodes(); ++set) {
        const Induced induced(graph, set);
        const SubgraphEdges edges{
            .offsets = induced.offsets, .sources = induced.sources, .degrees = induced.degrees};
        if (kind == SaintKind::kNode) {
          weigher.WeighNodeDraws(edges, graph.sources.size(), draws, &weights);
        } else {
          weigher.WeighEdgeDraws(edges, graph.sources.size(), draws, &weights);
        }
        ASSERT_EQ(weights.chances.size(), induced.nodes.size());
        for (size_t v = 0; v < induced.nodes.size(); ++v) {
          EXPECT_EQ(weights.chances[v], chances.nodes[induced.nodes[v]]);
        }
        ASSERT_EQ(weights.factors.size(), induced.edges.size());
        for (size_t e = 0; e < induced.edges.size(); ++e) {
          EXPECT_EQ(weights.factors[e], factors[induced.edges[e]]);
        }
      }
    }
  }
}

TEST(SubgraphWeightsTest, OfWalksAreThoseOfThePairs) {
  CounterRng rng(13);
  for (int i = 0; i < 60; ++i) {
    const SaintGraph graph = SmallGraph(&rng);
    const SaintRule rule{SaintKind::kWalk, 1 + static_cast<int64_t>(rng.NextBounded(50)),
                         static_cast<int>(rng.NextBounded(4))};
    const SaintChances chances = SaintChancesOf(graph, rule);
    const auto walks = ExactWalkChances(graph.lists(), rule.length);
    ASSERT_TRUE(walks.ok()) << walks.status();
    const SubgraphWeights weights = WeighWalks(graph.lists(), *walks, rule.draws);
    EXPECT_EQ(weights.chances, chances.nodes);
    EXPECT_EQ(weights.factors, FactorsOf(graph, chances));
  }
}

// ---- walks -------------------------------------------------------------------------------------

TEST(WalkChanceTest, WithoutStepsAWalkIsItsRoot) {
  const SaintGraph graph({{1, 1, 0}, {0, 0}, {}});
  const auto chances = ExactWalkChances(graph.lists(), 0);
  ASSERT_TRUE(chances.ok()) << chances.status();
  EXPECT_THAT(chances->nodes, testing::Each(DoubleNear(1.0 / 3, 1e-16)));
  EXPECT_THAT(chances->edges, testing::ElementsAre(0, 0, DoubleNear(1.0 / 3, 1e-16), 0, 0));
}

TEST(WalkChanceTest, OfAPathByHand) {
  const SaintGraph graph({{1}, {0, 2}, {1}});  // 0 - 1 - 2
  const auto chances = ExactWalkChances(graph.lists(), 1);
  ASSERT_TRUE(chances.ok()) << chances.status();
  EXPECT_THAT(chances->nodes, testing::ElementsAre(DoubleNear(.5, 1e-15), DoubleNear(1, 1e-15),
                                                   DoubleNear(.5, 1e-15)));
  EXPECT_THAT(chances->edges, testing::Each(DoubleNear(.5, 1e-15)));
}

// A path of which every node has 500 self-loops: far nodes are reached with chances that no double
// can tell from 0.
TEST(WalkChanceTest, ChancesThatAreTooSmallEndThere) {
  InEdges in_edges(240);
  for (size_t v = 0; v < in_edges.size(); ++v) {
    in_edges[v].assign(500, static_cast<int64_t>(v));
    if (v > 0) in_edges[v].push_back(static_cast<int64_t>(v) - 1);
    if (v + 1 < in_edges.size()) in_edges[v].push_back(static_cast<int64_t>(v) + 1);
  }
  const SaintGraph graph(in_edges);
  const auto chances = ExactWalkChances(graph.lists(), 130);
  ASSERT_TRUE(chances.ok()) << chances.status();
  const double all = 240;
  for (const double chance : chances->nodes) {
    EXPECT_GT(chance, 1 / all);
    EXPECT_LT(chance, (1 + 2 * 130.0 / 500) / all);  // from each side a chance of 1 / 502 a step
  }
}

TEST(WalkChanceTest, NothingWithoutNodes) {
  const auto chances = ExactWalkChances(SaintGraph({}).lists(), 2);
  ASSERT_TRUE(chances.ok()) << chances.status();
  EXPECT_TRUE(chances->nodes.empty() && chances->edges.empty());
}

TEST(WalkChanceTest, BadGraphsAndTooMuchWorkAreNamed) {
  const auto message = [](const InEdges& in_edges, int length, int64_t work = kMaxWalkWork) {
    return Message(ExactWalkChances(SaintGraph(in_edges).lists(), length, work).status());
  };
  EXPECT_THAT(message({{1}, {0}}, -1), HasSubstr("-1 steps"));
  EXPECT_THAT(message({{1}, {}}, 2), HasSubstr("1 edges from node 1 to 0, but 0 back"));
  EXPECT_THAT(message({{1, 1}, {0}}, 2), HasSubstr("2 edges from node 1 to 0, but 1 back"));
  EXPECT_THAT(message({{1}, {2}, {0}}, 2), HasSubstr("not symmetric"));
  EXPECT_THAT(message({{2}, {}}, 2), HasSubstr("source 2"));
  const std::vector<int64_t> offsets = {0, 2, 1};
  const std::vector<uint32_t> sources = {0};
  EXPECT_EQ(ExactWalkChances({.offsets = offsets, .sources = sources}, 1).status().code(),
            absl::StatusCode::kInvalidArgument);
  const InEdges path = {{1}, {0, 2}, {1}};
  EXPECT_EQ(message(path, 2, 20), "");
  for (const int64_t work : {3, 10, 19}) {
    EXPECT_THAT(message(path, 2, work), HasSubstr("walks of 2 steps over 3 nodes and 4 edges"));
  }
}

// ---- counts ------------------------------------------------------------------------------------

TEST(PresampledChancesTest, AreSharesOfWhatWasSeen) {
  PresampledChances counts(3, 2);
  counts.Add(std::vector<int64_t>{0, 1}, std::vector<int64_t>{0});
  counts.Add(std::vector<int64_t>{0}, {});
  counts.Add(std::vector<int64_t>{1, 0}, {});
  counts.Add({}, {});
  EXPECT_EQ(counts.subgraphs(), 4);
  EXPECT_EQ(counts.coverage(), 5.0 / 3);
  EXPECT_EQ(counts.unseen(), 1);
  EXPECT_EQ(counts.ChanceOfSeen(0), .75);
  EXPECT_EQ(counts.ChanceOfSeen(1), .5);
  EXPECT_EQ(counts.ChanceOfSeen(2), .25);  // as if once
  EXPECT_EQ(counts.FactorOfSeen(0, 0), 3);
  EXPECT_EQ(counts.FactorOfSeen(1, 1), 2);
  EXPECT_EQ(counts.FactorOfSeen(2, 1), 1);
}

TEST(PresampledChancesTest, ErrorIsThatOfAShare) {
  PresampledChances counts(1000, 0);  // every second subgraph has all nodes
  std::vector<int64_t> nodes(1000);
  for (int64_t v = 0; v < 1000; ++v) nodes[static_cast<size_t>(v)] = v;
  for (int i = 0; i < 50; ++i) {
    counts.Add(nodes, {});
    counts.Add({}, {});
  }
  const double sigma = std::sqrt(.5 / 50);
  EXPECT_NEAR(counts.NodeError().median, .6745 * sigma, 3e-4);
  EXPECT_NEAR(counts.NodeError().high, 1.96 * sigma, 3e-4);
  PresampledChances nothing(5, 0);
  nothing.Add({}, {});
  EXPECT_EQ(nothing.NodeError().median, 1);
}

}  // namespace
}  // namespace halograph
