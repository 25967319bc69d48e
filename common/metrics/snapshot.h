// What a registry's metrics were at one time: values that exporters print and that others look up.
// Each value is right; two values may be of slightly different moments, as others count meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/metrics/metric_info.h"

namespace halograph {

// The value below which a share `q` in [0, 1] of all lies, as Prometheus' histogram_quantile has
// it: evenly spread within its bucket, the last bound for what is above all bounds. `counts`: of
// each bucket alone, one more than `bounds`; below 0 counts as 0. Nothing if there is none, or the
// two do not fit.
[[nodiscard]] std::optional<double> QuantileOf(std::span<const double> bounds,
                                               std::span<const int64_t> counts, double q);

struct HistogramSnapshot {
  std::vector<double> bounds;   // upper bounds that are within their buckets, ascending
  std::vector<int64_t> counts;  // a bucket each, and a last one for what is above all bounds
  int64_t count = 0;            // of all buckets
  double sum = 0;

  // QuantileOf; 0 if there is none.
  [[nodiscard]] double Quantile(double q) const;
  [[nodiscard]] double Mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
  // What came since an earlier one of the same series. If that one has other bounds or more in a
  // bucket, the series began anew meanwhile: all of this one.
  [[nodiscard]] HistogramSnapshot Since(const HistogramSnapshot& earlier) const;
  // Adds the values of another with the same bounds; takes its bounds if this one has none.
  // Leaves out one with other bounds.
  void Merge(const HistogramSnapshot& other);
};

struct SeriesSnapshot {
  Labels labels;                // by name
  double value = 0;             // of a counter or a gauge
  HistogramSnapshot histogram;  // of a histogram
};

struct FamilySnapshot {
  std::string name;
  MetricKind kind = MetricKind::kCounter;
  MetricUnit unit = MetricUnit::kNone;
  std::string help;
  std::vector<SeriesSnapshot> series;  // at least one; no two with the same labels
};

struct MetricsSnapshot {
  std::vector<FamilySnapshot> families;  // by name
  std::chrono::steady_clock::time_point taken;
  double seconds = 0;  // in which counters and histograms counted: since the registry was made

  // Null if there is none of that name.
  [[nodiscard]] const FamilySnapshot* Find(std::string_view name) const;
  // The series with just these labels, in any order; null if there is none.
  [[nodiscard]] const SeriesSnapshot* FindSeries(std::string_view name, Labels labels) const;
  // The sum over all series of a counter or gauge that have these labels, whatever others they
  // have. 0 if there is none.
  [[nodiscard]] double Value(std::string_view name, const Labels& labels = {}) const;
  // The same of a histogram.
  [[nodiscard]] HistogramSnapshot Histogram(std::string_view name, const Labels& labels = {}) const;

  // Counters and histograms since an earlier snapshot of the same registry, gauges as now;
  // `seconds` is the time between the two. A series that the earlier one lacks, or that has begun
  // anew since, is as now.
  [[nodiscard]] MetricsSnapshot Since(const MetricsSnapshot& earlier) const;
};

}  // namespace halograph
