#include "partitioner/methods/stream_metis/pair_sample.h"

#include <map>

#include "common/base/rng.h"
#include "tests/unit/partitioner_methods_stream_metis/stream_graph.h"

namespace halograph {
namespace {

using Sums = std::map<std::pair<uint32_t, uint32_t>, uint32_t>;

PairSample Sampled(const EdgePairs& pairs, int64_t max_pairs, uint64_t key) {
  auto sample = PairSample::Make(max_pairs, key);
  EXPECT_TRUE(sample.ok()) << sample.status();
  for (const auto& [a, b] : pairs) {
    if (a != b) sample->Add(static_cast<uint32_t>(a), static_cast<uint32_t>(b));
  }
  return std::move(sample).value();
}

Sums Slow(const EdgePairs& pairs) {
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
  EXPECT_EQ(SumsOf(sample), Slow(pairs));
  EXPECT_EQ(sample.share(), 1);
}

TEST(PairSampleTest, WhatIsKeptIsWhole) {
  const EdgePairs pairs = RandomEdges(200, 200, 30000, 3);
  const Sums all = Slow(pairs);
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

}  // namespace
}  // namespace halograph
