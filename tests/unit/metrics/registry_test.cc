#include "common/metrics/registry.h"

#include <cmath>
#include <future>
#include <latch>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/metrics/found_series.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const MetricInfo kRows = {"halograph_rows_total", MetricUnit::kNone, "Rows"};
const MetricInfo kWait = {"halograph_wait_seconds_total", MetricUnit::kSeconds, "Waiting"};
const MetricInfo kLevel = {"halograph_level", MetricUnit::kNone, "Level"};
const MetricInfo kTimes = {"halograph_call_seconds", MetricUnit::kSeconds, "Times"};
const MetricInfo kSize = {"halograph_reply_bytes", MetricUnit::kBytes, "Sizes"};

std::vector<std::string> Names(const MetricsSnapshot& snapshot) {
  std::vector<std::string> names;
  for (const FamilySnapshot& family : snapshot.families) names.push_back(family.name);
  return names;
}

TEST(MetricRegistryTest, MetricsAreThereAtZeroByName) {
  MetricRegistry metrics;
  (void)metrics.AddCounter(kRows, {{"tensor", "b"}});
  (void)metrics.AddCounter(kRows, {{"tensor", "a"}});
  (void)metrics.AddGauge(kLevel);
  (void)metrics.AddHistogram(kTimes, LatencyBounds());
  const MetricsSnapshot taken = metrics.Take();
  EXPECT_THAT(Names(taken),
              ElementsAre("halograph_call_seconds", "halograph_level", "halograph_rows_total"));
  const FamilySnapshot& rows = *taken.Find("halograph_rows_total");
  EXPECT_EQ(rows.kind, MetricKind::kCounter);
  EXPECT_EQ(rows.help, "Rows");
  ASSERT_EQ(rows.series.size(), 2U);
  EXPECT_THAT(rows.series[0].labels, ElementsAre(MetricLabel{"tensor", "b"}));
  EXPECT_EQ(rows.series[0].value, 0);
  const HistogramSnapshot& times = taken.Find("halograph_call_seconds")->series[0].histogram;
  EXPECT_EQ(times.bounds.size(), 41U);
  EXPECT_EQ(times.counts.size(), 42U);
  EXPECT_EQ(times.count, 0);
  EXPECT_TRUE(metrics.status().ok());
}

TEST(MetricRegistryTest, CountersOnlyGrowAndSecondsArePrintedAsSuch) {
  MetricRegistry metrics;
  Counter* const rows = metrics.AddCounter(kRows);
  Counter* const wait = metrics.AddCounter(kWait);
  rows->Add();
  rows->Add(41);
  rows->Add(-5);
  rows->Add(0);
  wait->Add(std::chrono::milliseconds(1500));
  wait->Add(std::chrono::nanoseconds(-1));
  wait->Add(2);
  EXPECT_EQ(metrics.Take().Value("halograph_rows_total"), 42);
  EXPECT_DOUBLE_EQ(metrics.Take().Value("halograph_wait_seconds_total"), 3.5);
  EXPECT_DOUBLE_EQ(wait->Value(), 3.5);
}

TEST(MetricRegistryTest, GaugesAreSetAndChangedFromAnyThread) {
  MetricRegistry metrics;
  Gauge* const level = metrics.AddGauge(kLevel);
  level->Set(2.5);
  std::thread([level] { level->Add(2); }).join();
  level->Add(-1);
  EXPECT_EQ(metrics.Take().Value("halograph_level"), 3.5);
  EXPECT_EQ(level->Value(), 3.5);
  level->Set(std::nan(""));
  EXPECT_TRUE(std::isnan(metrics.Take().Value("halograph_level")));
}

