// How often each outcome of weighted draws comes, against its exact chance. Fixed seeds; every
// statistic must stay below the upper 0.001 point of its chi-square distribution.
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "tests/unit/sampling_weighted/weighted_node.h"

namespace halograph {
namespace {

using Outcome = std::vector<int64_t>;
using Chances = std::map<Outcome, double>;

constexpr int64_t kDraws = 100000;

// Wilson and Hilferty's approximation.
double ChiSquareLimit(double freedom) {
  constexpr double kNormalPoint = 3.0902;
  const double spread = 2.0 / (9.0 * freedom);
  return freedom * std::pow(1.0 - spread + kNormalPoint * std::sqrt(spread), 3.0);
}

// Every ordered outcome of successive sampling of `left` more edges, or of independent draws.
void Enumerate(const std::vector<double>& weights, int left, bool replace, double chance,
               Outcome* prefix, Chances* chances) {
  if (left == 0) {
    (*chances)[*prefix] += chance;
    return;
  }
  double sum = 0;
  for (const double weight : weights) sum += weight;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    std::vector<double> rest = weights;
    if (!replace) rest[i] = 0;
    prefix->push_back(static_cast<int64_t>(i));
    Enumerate(rest, left - 1, replace, chance * (weights[i] / sum), prefix, chances);
    prefix->pop_back();
  }
}

// Outcomes that are expected fewer than ten times count as one.
void ExpectChances(const std::map<Outcome, int64_t>& counts, const Chances& chances) {
  double statistic = 0;
  double rare = 0;
  double rare_seen = 0;
  int cells = 0;
  int64_t seen = 0;
  for (const auto& [outcome, chance] : chances) {
    const auto found = counts.find(outcome);
    const auto count = static_cast<double>(found == counts.end() ? 0 : found->second);
    seen += static_cast<int64_t>(count);
    const double expected = chance * kDraws;
    if (expected < 10) {
      rare += expected;
      rare_seen += count;
      continue;
    }
    ++cells;
    statistic += (count - expected) * (count - expected) / expected;
  }
  EXPECT_EQ(seen, kDraws) << "an outcome that has no chance";
  if (rare >= 10) {
    ++cells;
    statistic += (rare_seen - rare) * (rare_seen - rare) / rare;
  } else {
    EXPECT_LT(rare_seen, 40);
  }
  ASSERT_GT(cells, 1);
  EXPECT_LT(statistic, ChiSquareLimit(cells - 1)) << cells << " cells";
}

struct ProbabilityCase {
  const char* name;
  std::vector<double> weights;
  int fanout;
  bool replace;
};

void PrintTo(const ProbabilityCase& test, std::ostream* out) { *out << test.name; }

class WeightedProbabilityTest : public testing::TestWithParam<ProbabilityCase> {};

TEST_P(WeightedProbabilityTest, EveryOrderedOutcomeHasItsChance) {
  const auto& [name, weights, fanout, replace] = GetParam();
  Chances chances;
  Outcome prefix;
  Enumerate(weights, fanout, replace, 1.0, &prefix, &chances);
  WeightedNode node(weights);
  std::map<Outcome, int64_t> counts;
  for (int64_t v = 0; v < kDraws; ++v) {
    ++counts[node.Pick(SubKey(LayerKey(11, 1, 3, 2), static_cast<uint64_t>(v)), fanout, replace)];
  }
  ExpectChances(counts, chances);
}

INSTANTIATE_TEST_SUITE_P(
    Nodes, WeightedProbabilityTest,
    testing::Values(
        ProbabilityCase{"EqualWith", {1, 1, 1, 1, 1}, 2, true},
        ProbabilityCase{"UnequalWith", {0.5, 1, 0, 2, 4, 0.25}, 3, true},
        ProbabilityCase{"OneDrawWith", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 1, true},
        ProbabilityCase{"EqualWithout", {1, 1, 1, 1, 1}, 3, false},
        ProbabilityCase{"UnequalWithout", {0.5, 1, 0, 2, 4, 0.25}, 3, false},
        ProbabilityCase{"AllButOneWithout", {1, 2, 3, 4, 5}, 4, false},
        // Most nodes get past the alias draws here:
        ProbabilityCase{"DominatedWithout", {1, 1000, 2, 3, 0, 4}, 4, false},
        ProbabilityCase{"OnlySumsTellThemApart", {1e30, 1e-30, 2e-30, 3e-30, 4e-30}, 3, false},
        ProbabilityCase{"DenormalWithout", {5e-324, 1e-323, 1.5e-323, 2e-323}, 2, false}),
    [](const auto& test) { return test.param.name; });

// The first picks of a long list: the sums of more than one block matter.
TEST(WeightedSuccessionTest, LongListsAreDrawnByShareBeyondTheDominatingEdge) {
  constexpr int64_t kDegree = 200;
  std::vector<double> weights(kDegree);
  double rest = 0;
  for (int64_t i = 0; i < kDegree; ++i) {
    weights[i] = static_cast<double>(1 + i % 7);
    rest += weights[i];
  }
  rest -= weights[130];
  weights[130] = 1e12;
  WeightedNode node(weights);
  std::map<Outcome, int64_t> counts;
  Chances chances;
  for (int64_t v = 0; v < kDraws; ++v) {
    const Outcome picks = node.Pick(SubKey(5, static_cast<uint64_t>(v)), 2, false);
    ASSERT_EQ(picks.front(), 130);
    ++counts[{picks[1]}];
  }
  for (int64_t i = 0; i < kDegree; ++i) {
    if (i != 130) chances[{i}] = weights[i] / rest;
  }
  ExpectChances(counts, chances);
}

TEST(WeightedSuccessionTest, TestSeesDrawsThatIgnoreTheWeights) {
  Chances chances;
  Outcome prefix;
  Enumerate({1, 1, 1.1}, 1, true, 1.0, &prefix, &chances);
  std::map<Outcome, int64_t> counts;
  for (int64_t v = 0; v < kDraws; ++v) {
    ++counts[{static_cast<int64_t>(Bounded(SubKey(5, static_cast<uint64_t>(v)), 3))}];
  }
  double statistic = 0;
  for (const auto& [outcome, chance] : chances) {
    const double expected = chance * kDraws;
    const double difference = static_cast<double>(counts[outcome]) - expected;
    statistic += difference * difference / expected;
  }
  EXPECT_GT(statistic, ChiSquareLimit(2));
}

}  // namespace
}  // namespace halograph
