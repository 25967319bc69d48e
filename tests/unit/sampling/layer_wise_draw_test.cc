// The draw of the layer-wise samplers against the golden vectors and a slow transcription, and that
// it is unbiased: by going through all that it can draw, and by many draws.
#include "common/sampling/layer_wise_draw.h"

#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include <gmock/gmock.h>

#include "common/sampling/kernel/extract_edges.h"
#include "common/sampling/layer_probability.h"
#include "common/sampling/request.h"
#include "tests/support/golden.h"
#include "tests/unit/sampling/memory_graph.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <typename Weight>
CandidateSums SumsOf(const std::vector<Weight>& weights) {
  CandidateSums sums;
  sums.Reset(std::span<const Weight>(weights));
  return sums;
}

class LayerWiseGoldenTest : public testing::Test {
 protected:
  void SetUp() override {
    auto golden = LoadGoldenSampling("golden_layer_wise_v1.json");
    ASSERT_TRUE(golden.ok()) << golden.status();
    raw_ = std::move(golden->raw);
  }
  Json raw_;
};

TEST_F(LayerWiseGoldenTest, RootsAndDegreeShares) {
  for (const Json& row : raw_.at("roots")) {
    EXPECT_EQ(RootInUnits(FromHex(row.at("x"))), row.at("root").get<uint64_t>()) << row;
  }
  for (const Json& row : raw_.at("shares")) {
    EXPECT_EQ(DegreeShare(row.at("degree")), row.at("share").get<uint64_t>()) << row;
  }
}

TEST_F(LayerWiseGoldenTest, PicksAndTheirWeights) {
  LayerWiseDrawer drawer;
  LayerWisePicks picks;
  for (const Json& row : raw_.at("draws")) {
    const Json& list = raw_.at("lists").at(row.at("list").get<size_t>());
    const uint64_t key = ColumnKey(LayerKey(FromHex(row.at("batch_seed")), row.at("layer"),
                                            row.at("num_relations"), row.at("relation")));
    EXPECT_EQ(key, FromHex(row.at("column_key")));
    const auto weights = list.at("weights").get<std::vector<uint64_t>>();
    ASSERT_TRUE(drawer.Draw(SumsOf(weights), row.at("nodes"), key, &picks).ok());
    EXPECT_EQ(picks.positions, row.at("positions").get<std::vector<int64_t>>()) << list.at("name");
    std::vector<double> factors;
    for (const Json& bits : row.at("factors")) {
      factors.push_back(std::bit_cast<double>(FromHex(bits)));
    }
    EXPECT_EQ(picks.weights, factors) << list.at("name");
  }
}

TEST(LayerWiseDrawerTest, SquaresOfEightCounts) {
  std::vector<uint64_t> weights = {1, 3, 2, 2, 7, 1, 1, 4};
  ASSERT_TRUE(MakeWeights(LayerProbability::kCount2, weights).ok());
  const uint64_t key = ColumnKey(LayerKey(7, 1, 1, 0));
  EXPECT_EQ(key, 0x4758f46f1f490a1dU);
  LayerWisePicks picks;
  ASSERT_TRUE(LayerWiseDrawer().Draw(SumsOf(weights), 4, key, &picks).ok());
  EXPECT_THAT(picks.positions, ElementsAre(4, 2, 3, 7));
  EXPECT_EQ(picks.weights.back(), 0x1.6666666666667p-1);
}

TEST(LayerWiseDrawerTest, AsManyAsThereAreAreAllOfWeightOne) {
  LayerWisePicks picks{.positions = {9}, .weights = {9}};
  LayerWiseDrawer drawer;
  const std::vector<uint32_t> weights = {4, 0, 1, 0, 2};  // of which three are candidates
  for (const int64_t nodes : {3, 4, 1 << 30}) {
    ASSERT_TRUE(drawer.Draw(SumsOf(weights), nodes, 1, &picks).ok());
    EXPECT_THAT(picks.positions, ElementsAre(0, 2, 4));
    EXPECT_THAT(picks.weights, ElementsAre(1, 1, 1));
  }
  ASSERT_TRUE(drawer.Draw(SumsOf(weights), 0, 1, &picks).ok());
  EXPECT_THAT(picks.positions, IsEmpty());
  ASSERT_TRUE(drawer.Draw(SumsOf(std::vector<uint64_t>()), 5, 1, &picks).ok());
  EXPECT_THAT(picks.weights, IsEmpty());
}