TEST(MetricRegistryTest, HistogramsTakeTimesAndNumbersInTheirUnit) {
  MetricRegistry metrics;
  Histogram* const times = metrics.AddHistogram(kTimes, LatencyBounds());
  times->Observe(std::chrono::milliseconds(3));
  times->Observe(0.003);
  times->Observe(7);  // seconds
  times->Observe(std::chrono::nanoseconds(-9));
  times->Observe(std::nan(""));
  const HistogramSnapshot taken = times->Take();
  EXPECT_EQ(taken.count, 4);
  EXPECT_DOUBLE_EQ(taken.sum, 7.006);
  EXPECT_EQ(taken.counts[0], 1);   // below 0 is 0
  EXPECT_EQ(taken.counts[9], 2);   // (2 ms, 3 ms]
  EXPECT_EQ(taken.counts[37], 1);  // (5 s, 10 s]
  Histogram* const sizes = metrics.AddHistogram(kSize, SizeBounds());
  sizes->Observe(size_t{1024});
  sizes->Observe(1025);
  sizes->Observe(std::numeric_limits<uint64_t>::max());
  sizes->Observe(-1);
  sizes->Observe(1.5F);
  EXPECT_THAT(sizes->Take().counts, ElementsAre(1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1));
}

TEST(MetricRegistryTest, ConstantLabelsAreOnAllSeriesAndLabelsStandByName) {
  MetricRegistry metrics(Labels{{"rank", "3"}});
  (void)metrics.AddCounter(kRows, {{"tensor", "x"}, {"part", "0"}});
  const MetricReader read = metrics.ReadGauge(kLevel, {}, [] { return 1.0; });
  const MetricsSnapshot taken = metrics.Take();
  EXPECT_THAT(
      taken.Find("halograph_rows_total")->series[0].labels,
      ElementsAre(MetricLabel{"part", "0"}, MetricLabel{"rank", "3"}, MetricLabel{"tensor", "x"}));
  EXPECT_EQ(taken.Value("halograph_level", {{"rank", "3"}}), 1);
}

TEST(MetricRegistryTest, TheSameSeriesDeclaredAgainIsTheSameHandle) {
  MetricRegistry metrics;
  Counter* const a = metrics.AddCounter(kRows, {{"part", "0"}, {"tensor", "x"}});
  EXPECT_EQ(a, metrics.AddCounter(kRows, {{"tensor", "x"}, {"part", "0"}}));
  EXPECT_NE(a, metrics.AddCounter(kRows, {{"tensor", "x"}, {"part", "1"}}));
  EXPECT_TRUE(metrics.status().ok());
}

TEST(MetricRegistryTest, LabelValuesOfOthersAreMadeHarmless) {
  MetricRegistry metrics;
  FoundCounters* const found = metrics.AddFoundCounters(kRows, {"tensor"});
  found->Of("a\nb\xff")->Add();
  found->Of(std::string(5000, 'x'))->Add();
  const MetricsSnapshot taken = metrics.Take();
  const auto& series = taken.Find("halograph_rows_total")->series;
  EXPECT_EQ(series[0].labels[0].value, "a\\x0ab\\xff");
  EXPECT_LE(series[1].labels[0].value.size(), kLabelValueBytes + 3);
}

struct Wrong {
  MetricInfo info;
  MetricKind kind;
  std::string says;
};

