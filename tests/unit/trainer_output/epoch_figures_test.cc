#include "trainer/output/epoch_figures.h"

#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

TEST(EpochFiguresTest, KeysAreUnique) {
  std::set<std::string_view> keys;
  for (const FigureRow& row : FigureRows()) {
    EXPECT_FALSE(row.key.empty());
    EXPECT_TRUE(keys.insert(row.key).second) << row.key;
  }
}

TEST(EpochFiguresTest, RanksAddUpAndTimesAreMeans) {
  EpochFigures first, second;
  first[Figure::kTrainSeeds] = 30;
  second[Figure::kTrainSeeds] = 10;
  first[Figure::kLoss] = 50;
  second[Figure::kLoss] = 30;
  first[Figure::kLossWeight] = 24;
  second[Figure::kLossWeight] = 16;
  first[Figure::kCompute] = 2;
  second[Figure::kCompute] = 4;
  first[Figure::kSeconds] = 7;
  second[Figure::kSeconds] = 9;
  first[Figure::kRounds] = 12;
  second[Figure::kRounds] = 4;
  first[Figure::kMinibatches] = 3;
  second[Figure::kMinibatches] = 1;
  std::vector<double> sums = first.ToSum();
  const std::vector<double> others = second.ToSum();
  ASSERT_EQ(sums.size(), others.size());
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += others[i];
  first.Finish(sums, 2);
  EXPECT_EQ(first[Figure::kTrainSeeds], 40);
  EXPECT_EQ(first[Figure::kLoss], 2) << "the mean by weight";
  EXPECT_EQ(first[Figure::kCompute], 3) << "the mean over ranks";
  EXPECT_EQ(first[Figure::kSeconds], 7) << "this rank's own";
  EXPECT_EQ(first[Figure::kRounds], 4) << "the mean over minibatches";
}

TEST(EpochFiguresTest, FinishedEpochsOfSeveralPartsAddUpAsOneEpoch) {
  EpochFigures sum;
  for (const double part : {1.0, 3.0}) {
    EpochFigures own;
    own[Figure::kLoss] = 10 * part;
    own[Figure::kLossWeight] = 4 * part;
    own[Figure::kRounds] = 6;
    own[Figure::kMinibatches] = part;
    own[Figure::kSeconds] = part;
    own[Figure::kCutNodes] = 5;
    own.Finish(own.ToSum(), 1);
    sum.Add(own);
  }
  EpochFigures nothing;
  nothing.Finish(nothing.ToSum(), 1);  // divides by 0
  sum.Add(nothing);
  sum.Finish(sum.ToSum(), 1);
  EXPECT_EQ(sum[Figure::kLoss], 2.5);
  EXPECT_EQ(sum[Figure::kRounds], 3);
  EXPECT_EQ(sum[Figure::kSeconds], 4);
  EXPECT_EQ(sum[Figure::kCutNodes], 10);
}

TEST(EpochFiguresTest, TheLogHasWholeNumbersWhereTheyAre) {
  EpochFigures figures;
  figures[Figure::kSteps] = 5;
  figures[Figure::kLocalBytes] = 4096;
  figures[Figure::kSeconds] = 0.5;
  const Json json = figures.ToJson();
  EXPECT_TRUE(json["steps"].is_number_integer());
  EXPECT_EQ(json["local_bytes"], 4096);
  EXPECT_EQ(json["seconds"], 0.5);
  EXPECT_FALSE(json.contains(""));
  EXPECT_EQ(json.size(), FigureRows().size() - 2)
      << "all but the weight of the loss and minibatches";
}

}  // namespace
}  // namespace halograph