TEST(LayerWiseDrawerTest, NegativeSizesAndMissingDrawsAreRefused) {
  LayerWisePicks picks;
  const std::vector<uint64_t> weights = {1, 2, 3};
  const CandidateSums sums = SumsOf(weights);
  EXPECT_THAT(Message(LayerWiseDrawer().Draw(sums, -1, 1, &picks)), HasSubstr("-1 nodes"));
  EXPECT_EQ(LayerWiseDrawer().DrawBy(sums, 2, std::vector<WideSum>{0}, &picks).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MakeWeightsTest, ASumTooLargeToBeSquaredIsNamed) {
  std::vector<uint64_t> sums = {7, uint64_t{1} << 32};
  EXPECT_THAT(Message(MakeWeights(LayerProbability::kCount2, sums)), HasSubstr("4294967296 edges"));
  std::vector<uint64_t> largest = {(uint64_t{1} << 32) - 1};
  ASSERT_TRUE(MakeWeights(LayerProbability::kCount2, largest).ok());
  EXPECT_THAT(largest, ElementsAre(0xfffffffe00000001U));
}

// The contract one candidate at a time.
template <typename Weight>
LayerWisePicks SlowDraw(const std::vector<Weight>& weights, int64_t nodes, uint64_t key) {
  LayerWisePicks picks;
  WideSum rest = std::accumulate(weights.begin(), weights.end(), WideSum{0});
  const int64_t n = std::ssize(weights) - std::count(weights.begin(), weights.end(), Weight{0});
  std::set<size_t> taken;
  for (int64_t i = 0; i < nodes; ++i) {
    const WideSum draw = ColumnDraw(key, static_cast<uint64_t>(i));
    WideSum target = 0;  // floor(draw * rest / 2^128), for a rest below 2^64, in two steps
    const auto high = static_cast<uint64_t>(draw >> 64), low = static_cast<uint64_t>(draw);
    target = (high * rest + ((low * rest) >> 64)) >> 64;
    size_t j = 0;
    while (taken.contains(j) || target >= weights[j]) {
      if (!taken.contains(j)) target -= weights[j];
      ++j;
    }
    const auto s = static_cast<double>(nodes), z = static_cast<double>(n - nodes);
    const auto before = static_cast<double>(n - i), after = static_cast<double>(n - i - 1);
    const double scale = (static_cast<double>(n) * z) / (s * (before * after));
    const double certain = (static_cast<double>(i + 1) * z) / (s * after);
    picks.positions.push_back(static_cast<int64_t>(j));
    picks.weights.push_back((1.0 - certain) +
                            scale * (static_cast<double>(rest) / static_cast<double>(weights[j])));
    taken.insert(j);
    rest -= weights[j];
  }
  return picks;
}

template <typename Weight>
std::vector<Weight> RandomWeights(size_t count, CounterRng* rng) {
  std::vector<Weight> weights(count);
  const uint64_t zeros = rng->NextBounded(4), shift = rng->NextBounded(24);
  for (Weight& weight : weights) {
    if (rng->NextBounded(4) < zeros) continue;
    weight = static_cast<Weight>(1 + (rng->NextBounded(1000) << rng->NextBounded(shift + 1)));
  }
  return weights;
}

TEST(LayerWiseDrawerTest, IsTheSlowOneOnRandomListsOfAllSizes) {
  CounterRng rng(3);
  LayerWiseDrawer drawer;  // with the memory of what came before
  const auto compare = [&](const auto& weights) {
    const CandidateSums sums = SumsOf(weights);
    const int64_t nodes = std::min<int64_t>(sums.num_candidates() - 1, 40);
    if (nodes < 0) return;
    const uint64_t key = rng.Next();
    LayerWisePicks picks;
    ASSERT_TRUE(drawer.Draw(sums, nodes, key, &picks).ok());
    const LayerWisePicks slow = SlowDraw(weights, nodes, key);
    EXPECT_EQ(picks.positions, slow.positions) << weights.size();
    EXPECT_EQ(picks.weights, slow.weights) << weights.size();
  };
  for (int i = 0; i < 300; ++i) {
    compare(RandomWeights<uint64_t>(1 + rng.NextBounded(i % 10 == 0 ? 6000 : 200), &rng));
    compare(RandomWeights<uint32_t>(1 + rng.NextBounded(i % 10 == 0 ? 6000 : 200), &rng));
  }
  compare(RandomWeights<uint64_t>(64 * 64 * 64 + 70, &rng));  // four levels
}

// The least draw that falls on `target`, which is below `sum` < 2^127: target * 2^128 / sum,
// rounded up.
WideSum DrawThatFallsOn(WideSum target, WideSum sum) {
  WideSum quotient = 0, rest = target;
  for (int bit = 0; bit < 128; ++bit) {
    rest <<= 1;
    quotient = (quotient << 1) | (rest >= sum ? 1 : 0);
    if (rest >= sum) rest -= sum;
  }
  return rest > 0 ? quotient + 1 : quotient;
}

// At the border of two candidates one draw more or less picks the other: in 64 bits and in more.
TEST(LayerWiseDrawerTest, EveryCandidateBeginsWhereTheOneBeforeEnds) {
  CounterRng rng(9);
  LayerWiseDrawer drawer;
  LayerWisePicks picks;
  for (const int shift : {54, 40, 2, 0}) {
    std::vector<uint64_t> weights(200);
    for (uint64_t& weight : weights) weight = 1 + (rng.Next() >> shift);
    const CandidateSums sums = SumsOf(weights);
    EXPECT_EQ(sums.total() >> 64 != 0, shift < 10);
    WideSum before = 0;
    for (size_t j = 0; j < weights.size(); ++j) {
      const WideSum first = DrawThatFallsOn(before, sums.total());
      ASSERT_TRUE(drawer.DrawBy(sums, 1, {&first, 1}, &picks).ok());
      EXPECT_EQ(picks.positions[0], static_cast<int64_t>(j)) << shift;
      before += weights[j];
      if (j == 0) continue;
      const WideSum last = first - 1;
      ASSERT_TRUE(drawer.DrawBy(sums, 1, {&last, 1}, &picks).ok());
      EXPECT_EQ(picks.positions[0], static_cast<int64_t>(j) - 1) << shift;
    }
  }
}

// ---- unbiased ----------------------------------------------------------------------------------

// What becomes of the picks' weights: nothing, or an error that a test must see.
using Planted = std::function<void(LayerWisePicks*)>;
void Nothing(LayerWisePicks* /*picks*/) {}
void NoChances(LayerWisePicks* picks) { picks->weights.assign(picks->weights.size(), 1); }

// Sums to the number of candidates, as a mean over what was drawn would.
Planted NormalizedTo(double candidates) {
  return [candidates](LayerWisePicks* picks) {
    const double sum = std::accumulate(picks->weights.begin(), picks->weights.end(), 0.0);
    for (double& weight : picks->weights) weight *= candidates / sum;
  };
}

// Calls visit(draws, chance) for every sequence of `nodes` picks, each with its exact chance.
void ForEachSequence(const std::vector<uint64_t>& weights, int64_t nodes,
                     std::vector<WideSum>* draws, std::set<size_t>* taken, long double chance,
                     const std::function<void(long double)>& visit) {
  if (std::ssize(*draws) == nodes) return visit(chance);
  uint64_t rest = 0;
  for (size_t j = 0; j < weights.size(); ++j) rest += taken->contains(j) ? 0 : weights[j];
  uint64_t before = 0;
  for (size_t j = 0; j < weights.size(); ++j) {
    if (taken->contains(j)) continue;
    draws->push_back(DrawThatFallsOn(before + weights[j] / 2, rest));
    taken->insert(j);
    ForEachSequence(weights, nodes, draws, taken,
                    chance * static_cast<long double>(weights[j]) / static_cast<long double>(rest),
                    visit);
    taken->erase(j);
    draws->pop_back();
    before += weights[j];
  }
}

// One relation of few sources, into two destinations and more, with parallel edges.
InEdges FewSources(int64_t sources, CounterRng* rng) {
  InEdges in_edges(2 + rng->NextBounded(4));
  for (std::vector<int64_t>& of_node : in_edges) {
    for (uint64_t left = rng->NextBounded(7); left > 0; --left) {
      of_node.push_back(static_cast<int64_t>(rng->NextBounded(static_cast<uint64_t>(sources))));
    }
  }
  in_edges[0].push_back(0);
  in_edges[0].push_back(1);
  in_edges[1].push_back(2);
  return in_edges;
}

std::vector<int64_t> EveryNode(const InEdges& in_edges) {
  std::vector<int64_t> destinations(in_edges.size());
  std::iota(destinations.begin(), destinations.end(), 0);
  return destinations;
}

// An extracted layer's sums of value times weight of the source, by destination.
std::vector<double> EstimateSums(const ColumnEdges& edges, std::span<const int64_t> destinations,
                                 const ColumnSums& columns, const LayerWisePicks& picks,
                                 std::span<const double> values) {
  std::map<int64_t, double> by_source;
  for (size_t i = 0; i < picks.positions.size(); ++i) {
    by_source[columns.sources[picks.positions[i]]] = picks.weights[i];
  }
  std::vector<int64_t> picked;
  for (const auto& [source, weight] : by_source) picked.push_back(source);
  ColumnWorkspace workspace;
  ExtractedEdges extracted;
  EXPECT_TRUE(ExtractEdges(edges, destinations, picked, {}, &workspace, &extracted).ok());
  std::vector<double> sums(destinations.size());
  for (size_t v = 0; v < destinations.size(); ++v) {
    for (int64_t e = extracted.offsets[v]; e < extracted.offsets[v + 1]; ++e) {
      const int64_t source = picked[extracted.columns[e]];
      sums[v] += by_source[source] * values[source];
    }
  }
  return sums;
}

// How far the expected estimates are from the full sums, relative to those, at worst.
double WorstBias(const MemoryRelation& relation, LayerProbability probability, int64_t nodes,
                 const Planted& planted, bool leave_one_out = false) {
  const std::vector<double> values = {1, 0.75, 1.25, 0.5, 1.5, 2};
  const ColumnEdges edges{.topology = &relation.topology(), .num_sources = 6, .relation = "r"};
  const std::vector<int64_t> destinations = EveryNode(relation.in_edges());
  ColumnWorkspace workspace;
  ColumnSums columns;
  EXPECT_TRUE(
      SumColumns(edges, destinations, ColumnValueOf(probability), &workspace, &columns).ok());
  if (leave_one_out) {
    columns.sources.pop_back();
    columns.sums.pop_back();
  }
  std::vector<uint64_t> weights = columns.sums;
  EXPECT_TRUE(MakeWeights(probability, weights).ok());
  const CandidateSums sums = SumsOf(weights);
  std::vector<long double> expected(destinations.size());
  LayerWiseDrawer drawer;
  LayerWisePicks picks;
  const auto add = [&](std::span<const WideSum> draws, long double chance) {
    EXPECT_TRUE(drawer.DrawBy(sums, nodes, draws, &picks).ok());
    planted(&picks);
    const std::vector<double> estimate = EstimateSums(edges, destinations, columns, picks, values);
    for (size_t v = 0; v < expected.size(); ++v) expected[v] += chance * estimate[v];
  };
  if (nodes >= sums.num_candidates()) {
    add({}, 1);
  } else {
    std::vector<WideSum> draws;
    std::set<size_t> taken;
    ForEachSequence(weights, nodes, &draws, &taken, 1, [&](long double chance) {
      add(draws, chance);
      EXPECT_EQ(std::set<size_t>(picks.positions.begin(), picks.positions.end()), taken);
    });
  }
  double worst = 0;
  for (size_t v = 0; v < expected.size(); ++v) {
    double full = 0;
    for (const int64_t source : relation.in_edges()[v]) full += values[source];
    if (full > 0) worst = std::max(worst, std::abs(static_cast<double>(expected[v]) / full - 1));
  }
  return worst;
}

constexpr LayerProbability kProbabilities[] = {LayerProbability::kDegree, LayerProbability::kSqrt,
                                               LayerProbability::kCount, LayerProbability::kCount2};

TEST(LayerWiseEnumerationTest, ExpectedSumsAreTheFullOnes) {
  CounterRng rng(11);
  for (int graph = 0; graph < 6; ++graph) {
    const int64_t sources = 3 + graph % 4;
    const InEdges in_edges = FewSources(sources, &rng);
    const MemoryRelation relation(in_edges, {0, 1, std::ssize(in_edges)}, IdWidth::k32);
    for (const LayerProbability probability : kProbabilities) {
      for (int64_t nodes = 1; nodes <= sources; ++nodes) {
        EXPECT_LT(WorstBias(relation, probability, nodes, Nothing), 1e-12)
            << graph << " " << static_cast<int>(probability) << " " << nodes;
      }
    }
  }
}

TEST(LayerWiseEnumerationTest, PlantedErrorsAreSeen) {
  const MemoryRelation relation({{0, 1, 2, 2, 5}, {2, 3}, {4, 2, 1}, {5, 5, 5, 0}}, {0, 4},
                                IdWidth::k64);
  for (const LayerProbability probability : kProbabilities) {
    for (const int64_t nodes : {1, 2, 3}) {
      EXPECT_LT(WorstBias(relation, probability, nodes, Nothing), 1e-12);
      EXPECT_GT(WorstBias(relation, probability, nodes, NoChances), 1e-2);
      EXPECT_GT(WorstBias(relation, probability, nodes, NormalizedTo(6)), 1e-2);
      EXPECT_GT(WorstBias(relation, probability, nodes, Nothing, true), 1e-2);
    }
  }
}

// The mean over many draws of the sum of weight times value, from the true sum, in sigmas.
double MeanInSigmas(const std::vector<uint64_t>& weights, const std::vector<double>& values,
                    int64_t nodes, const Planted& planted) {
  constexpr int kDraws = 100'000;
  const CandidateSums sums = SumsOf(weights);
  LayerWiseDrawer drawer;
  LayerWisePicks picks;
  double mean = 0, squares = 0;  // Welford
  for (int i = 1; i <= kDraws; ++i) {
    EXPECT_TRUE(drawer.Draw(sums, nodes, SubKey(17, static_cast<uint64_t>(i)), &picks).ok());
    planted(&picks);
    double estimate = 0;
    for (size_t p = 0; p < picks.positions.size(); ++p) {
      estimate += picks.weights[p] * values[picks.positions[p]];
    }
    const double step = estimate - mean;
    mean += step / i;
    squares += step * (estimate - mean);
  }
  const double sigma = std::sqrt(squares / kDraws / kDraws);
  return (mean - std::accumulate(values.begin(), values.end(), 0.0)) / sigma;
}

TEST(LayerWiseDrawerTest, MeanOfManyDrawsIsWithinThreeSigma) {
  CounterRng rng(23);
  std::vector<uint64_t> weights(60);
  std::vector<double> values(weights.size());
  for (size_t j = 0; j < weights.size(); ++j) {
    weights[j] = 1 + rng.NextBounded(30);
    values[j] = 0.2 + rng.NextDouble() + 0.05 * static_cast<double>(weights[j]);
  }
  const double sigmas = MeanInSigmas(weights, values, 12, Nothing);
  RecordProperty("sigmas", std::to_string(sigmas));
  std::printf("the mean of 10^5 draws is %.2f sigma off\n", sigmas);
  EXPECT_LT(std::abs(sigmas), 3);
  EXPECT_GT(std::abs(MeanInSigmas(weights, values, 12, NoChances)), 3);
  EXPECT_GT(std::abs(MeanInSigmas(weights, values, 12, NormalizedTo(60))), 3);
  std::vector<uint64_t> without_one = weights;
  without_one[5] = 0;
  EXPECT_GT(std::abs(MeanInSigmas(without_one, values, 12, Nothing)), 3);
}

}  // namespace
}  // namespace halograph
