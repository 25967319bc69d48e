#include "trainer/pipeline/batch_schedule.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/sampling/request.h"

namespace halograph {
namespace {

TEST(ShuffledPositionsTest, IsAPermutation) {
  for (int64_t count : {0, 1, 2, 17, 1000}) {
    std::vector<int64_t> positions = ShuffledPositions(count, 42);
    std::sort(positions.begin(), positions.end());
    std::vector<int64_t> wanted(count);
    std::iota(wanted.begin(), wanted.end(), int64_t{0});
    EXPECT_EQ(positions, wanted);
  }
}

TEST(ShuffledPositionsTest, EveryOrderOfThreeIsEquallyLikely) {
  std::map<std::vector<int64_t>, int> seen;
  constexpr int kDraws = 6000;
  for (uint64_t key = 0; key < kDraws; ++key) ++seen[ShuffledPositions(3, Mix(key))];
  ASSERT_EQ(seen.size(), 6U);
  double chi_square = 0;
  for (const auto& [order, count] : seen) {
    chi_square += (count - kDraws / 6.0) * (count - kDraws / 6.0) / (kDraws / 6.0);
  }
  EXPECT_LT(chi_square, 20.5);  // 5 degrees of freedom, p = 0.001
}

TEST(TrainerKeyTest, DiffersByEveryArgumentAndFromBatchSeeds) {
  std::set<uint64_t> keys;
  for (uint64_t seed : {0, 1}) {
    for (auto stream : {TrainerStream::kShuffle, TrainerStream::kDropout}) {
      for (uint64_t epoch : {0, 1, 2}) {
        for (uint64_t rank : {0, 1}) keys.insert(TrainerKey(seed, stream, epoch, rank));
      }
    }
    for (auto purpose : {BatchPurpose::kTrain, BatchPurpose::kPredict}) {
      for (uint64_t epoch : {0, 1, 2}) {
        for (uint64_t rank : {0, 1}) keys.insert(BatchSeed(seed, purpose, epoch, 0, 2, rank));
      }
    }
  }
  EXPECT_EQ(keys.size(), 2U * (2 * 3 * 2 + 2 * 3 * 2));
}

TEST(StepKeyTest, DiffersByStepAndFromTheEpochsKey) {
  std::set<uint64_t> keys;
  for (uint64_t step : {0, 1, 2}) {
    for (uint64_t epoch : {0, 1}) {
      for (uint64_t rank : {0, 1}) {
        keys.insert(StepKey(5, TrainerStream::kDropout, epoch, step, rank));
        keys.insert(TrainerKey(5, TrainerStream::kDropout, epoch, rank));
      }
    }
  }
  EXPECT_EQ(keys.size(), 12U + 4U);
}

TEST(EpochOrdersTest, AnOrderThatWasDroppedComesBackTheSame) {
  EpochOrders orders(100, 7, 1, 2);
  const std::vector<int64_t> first = *orders.Of(0);
  for (int64_t epoch = 1; epoch < 10; ++epoch) EXPECT_NE(*orders.Of(epoch), first);
  EXPECT_EQ(*orders.Of(0), first);
}

TEST(EpochOrdersTest, RanksHaveOrdersOfTheirOwn) {
  EpochOrders rank0(100, 7, 0, 2), rank1(100, 7, 1, 2);
  EXPECT_NE(*rank0.Of(0), *rank1.Of(0));
}

}  // namespace
}  // namespace halograph