TEST(MetricRegistryTest, WrongDeclarationsAreToldAndNotPrintedAndTheirHandlesWork) {
  const std::vector<Wrong> wrong = {
      {{"halograph_rows", MetricUnit::kNone, "h"}, MetricKind::kCounter, "_total"},
      {{"halograph_rows_total", MetricUnit::kNone, "h"}, MetricKind::kGauge, "_total"},
      {{"halograph_wait", MetricUnit::kSeconds, "h"}, MetricKind::kGauge, "_seconds"},
      {{"halograph_wait_seconds", MetricUnit::kNone, "h"}, MetricKind::kHistogram, "_seconds"},
      {{"halograph_wait_bytes", MetricUnit::kSeconds, "h"}, MetricKind::kGauge, "_seconds"},
      {{"halograph_wait_ms", MetricUnit::kNone, "h"}, MetricKind::kGauge, "'ms'"},
      {{"halograph_wait_milliseconds", MetricUnit::kNone, "h"},
       MetricKind::kGauge,
       "'milliseconds'"},
      {{"halograph_calls_count", MetricUnit::kNone, "h"}, MetricKind::kGauge, "_count"},
      {{"Halograph", MetricUnit::kNone, "h"}, MetricKind::kGauge, "a-z"},
      {{"9halograph", MetricUnit::kNone, "h"}, MetricKind::kGauge, "a-z"},
      {{"", MetricUnit::kNone, "h"}, MetricKind::kGauge, "a-z"},
      {{"halograph_level", MetricUnit::kNone, ""}, MetricKind::kGauge, "help"},
      {{"halograph_level", MetricUnit::kNone, "a\nb"}, MetricKind::kGauge, "help"},
  };
  for (const Wrong& one : wrong) {
    MetricRegistry metrics;
    switch (one.kind) {
      case MetricKind::kCounter:
        metrics.AddCounter(one.info)->Add();
        metrics.AddFoundCounters(one.info, {"a"})->Of("x")->Add();
        break;
      case MetricKind::kGauge:
        metrics.AddGauge(one.info)->Set(1);
        metrics.AddFoundGauges(one.info, {"a"})->Of("x")->Set(1);
        break;
      case MetricKind::kHistogram:
        metrics.AddHistogram(one.info, LatencyBounds())->Observe(1);
        metrics.AddFoundHistograms(one.info, LatencyBounds(), {"a"})->Of("x")->Observe(1);
        break;
    }
    EXPECT_THAT(Message(metrics.status()), HasSubstr(one.says)) << one.info.name;
    EXPECT_THAT(Message(metrics.status()), HasSubstr(one.info.name));
    EXPECT_TRUE(metrics.Take().families.empty()) << one.info.name;
  }
}

TEST(MetricRegistryTest, WrongLabelsAndBoundsAreTold) {
  MetricRegistry metrics(Labels{{"rank", "0"}});
  metrics.AddCounter(kRows, {{"le", "1"}})->Add();
  metrics.AddCounter(kRows, {{"a b", "1"}})->Add();
  metrics.AddCounter(kRows, {{"rank", "1"}})->Add();
  metrics.AddHistogram(kTimes, {})->Observe(1);
  metrics.AddHistogram(kTimes, std::vector<double>{2, 1})->Observe(1);
  const std::string told = Message(metrics.status());
  EXPECT_THAT(told, HasSubstr("label 'le'"));
  EXPECT_THAT(told, HasSubstr("label 'a b'"));
  EXPECT_THAT(told, HasSubstr("label rank is there twice"));
  EXPECT_THAT(told, HasSubstr("0 bounds"));
  EXPECT_THAT(told, HasSubstr("bound 1"));
  EXPECT_TRUE(metrics.Take().families.empty());
}

TEST(MetricRegistryTest, ANameDeclaredOtherwiseIsToldAndTheFirstStays) {
  MetricRegistry metrics;
  metrics.AddCounter(kRows, {{"part", "0"}})->Add(3);
  (void)metrics.AddHistogram(kTimes, LatencyBounds());
  metrics.AddCounter({kRows.name, kRows.unit, "Other"}, {{"part", "0"}})->Add(100);
  metrics.AddCounter(kRows, {{"tensor", "0"}})->Add(100);
  metrics.AddGauge({kTimes.name, kTimes.unit, kTimes.help})->Set(4);
  (void)metrics.AddHistogram(kTimes, SizeBounds());
  const std::string told = Message(metrics.status());
  EXPECT_THAT(told, HasSubstr("another help"));
  EXPECT_THAT(told, HasSubstr("labels [part] and with [tensor]"));
  EXPECT_THAT(told, HasSubstr("another kind"));
  EXPECT_THAT(told, HasSubstr("another list of bounds"));
  EXPECT_EQ(metrics.Take().Value("halograph_rows_total"), 3);
  EXPECT_EQ(metrics.Take().families.size(), 2U);
  for (int i = 0; i < 100; ++i) metrics.AddGauge(kRows)->Set(1);
  EXPECT_LT(metrics.status().message().size(), 4000U);
  EXPECT_THAT(Message(metrics.status()), HasSubstr("and 88 more"));
}

