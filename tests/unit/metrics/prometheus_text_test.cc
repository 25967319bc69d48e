#include "common/metrics/prometheus/prometheus_text.h"

#include <cmath>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/metrics/buckets.h"
#include "common/metrics/registry.h"

namespace halograph {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PrometheusTextTest, IsWhatAScraperReads) {
  MetricRegistry metrics(Labels{{"rank", "1"}});
  metrics.AddCounter({"halograph_wait_seconds_total", MetricUnit::kSeconds, "Seconds of waiting"})
      ->Add(std::chrono::milliseconds(1250));
  metrics.AddGauge({"halograph_level", MetricUnit::kNone, "Level"}, {{"part", "0"}})->Set(-0.5);
  Histogram* const sizes = metrics.AddHistogram(
      {"halograph_reply_bytes", MetricUnit::kBytes, "Sizes"}, std::vector<double>{0, 1024});
  sizes->Observe(0);
  sizes->Observe(1000);
  sizes->Observe(1024);
  sizes->Observe(5000);
  EXPECT_EQ(PrometheusText(metrics.Take()),
            "# HELP halograph_level Level\n"
            "# TYPE halograph_level gauge\n"
            "halograph_level{part=\"0\",rank=\"1\"} -0.5\n"
            "# HELP halograph_reply_bytes Sizes\n"
            "# TYPE halograph_reply_bytes histogram\n"
            "halograph_reply_bytes_count{rank=\"1\"} 4\n"
            "halograph_reply_bytes_sum{rank=\"1\"} 7024\n"
            "halograph_reply_bytes_bucket{rank=\"1\",le=\"0\"} 1\n"
            "halograph_reply_bytes_bucket{rank=\"1\",le=\"1024\"} 3\n"
            "halograph_reply_bytes_bucket{rank=\"1\",le=\"+Inf\"} 4\n"
            "# HELP halograph_wait_seconds_total Seconds of waiting\n"
            "# TYPE halograph_wait_seconds_total counter\n"
            "halograph_wait_seconds_total{rank=\"1\"} 1.25\n");
}

TEST(PrometheusTextTest, LabelValuesAreEscaped) {
  MetricRegistry metrics;
  metrics.AddGauge({"halograph_level", MetricUnit::kNone, "Level"}, {{"part", "a\"b\\c\nd"}})
      ->Set(1);
  const std::string text = PrometheusText(metrics.Take());
  EXPECT_THAT(text, HasSubstr(R"(part="a\"b\\c)"));
  EXPECT_THAT(text, Not(HasSubstr("\nd")));
}

TEST(PrometheusTextTest, BoundsAreTheShortestDecimals) {
  MetricRegistry metrics;
  Histogram* const seconds = metrics.AddHistogram(
      {"halograph_wait_seconds", MetricUnit::kSeconds, "Waits"}, LatencyBounds(), {{"part", "0"}});
  seconds->Observe(std::chrono::microseconds(700));
  const std::string text = PrometheusText(metrics.Take());
  for (const char* bound : {"0", "1e-05", "0.0006", "0.1", "0.65", "100", "+Inf"}) {
    EXPECT_THAT(text, HasSubstr(fmt::format("part=\"0\",le=\"{}\"}}", bound)));
  }
  EXPECT_THAT(text, Not(HasSubstr("9999")));
}

TEST(PrometheusTextTest, WhatLooksLikeABoundElsewhereStays) {
  MetricRegistry metrics;
  metrics.AddGauge({"halograph_a", MetricUnit::kNone, "le=\"0.10\""}, {{"role", "0.10"}})->Set(1);
  metrics.AddGauge({"halograph_b", MetricUnit::kNone, "B"}, {{"part", "{le=\"0.10\",le="}})->Set(1);
  const std::string text = PrometheusText(metrics.Take());
  EXPECT_THAT(text, HasSubstr("halograph_a{role=\"0.10\"} 1"));
  EXPECT_THAT(text, HasSubstr(R"(part="{le=\"0.10\",le="})"));
}

TEST(PrometheusTextTest, OddGaugesAreNumbersOfTheFormat) {
  MetricRegistry metrics;
  metrics.AddGauge({"halograph_a", MetricUnit::kNone, "A"})->Set(std::nan(""));
  metrics.AddGauge({"halograph_b", MetricUnit::kNone, "B"})->Set(-INFINITY);
  const std::string text = PrometheusText(metrics.Take());
  EXPECT_THAT(text, HasSubstr("halograph_a Nan\n"));
  EXPECT_THAT(text, HasSubstr("halograph_b -Inf\n"));
}

TEST(PrometheusTextTest, NothingIsAnEmptyText) { EXPECT_EQ(PrometheusText({}), ""); }

}  // namespace
}  // namespace halograph
