#include "trainer/output/epoch_line.h"

#include <gtest/gtest.h>

namespace halograph {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

// An epoch of 10 s whose gathering takes 8 of them.
EpochFigures Gathering() {
  EpochFigures figures;
  figures[Figure::kSeconds] = 10;
  figures[Figure::kFeatureWait] = 7;
  figures.AddStage("gather", {.busy = 8, .starved = 2, .blocked = 0});
  figures.SetTraining();
  return figures;
}

// Fetches 1000 rows, 600 of them again, and would need `enough` to keep them.
EpochFigures Fetching(int64_t enough) {
  EpochFigures figures = Gathering();
  figures[Figure::kCacheMisses] = 1000;
  figures[Figure::kCacheRefetches] = 600;
  figures[Figure::kCacheEnough] = static_cast<double>(enough);
  return figures;
}

TEST(EpochLineTest, NothingIsSaidWhereNothingBounds) {
  EXPECT_EQ(BoundText(EpochFigures(), {}), "");
  EXPECT_EQ(CacheText(EpochFigures(), false), "");
}

TEST(EpochLineTest, TheStageStandsWithTheServerThatItWaitsFor) {
  EpochFigures figures = Gathering();
  EXPECT_EQ(BoundText(figures, {}), ", bound by gather (busy 80 %)");
  figures.AddServerWait("gather", "10.0.0.2:7000", 7.1);
  EXPECT_EQ(BoundText(figures, {}),
            ", bound by gather (busy 80 %): waits for 10.0.0.2:7000 71 % of the epoch");
}

TEST(EpochLineTest, MemoryThatKeepsAllRowsIsAdvisedWithWhatItSaves) {
  EXPECT_EQ(
      BoundText(Fetching(2 * kGiB), {.memory = kGiB, .most = 4 * kGiB}),
      ", bound by gather (busy 80 %); --cache-memory 2GiB would save 60 % of the rows that it "
      "fetches");
  EXPECT_EQ(
      BoundText(Fetching(kGiB / 1000 + 1), {.memory = kGiB / 1500, .most = kGiB}),
      ", bound by gather (busy 80 %); --cache-memory 1049KiB would save 60 % of the rows that "
      "it fetches");
}

TEST(EpochLineTest, OfTwiceTheMemoryALowerBoundIsSaid) {
  // Of the four GiB that are missing it adds one.
  EXPECT_EQ(
      BoundText(Fetching(5 * kGiB), {.memory = kGiB, .most = 8 * kGiB}),
      ", bound by gather (busy 80 %); --cache-memory 2GiB would save at least 15 % of the rows "
      "that it fetches, 5GiB 60 %");
  EXPECT_EQ(
      BoundText(Fetching(5 * kGiB), {.memory = kGiB, .most = 4 * kGiB}),
      ", bound by gather (busy 80 %); --cache-memory 2GiB would save at least 15 % of the rows "
      "that it fetches");
  EXPECT_EQ(
      BoundText(Fetching(50 * kGiB), {.memory = kGiB, .most = 64 * kGiB}),
      ", bound by gather (busy 80 %); --cache-memory 50GiB would save 60 % of the rows that it "
      "fetches")
      << "where twice the memory is sure to save next to nothing";
}

TEST(EpochLineTest, NoMemoryIsAdvisedThatIsNotThereOrSavesNothing) {
  const CacheRoom little = {.memory = kGiB, .most = kGiB * 3 / 2};
  EXPECT_EQ(BoundText(Fetching(5 * kGiB), little), ", bound by gather (busy 80 %)");
  EXPECT_EQ(BoundText(Fetching(kGiB), {.memory = kGiB, .most = 8 * kGiB}),
            ", bound by gather (busy 80 %)")
      << "it has what is enough";
  EpochFigures fresh = Fetching(5 * kGiB);
  fresh[Figure::kCacheRefetches] = 10;
  EXPECT_EQ(BoundText(fresh, {.memory = kGiB, .most = 8 * kGiB}), ", bound by gather (busy 80 %)")
      << "its rows are new";
}

TEST(EpochLineTest, AnotherStageIsNotHelpedByACache) {
  EpochFigures figures = Fetching(2 * kGiB);
  figures.AddStage("sample", {.busy = 9, .starved = 1, .blocked = 0});
  EXPECT_EQ(BoundText(figures, {.memory = kGiB, .most = 8 * kGiB}),
            ", bound by sample (busy 90 %)");
}

TEST(EpochLineTest, WhatTheCacheHadStandsWithItsForecast) {
  EpochFigures figures;
  figures[Figure::kCacheHits] = 75;
  figures[Figure::kCacheMisses] = 25;
  EXPECT_EQ(CacheText(figures, false), ", cache had 75 % of 100 remote rows");
  figures[Figure::kRowForecast] = 90;
  EXPECT_EQ(CacheText(figures, false), ", cache had 75 % of 100 remote rows (forecast 90)");
  EXPECT_EQ(CacheText(figures, true), ", cache had 75 % of 100 remote rows");
}

}  // namespace
}  // namespace halograph
