#include "common/metrics/snapshot.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "common/metrics/buckets.h"

namespace halograph {
namespace {

using std::chrono::seconds;

HistogramSnapshot Of(std::vector<double> bounds, std::vector<int64_t> counts, double sum) {
  HistogramSnapshot histogram{.bounds = std::move(bounds), .counts = std::move(counts), .sum = sum};
  for (const int64_t count : histogram.counts) histogram.count += count;
  return histogram;
}

// The bucket by a search from the first one.
size_t SlowBucket(std::span<const double> bounds, double value) {
  size_t bucket = 0;
  while (bucket < bounds.size() && value > bounds[bucket]) ++bucket;
  return bucket;
}

TEST(BucketsTest, BoundsAreThoseOfTheStandard) {
  EXPECT_EQ(LatencyBounds().size(), 41U);
  EXPECT_EQ(LatencyBounds()[1], 1e-5);
  EXPECT_EQ(LatencyBounds().back(), 100);
  EXPECT_EQ(SizeBounds().size(), 14U);
  EXPECT_EQ(SizeBounds()[1], 1024);
  EXPECT_EQ(SizeBounds().back(), 4294967296.0);
  EXPECT_TRUE(Buckets::Check(LatencyBounds()).ok());
  EXPECT_TRUE(Buckets::Check(SizeBounds()).ok());
}

TEST(BucketsTest, ABoundIsWithinItsBucketAndOneMoreIsNot) {
  for (const MetricUnit unit : {MetricUnit::kSeconds, MetricUnit::kBytes}) {
    const auto bounds = unit == MetricUnit::kSeconds ? LatencyBounds() : SizeBounds();
    const Buckets buckets(bounds, unit);
    for (size_t i = 0; i < bounds.size(); ++i) {
      const int64_t bound = std::llround(bounds[i] * buckets.scale());
      EXPECT_EQ(buckets.Of(bound), i) << bound;
      EXPECT_EQ(buckets.Of(bound + 1), i + 1) << bound;
      EXPECT_EQ(buckets.OfDouble(bounds[i]), i);
    }
    EXPECT_EQ(buckets.Of(std::numeric_limits<int64_t>::max()), bounds.size());
  }
}

TEST(BucketsTest, ADecimalFractionOfASecondIsItsNanoseconds) {
  // Products with 1e9 that come out just below the whole number.
  const Buckets buckets(std::vector<double>{6.5e-05, 0.000129, 0.00013}, MetricUnit::kSeconds);
  const std::vector<int64_t> bounds = {65000, 129000, 130000};
  for (size_t i = 0; i < bounds.size(); ++i) {
    EXPECT_EQ(buckets.Of(bounds[i]), i);
    EXPECT_EQ(buckets.Of(bounds[i] + 1), i + 1);
  }
}

TEST(BucketsTest, TheTableFindsWhatASearchFinds) {
  const std::vector<double> dense = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16.5, 17};
  for (const std::vector<double>& bounds :
       {dense, std::vector<double>{-3, 0.5}, std::vector<double>{1e18, 1e19}}) {
    ASSERT_TRUE(Buckets::Check(bounds).ok());
    const Buckets buckets(bounds, MetricUnit::kNone);
    std::mt19937_64 random(7);
    for (int i = 0; i < 20000; ++i) {
      const auto value = static_cast<int64_t>(random() >> (1 + random() % 63));
      ASSERT_EQ(buckets.Of(value), SlowBucket(bounds, static_cast<double>(value))) << value;
    }
  }
}

TEST(BucketsTest, OddBoundsAreRefused) {
  EXPECT_FALSE(Buckets::Check({}).ok());
  EXPECT_FALSE(Buckets::Check(std::vector<double>{1, 1}).ok());
  EXPECT_FALSE(Buckets::Check(std::vector<double>{2, 1}).ok());
  EXPECT_FALSE(
      Buckets::Check(std::vector<double>{1, std::numeric_limits<double>::infinity()}).ok());
  EXPECT_FALSE(Buckets::Check(std::vector<double>{std::nan("")}).ok());
  EXPECT_FALSE(Buckets::Check(std::vector<double>(Buckets::kMostBounds + 1, 1)).ok());
}

TEST(HistogramSnapshotTest, QuantilesLieWithinTheirBucket) {
  const HistogramSnapshot four = Of({1, 2, 4}, {0, 10, 10, 0}, 45);
  EXPECT_DOUBLE_EQ(four.Quantile(0.5), 2);
  EXPECT_DOUBLE_EQ(four.Quantile(0.25), 1.5);
  EXPECT_DOUBLE_EQ(four.Quantile(0.75), 3);
  EXPECT_DOUBLE_EQ(four.Quantile(1), 4);
  EXPECT_DOUBLE_EQ(four.Mean(), 2.25);
  EXPECT_DOUBLE_EQ(Of({1, 2}, {4, 0, 0}, 1).Quantile(0.5), 0.5);
}

TEST(HistogramSnapshotTest, QuantilesOfNothingAndBeyondTheBounds) {
  EXPECT_EQ(HistogramSnapshot().Quantile(0.5), 0);
  EXPECT_EQ(HistogramSnapshot().Mean(), 0);
  EXPECT_EQ(Of({1, 2}, {0, 0, 0}, 0).Quantile(0.99), 0);
  EXPECT_EQ(Of({1, 2}, {0, 0, 3}, 30).Quantile(0.99), 2);
  EXPECT_EQ(Of({0, 2}, {3, 0, 0}, 0).Quantile(0.5), 0);
  EXPECT_EQ(Of({1, 2}, {0, 3, 0}, 4).Quantile(0), 0);
  EXPECT_EQ(Of({1, 2}, {0, 3, 0}, 4).Quantile(7), 2);  // no share: the largest
  // From elsewhere, where anything may come.
  const std::vector<double> bounds = {1, 2};
  EXPECT_EQ(QuantileOf(bounds, std::vector<int64_t>{3, 0}, 0.5), std::nullopt);
  EXPECT_EQ(QuantileOf(bounds, std::vector<int64_t>{-5, 4, -1}, 0.5), 1.5);
  EXPECT_EQ(QuantileOf({}, {}, 0.5), std::nullopt);
}

TEST(HistogramSnapshotTest, SinceLeavesOutWhatWasThereUnlessItBeganAnew) {
  const HistogramSnapshot before = Of({1, 2}, {1, 2, 3}, 20);
  const HistogramSnapshot now = Of({1, 2}, {1, 5, 3}, 25);
  EXPECT_EQ(now.Since(before).counts, (std::vector<int64_t>{0, 3, 0}));
  EXPECT_EQ(now.Since(before).count, 3);
  EXPECT_DOUBLE_EQ(now.Since(before).sum, 5);
  EXPECT_EQ(before.Since(now).count, 6);
  EXPECT_EQ(now.Since(Of({1, 3}, {0, 0, 0}, 0)).count, 9);
}

MetricsSnapshot TwoParts(double pushes, std::vector<int64_t> counts, int second) {
  MetricsSnapshot snapshot;
  const HistogramSnapshot times = Of({1}, std::move(counts), 1);
  snapshot.families = {
      {.name = "a_lsn",
       .kind = MetricKind::kGauge,
       .unit = {},
       .help = "",
       .series = {{.labels = {}, .value = pushes, .histogram = {}}}},
      {.name = "b_total",
       .kind = MetricKind::kCounter,
       .unit = {},
       .help = "",
       .series = {{.labels = {{"part", "0"}, {"tensor", "x"}}, .value = pushes, .histogram = {}},
                  {.labels = {{"part", "1"}, {"tensor", "x"}}, .value = 5, .histogram = {}}}},
      {.name = "c_seconds",
       .kind = MetricKind::kHistogram,
       .unit = {},
       .help = "",
       .series = {{.labels = {{"part", "0"}}, .value = 0, .histogram = times},
                  {.labels = {{"part", "1"}}, .value = 0, .histogram = times}}}};
  snapshot.taken = std::chrono::steady_clock::time_point(seconds(second));
  return snapshot;
}

TEST(MetricsSnapshotTest, LooksUpByNameAndLabels) {
  const MetricsSnapshot snapshot = TwoParts(7, {2, 1}, 0);
  EXPECT_EQ(snapshot.Find("b_total")->series.size(), 2U);
  EXPECT_EQ(snapshot.Find("bb_total"), nullptr);
  EXPECT_EQ(snapshot.Find("z"), nullptr);
  EXPECT_EQ(snapshot.Value("b_total"), 12);
  EXPECT_EQ(snapshot.Value("b_total", {{"part", "0"}}), 7);
  EXPECT_EQ(snapshot.Value("b_total", {{"tensor", "x"}}), 12);
  EXPECT_EQ(snapshot.Value("b_total", {{"part", "2"}}), 0);
  EXPECT_EQ(snapshot.FindSeries("b_total", {{"tensor", "x"}, {"part", "1"}})->value, 5);
  EXPECT_EQ(snapshot.FindSeries("b_total", {{"part", "1"}}), nullptr);
  EXPECT_EQ(snapshot.Histogram("c_seconds").counts, (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(snapshot.Histogram("c_seconds").count, 6);
  EXPECT_EQ(snapshot.Histogram("c_seconds", {{"part", "1"}}).count, 3);
  EXPECT_EQ(snapshot.Histogram("c_seconds", {{"part", "2"}}).count, 0);
}

TEST(MetricsSnapshotTest, SinceIsOfCountersAndHistogramsAlone) {
  const MetricsSnapshot before = TwoParts(7, {2, 1}, 10);
  const MetricsSnapshot since = TwoParts(9, {3, 1}, 14).Since(before);
  EXPECT_EQ(since.seconds, 4);
  EXPECT_EQ(since.Value("a_lsn"), 9);
  EXPECT_EQ(since.Value("b_total", {{"part", "0"}}), 2);
  EXPECT_EQ(since.Value("b_total", {{"part", "1"}}), 0);
  EXPECT_EQ(since.Histogram("c_seconds").count, 2);
  EXPECT_EQ(TwoParts(6, {2, 1}, 14).Since(before).Value("b_total", {{"part", "0"}}), 6);
  MetricsSnapshot without = before;
  without.families.erase(without.families.begin() + 1);
  EXPECT_EQ(TwoParts(9, {3, 1}, 14).Since(without).Value("b_total"), 14);
}

}  // namespace
}  // namespace halograph