TEST(FoundSeriesTest, OneHandleForTheSameValues) {
  MetricRegistry metrics;
  FoundCounters* const rows =
      metrics.AddFoundCounters(kRows, {"tensor", "source"}, {{"part", "0"}});
  rows->Of("x", std::string("cache"))->Add(2);
  EXPECT_EQ(rows->Of("x", "cache"), rows->Of(std::string_view("x"), "cache"));
  EXPECT_NE(rows->Of("x", "cache"), rows->Of("xc", "ache"));
  EXPECT_EQ(
      metrics.Take()
          .FindSeries("halograph_rows_total", {{"part", "0"}, {"source", "cache"}, {"tensor", "x"}})
          ->value,
      2);
}

TEST(FoundSeriesTest, BeyondTheBoundAllIsOther) {
  MetricRegistry metrics;
  FoundHistograms* const times =
      metrics.AddFoundHistograms(kTimes, LatencyBounds(), {"method", "status"}, {}, 2);
  times->Of("a", "OK")->Observe(1);
  times->Of("b", "OK")->Observe(1);
  times->Of("c", "OK")->Observe(1);
  times->Of("d", "OK")->Observe(1);
  times->Of("a", "OK")->Observe(1);
  times->Of("a")->Observe(1);  // too few values
  const MetricsSnapshot taken = metrics.Take();
  EXPECT_EQ(taken.Find("halograph_call_seconds")->series.size(), 3U);
  EXPECT_EQ(taken.Histogram("halograph_call_seconds", {{"method", "a"}}).count, 2);
  EXPECT_EQ(
      taken.Histogram("halograph_call_seconds", {{"method", "other"}, {"status", "other"}}).count,
      3);
}

TEST(FoundSeriesTest, TellsWhatWasMade) {
  MetricRegistry metrics;
  FoundCounters* const rows = metrics.AddFoundCounters(kRows, {"tensor"}, {}, 2);
  EXPECT_TRUE(rows->Made().empty());
  const std::set<Counter*> expected = {rows->Of("a"), rows->Of("b"), rows->Of("c"), rows->Of("a")};
  const std::vector<Counter*> made = rows->Made();
  EXPECT_EQ(std::set(made.begin(), made.end()), expected);
  EXPECT_EQ(made.size(), 3U) << "two, and the other";
}

