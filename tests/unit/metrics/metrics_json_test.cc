#include "common/metrics/json/metrics_json.h"

#include <cmath>

#include <gtest/gtest.h>

#include "common/metrics/registry.h"

namespace halograph {
namespace {

TEST(MetricsJsonTest, HasAllFieldsOfTheMessage) {
  MetricRegistry metrics(Labels{{"rank", "0"}});
  metrics.AddCounter({"halograph_wait_seconds_total", MetricUnit::kSeconds, "Waiting"})
      ->Add(std::chrono::milliseconds(1500));
  metrics.AddGauge({"halograph_level", MetricUnit::kNone, "Level"}, {{"part", "1"}})->Set(-2);
  const MetricInfo sizes = {"halograph_reply_bytes", MetricUnit::kBytes, "Sizes"};
  const std::vector<double> bounds = {0, 1024};
  metrics.AddHistogram(sizes, bounds, {{"part", "1"}})->Observe(7);
  (void)metrics.AddHistogram(sizes, bounds, {{"part", "2"}});
  const Json expected = Json::parse(R"([
    {"name": "halograph_level", "kind": "GAUGE", "unit": "", "help": "Level", "bounds": [], "series": [
      {"labels": [{"name": "part", "value": "1"}, {"name": "rank", "value": "0"}],
       "value": -2.0, "count": 0, "sum": 0.0, "counts": []}]},
    {"name": "halograph_reply_bytes", "kind": "HISTOGRAM", "unit": "bytes", "help": "Sizes", "bounds": [0.0, 1024.0],
     "series": [
      {"labels": [{"name": "part", "value": "1"}, {"name": "rank", "value": "0"}],
       "value": 0.0, "count": 1, "sum": 7.0, "counts": [0, 1, 0]},
      {"labels": [{"name": "part", "value": "2"}, {"name": "rank", "value": "0"}],
       "value": 0.0, "count": 0, "sum": 0.0, "counts": []}]},
    {"name": "halograph_wait_seconds_total", "kind": "COUNTER", "unit": "seconds", "help": "Waiting", "bounds": [],
     "series": [{"labels": [{"name": "rank", "value": "0"}], "value": 1.5, "count": 0, "sum": 0.0, "counts": []}]}
  ])");
  EXPECT_EQ(MetricsJson(metrics.Take()), expected) << MetricsJson(metrics.Take()).dump(1);
  EXPECT_EQ(MetricsJson({}), Json::array());
}

TEST(MetricsJsonTest, WhatIsNoNumberIsText) {
  MetricRegistry metrics;
  Gauge* const level = metrics.AddGauge({"halograph_level", MetricUnit::kNone, "Level"});
  level->Set(std::nan(""));
  EXPECT_EQ(MetricsJson(metrics.Take())[0]["series"][0]["value"], "NaN");
  level->Set(-INFINITY);
  EXPECT_EQ(MetricsJson(metrics.Take())[0]["series"][0]["value"], "-Infinity");
  level->Set(INFINITY);
  EXPECT_EQ(MetricsJson(metrics.Take())[0]["series"][0]["value"], "Infinity");
}

}  // namespace
}  // namespace halograph
