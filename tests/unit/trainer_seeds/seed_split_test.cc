#include "trainer/seeds/seed_split.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "tests/support/split_seeds.h"

namespace halograph {
namespace {

struct Case {
  std::vector<int64_t> seeds;
  std::vector<int64_t> boundaries;
};

// Sorted seeds, with repeats, over `parts` ranges of uneven sizes, some of them empty.
Case RandomCase(uint64_t key, int parts) {
  CounterRng rng(key);
  Case random;
  random.boundaries.push_back(0);
  for (int part = 0; part < parts; ++part) {
    random.boundaries.push_back(random.boundaries.back() +
                                static_cast<int64_t>(rng.NextBounded(60)));
  }
  random.boundaries.back() += 1;  // at least one node
  const auto nodes = static_cast<uint64_t>(random.boundaries.back());
  const uint64_t count = rng.NextBounded(100);
  for (uint64_t i = 0; i < count; ++i) {
    random.seeds.push_back(static_cast<int64_t>(rng.NextBounded(nodes)));
  }
  std::sort(random.seeds.begin(), random.seeds.end());
  return random;
}

TEST(PartOfRankTest, SpreadsRanksOverPartitions) {
  EXPECT_EQ(PartOfRank(0, 4, 2), 0);
  EXPECT_EQ(PartOfRank(1, 4, 2), 2);
  EXPECT_EQ(PartOfRank(2, 2, 4), 1);
  EXPECT_EQ(PartOfRank(4, 3, 5), 2);
}

class SplitRowsTest : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(SplitRowsTest, RangesCoverAllSeedsOnceAndDifferByAtMostOne) {
  const auto [world_size, parts] = GetParam();
  for (uint64_t key = 0; key < 50; ++key) {
    const Case random = RandomCase(key, parts);
    const auto count = static_cast<int64_t>(random.seeds.size());
    const SeedShards shards = SplitSeeds(random.seeds, random.boundaries, world_size);
    ASSERT_EQ(static_cast<int>(shards.of_rank.size()), world_size);
    std::vector<int> covered(random.seeds.size());
    for (const IdRange& shard : shards.of_rank) {
      EXPECT_GE(shard.size(), count / world_size);
      EXPECT_LE(shard.size(), (count + world_size - 1) / world_size);
      for (int64_t i = shard.begin; i < shard.end; ++i) ++covered[i];
    }
    EXPECT_EQ(std::count(covered.begin(), covered.end(), 1), count) << "key " << key;
  }
}

TEST_P(SplitRowsTest, StepsOfAllRanksCoverAllSeeds) {
  const auto [world_size, parts] = GetParam();
  for (uint64_t key = 0; key < 20; ++key) {
    const Case random = RandomCase(key, parts);
    const SeedShards shards = SplitSeeds(random.seeds, random.boundaries, world_size);
    for (int64_t batch_size : {1, 3, 7, 1000}) {
      int64_t seeds = 0;
      for (int64_t step = 0; step < shards.Steps(batch_size); ++step) {
        EXPECT_GT(shards.SeedsInStep(batch_size, step), 0);
        seeds += shards.SeedsInStep(batch_size, step);
      }
      EXPECT_EQ(seeds, static_cast<int64_t>(random.seeds.size()));
    }
  }
}

// No two ranks would both gain by exchanging their ranges: the greedy choice gave the better of
// the two to one of them.
TEST_P(SplitRowsTest, NoExchangeRaisesTheLargerOverlap) {
  const auto [world_size, parts] = GetParam();
  const int num_parts = parts, num_ranks = world_size;
  for (uint64_t key = 0; key < 20; ++key) {
    const Case random = RandomCase(key, num_parts);
    const SeedShards shards = SplitSeeds(random.seeds, random.boundaries, num_ranks);
    const auto overlap = [&](int rank, const IdRange& range) {
      const int part = PartOfRank(rank, num_parts, num_ranks);
      int64_t hits = 0;
      for (int64_t i = range.begin; i < range.end; ++i) {
        hits += random.seeds[i] >= random.boundaries[part] &&
                random.seeds[i] < random.boundaries[part + 1];
      }
      return hits;
    };
    for (int a = 0; a < num_ranks; ++a) {
      for (int b = 0; b < a; ++b) {
        const IdRange& of_a = shards.of_rank[a];
        const IdRange& of_b = shards.of_rank[b];
        EXPECT_GE(std::max(overlap(a, of_a), overlap(b, of_b)),
                  std::max(overlap(a, of_b), overlap(b, of_a)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(WorldsAndParts, SplitRowsTest,
                         testing::Combine(testing::Values(1, 2, 3, 4, 5, 8),
                                          testing::Values(1, 2, 3, 4, 7)));

TEST(SplitRowsTest, EachRankGetsTheRangeOfItsPartition) {
  // Partition 1 first in no order of ranks: ids 0..9 and 10..19, seeds spread evenly.
  const std::vector<int64_t> seeds = {0, 2, 4, 6, 10, 12, 14, 16};
  const std::vector<int64_t> boundaries = {0, 10, 20};
  const SeedShards shards = SplitSeeds(seeds, boundaries, 2);
  EXPECT_EQ(shards.of_rank[0].begin, 0);
  EXPECT_EQ(shards.of_rank[1].begin, 4);
}

TEST(SplitRowsTest, ARankWithoutOverlapTakesWhatIsLeft) {
  // All seeds in the last partition: rank 2 takes the first range, the others what remains.
  const std::vector<int64_t> seeds = {20, 21, 22, 23, 24, 25};
  const std::vector<int64_t> boundaries = {0, 10, 20, 30};
  const SeedShards shards = SplitSeeds(seeds, boundaries, 3);
  EXPECT_EQ(shards.of_rank[2].begin, 0);
  EXPECT_EQ(shards.of_rank[0].begin, 2);
  EXPECT_EQ(shards.of_rank[1].begin, 4);
}

TEST(SplitRowsTest, WholePartsAreThoseThatHaveSomeOfTheRows) {
  const std::vector<int64_t> part_rows = {0, 4, 4, 7, 9};
  for (const auto& [rows, whole] : {std::pair{IdRange{0, 4}, IdRange{0, 4}},
                                    {{3, 5}, {0, 7}},
                                    {{4, 5}, {4, 7}},
                                    {{5, 5}, {5, 5}},
                                    {{6, 9}, {4, 9}},
                                    {{0, 9}, {0, 9}}}) {
    const IdRange found = WholeParts(part_rows, rows);
    EXPECT_EQ(found.begin, whole.begin);
    EXPECT_EQ(found.end, whole.end);
  }
}

TEST(SeedShardsTest, ASmallerShardEndsWithAnEmptyBatch) {
  const SeedShards shards{{{0, 3}, {3, 5}}};
  EXPECT_EQ(shards.Steps(1), 3);
  EXPECT_EQ(shards.Batch(0, 1, 2).size(), 1);
  EXPECT_EQ(shards.Batch(1, 1, 2).size(), 0);
  EXPECT_EQ(shards.SeedsInStep(1, 2), 1);
}

}  // namespace
}  // namespace halograph
