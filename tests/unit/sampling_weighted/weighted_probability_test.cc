// How often each outcome of weighted draws comes, against its exact chance. Fixed seeds; every
// statistic must stay below the upper 0.001 point of its chi-square distribution.
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "tests/support/chi_square.h"
#include "tests/unit/sampling_weighted/weighted_node.h"

namespace halograph {
namespace {

using Outcome = std::vector<int64_t>;
using Chances = std::map<Outcome, double>;

constexpr int64_t kDraws = 100000;

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

// Ten weights from `heaviest` down and between them others of 1, 2, 3 and 0, all times `unit`.
std::vector<double> TopHeavy(int64_t degree, double heaviest, double unit = 1) {
  std::vector<double> weights;
  for (int64_t i = 0; i < degree; ++i) {
    const bool heavy = i % (degree / 10) == 3 && i < degree / 10 * 10;
    weights.push_back(unit *
                      (heavy ? heaviest - static_cast<double>(i) / 8 : static_cast<double>(i % 4)));
  }
  return weights;
}

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
        ProbabilityCase{"DenormalWithout", {5e-324, 1e-323, 1.5e-323, 2e-323}, 2, false},
        // Ten edges are set apart:
        ProbabilityCase{"TopHeavyWith", TopHeavy(64, 100), 2, true},
        ProbabilityCase{"TopHeavyWithout", TopHeavy(64, 30), 2, false},
        ProbabilityCase{"OneMoreThanABlock", TopHeavy(65, 40), 2, false},
        ProbabilityCase{"SeveralBlocks", TopHeavy(150, 80), 2, false},
        ProbabilityCase{"TopHeavyDenormal", TopHeavy(70, 64, 4e-323), 2, false},
        ProbabilityCase{"TopHeavyDenormalWith", TopHeavy(70, 64, 4e-323), 1, true},
        ProbabilityCase{"TopHeavyLarge", TopHeavy(70, 40, 1e300), 2, false}),
    [](const auto& test) { return test.param.name; });

TEST(WeightedProbabilityTest, CasesThatShouldBeAreTopHeavy) {
  for (const auto& weights :
       {TopHeavy(64, 100), TopHeavy(64, 30), TopHeavy(65, 40), TopHeavy(150, 80),
        TopHeavy(70, 64, 4e-323), TopHeavy(70, 40, 1e300)}) {
    EXPECT_NE(WeightedNode(weights).heavy(), nullptr);
  }
}

// A node of which `dominant` edges, spread evenly, are sure to be picked first.
struct DominatedCase {
  int64_t degree;
  int64_t dominant;
};

void PrintTo(const DominatedCase& test, std::ostream* out) {
  *out << test.degree << "_" << test.dominant;
}

class DominatedProbabilityTest : public testing::TestWithParam<DominatedCase> {};

// One edge more than the dominant ones: it comes by its share of what is left. With more dominant
// edges than are set apart, the sums of blocks with picked edges and without matter.
TEST_P(DominatedProbabilityTest, NextPickComesByItsShareOfTheRest) {
  const auto [degree, dominant] = GetParam();
  std::vector<double> weights;
  double rest = 0;
  for (int64_t i = 0; i < degree; ++i) {
    const bool dominates = i % (degree / dominant) == 0 && i < degree / dominant * dominant;
    weights.push_back(dominates ? 1e18 : static_cast<double>(i % 7));
    rest += dominates ? 0 : weights.back();
  }
  WeightedNode node(weights);
  std::map<Outcome, int64_t> counts;
  for (int64_t v = 0; v < kDraws; ++v) {
    const Outcome picks =
        node.Pick(SubKey(5, static_cast<uint64_t>(v)), static_cast<int32_t>(dominant + 1), false);
    for (int64_t i = 0; i < dominant; ++i) ASSERT_EQ(weights[picks[i]], 1e18);
    ++counts[{picks.back()}];
  }
  Chances chances;
  for (int64_t i = 0; i < degree; ++i) {
    if (weights[i] > 0 && weights[i] < 1e18) chances[{i}] = weights[i] / rest;
  }
  ExpectChances(counts, chances);
}

INSTANTIATE_TEST_SUITE_P(Nodes, DominatedProbabilityTest,
                         testing::Values(DominatedCase{63, 1}, DominatedCase{63, 5},
                                         DominatedCase{64, 1}, DominatedCase{65, 4},
                                         DominatedCase{65, 12}, DominatedCase{128, 11},
                                         DominatedCase{200, 14}, DominatedCase{4096, 1},
                                         DominatedCase{4096, 15}),
                         [](const auto& test) {
                           return "Degree" + std::to_string(test.param.degree) + "Dominant" +
                                  std::to_string(test.param.dominant);
                         });

TEST(WeightedSuccessionTest, AllButOneOfManyLeavesEachOutAlike) {
  constexpr int64_t kDegree = 100;
  WeightedNode node(std::vector<double>(kDegree, 0.3));  // not top-heavy; most need the sums
  std::map<Outcome, int64_t> counts;
  for (int64_t v = 0; v < kDraws; ++v) {
    int64_t left = kDegree * (kDegree - 1) / 2;
    for (const int64_t p : node.Pick(SubKey(6, static_cast<uint64_t>(v)), kDegree - 1, false)) {
      left -= p;
    }
    ++counts[{left}];
  }
  Chances chances;
  for (int64_t i = 0; i < kDegree; ++i) chances[{i}] = 1.0 / kDegree;
  ExpectChances(counts, chances);
}

TEST(WeightedSuccessionTest, SixHundredDecadesComeInOrder) {
  constexpr int64_t kDegree = 101;
  std::vector<double> weights(kDegree);
  std::vector<int64_t> order(kDegree);
  for (int64_t rank = 0; rank < kDegree; ++rank) {
    const int64_t position = rank * 37 % kDegree;
    weights[position] = std::pow(10.0, 300.0 - 6 * static_cast<double>(rank));
    order[rank] = position;
  }
  WeightedNode node(weights);
  for (const int64_t fanout : {1, 5, 11, 40, 100}) {  // a million to one each, and fixed keys
    for (uint64_t key = 0; key < 20; ++key) {
      EXPECT_EQ(node.Pick(Mix(key), static_cast<int32_t>(fanout), false),
                std::vector<int64_t>(order.begin(), order.begin() + fanout));
    }
  }
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