TEST(FoundSeriesTest, ManyThreadsFindTheSameSeries) {
  MetricRegistry metrics;
  FoundCounters* const rows = metrics.AddFoundCounters(kRows, {"tensor"}, {}, 8);
  constexpr int kThreads = 4;
  std::latch together(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      together.arrive_and_wait();
      for (int i = 0; i < 100; ++i) rows->Of(std::to_string(i % 10))->Add();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const MetricsSnapshot taken = metrics.Take();
  EXPECT_EQ(taken.Value("halograph_rows_total"), kThreads * 100);
  EXPECT_EQ(taken.Value("halograph_rows_total", {{"tensor", "other"}}), kThreads * 20);
  EXPECT_EQ(taken.Find("halograph_rows_total")->series.size(), 9U);
}

TEST(MetricReaderTest, IsReadWhileItLives) {
  MetricRegistry metrics;
  double level = 1;
  MetricReader read = metrics.ReadGauge(kLevel, {{"part", "0"}}, [&level] { return level; });
  MetricReader count = metrics.ReadCounter(kRows, {}, [] { return 5.0; });
  level = 2;
  EXPECT_EQ(metrics.Take().Value("halograph_level", {{"part", "0"}}), 2);
  EXPECT_EQ(metrics.Take().Value("halograph_rows_total"), 5);
  MetricReader moved = std::move(read);
  EXPECT_EQ(metrics.Take().Value("halograph_level"), 2);
  moved = metrics.ReadGauge(kLevel, {{"part", "1"}}, [] { return 7.0; });
  EXPECT_EQ(metrics.Take().FindSeries("halograph_level", {{"part", "0"}}), nullptr);
  EXPECT_EQ(metrics.Take().Value("halograph_level"), 7);
  moved.Stop();
  count.Stop();
  EXPECT_TRUE(metrics.Take().families.empty());
}

TEST(MetricReaderTest, ManySeriesThatComeAndGo) {
  MetricRegistry metrics;
  (void)metrics.AddGauge(kLevel, {{"part", "own"}});
  std::vector<MetricSample> parts = {{{"0"}, 1}, {{"1"}, 2}};
  const MetricReader read = metrics.ReadGauges(kLevel, {"part"}, [&parts] { return parts; });
  EXPECT_EQ(metrics.Take().Value("halograph_level"), 3);
  parts = {{{"1"}, 2}, {{"1"}, 50}, {{"own"}, 60}, {{"2", "more"}, 70}, {{}, 80}};
  const MetricsSnapshot taken = metrics.Take();
  EXPECT_EQ(taken.Value("halograph_level"), 2);
  EXPECT_EQ(taken.Find("halograph_level")->series.size(), 2U);
  parts.clear();
  for (size_t i = 0; i < kMostReadSeries + 10; ++i) parts.push_back({{std::to_string(i)}, 1});
  EXPECT_EQ(metrics.Take().Value("halograph_level"), kMostReadSeries);
}

TEST(MetricReaderTest, ACountersOddValuesAreLeftOutAndAGaugesStay) {
  MetricRegistry metrics;
  const auto odd = [] {
    return std::vector<MetricSample>{{{"a"}, -1}, {{"b"}, std::nan("")}, {{"c"}, 2}};
  };
  const MetricReader rows = metrics.ReadCounters(kRows, {"part"}, odd);
  const MetricReader level = metrics.ReadGauges(kLevel, {"part"}, odd);
  EXPECT_EQ(metrics.Take().Find("halograph_rows_total")->series.size(), 1U);
  EXPECT_EQ(metrics.Take().Find("halograph_level")->series.size(), 3U);
}

TEST(MetricReaderTest, ItsEndWaitsForAReadingUnderWay) {
  MetricRegistry metrics;
  std::promise<void> reading;
  std::promise<void> go_on;
  bool done = false;
  MetricReader read = metrics.ReadGauge(kLevel, {}, [&] {
    reading.set_value();
    go_on.get_future().wait();
    done = true;
    return 1.0;
  });
  std::thread taker([&] { (void)metrics.Take(); });
  reading.get_future().wait();
  std::thread other([&] { go_on.set_value(); });
  read.Stop();
  EXPECT_TRUE(done);  // and no race, says ThreadSanitizer
  other.join();
  taker.join();
}

TEST(MetricReaderTest, ReadsWithoutTheRegistrysLockAndMayOutliveIt) {
  auto metrics = std::make_unique<MetricRegistry>();
  MetricRegistry* const same = metrics.get();
  MetricReader read = metrics->ReadGauge(kLevel, {}, [same] {
    same->AddCounter(kRows)->Add();
    return 1.0;
  });
  EXPECT_EQ(metrics->Take().Value("halograph_rows_total"), 1);
  metrics.reset();
  read.Stop();
}

TEST(MetricReaderTest, OneDeclaredWrongIsNotRead) {
  MetricRegistry metrics;
  bool called = false;
  const MetricReader read = metrics.ReadGauge({"Bad", MetricUnit::kNone, "h"}, {}, [&called] {
    called = true;
    return 1.0;
  });
  (void)metrics.Take();
  EXPECT_FALSE(called);
  EXPECT_FALSE(metrics.status().ok());
}

TEST(MetricRegistryTest, SinceATakeIsWhatCameMeanwhile) {
  MetricRegistry metrics;
  Counter* const rows = metrics.AddCounter(kRows);
  Histogram* const times = metrics.AddHistogram(kTimes, LatencyBounds());
  rows->Add(5);
  times->Observe(1);
  const MetricsSnapshot before = metrics.Take();
  rows->Add(2);
  times->Observe(0.002);
  const MetricsSnapshot now = metrics.Take();
  const MetricsSnapshot since = now.Since(before);
  EXPECT_EQ(since.Value("halograph_rows_total"), 2);
  EXPECT_EQ(since.Histogram("halograph_call_seconds").count, 1);
  EXPECT_DOUBLE_EQ(since.Histogram("halograph_call_seconds").Quantile(1), 0.002);
  EXPECT_GE(since.seconds, 0);
  EXPECT_LE(since.seconds, now.seconds);
}

}  // namespace
}  // namespace halograph
