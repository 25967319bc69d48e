// Metrics of another program as they were read, once or twice: values without a registry. Pure
// functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/storage/json.h"

namespace halograph::ctl {

using LabelValues = std::map<std::string, std::string>;

struct SeriesValues {
  LabelValues labels = {};
  double value = 0;   // of a counter or gauge
  int64_t count = 0;  // of a histogram, as the fields below
  double sum = 0;
  std::vector<int64_t> counts = {};  // of each bucket alone, one more than `bounds`; or none
};

struct MetricFamilyValues {
  std::vector<double> bounds;  // of a histogram, ascending
  std::vector<SeriesValues> series;
};

using MetricValues = std::map<std::string, MetricFamilyValues>;  // by name

// Of `metrics` in the JSON that /status prints; whole numbers may be text. DataLoss naming `where`
// and what is wrong. A bucket's counts that do not fit the bounds are left out.
[[nodiscard]] StatusOr<MetricValues> ReadMetricValues(const Json& metrics, std::string_view where);

// Part of a histogram: what came in a while.
struct HistogramValues {
  int64_t count = 0;
  double sum = 0;
  std::vector<double> bounds = {};
  std::vector<int64_t> counts = {};  // or none: then there are no quantiles

  [[nodiscard]] double Mean() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
  // Of all servers' and trainers' (common/metrics/snapshot.h). Nothing without buckets or calls.
  [[nodiscard]] std::optional<double> Quantile(double quantile) const;
  HistogramValues& operator+=(const HistogramValues& other);
};

// What changed between two readings of one process. Series that came since count from 0. Whatever
// is asked for and is in neither reading is nothing, and noted as missing: nobody takes it for 0.
class MetricChange {
 public:
  MetricChange() = default;
  MetricChange(MetricValues before, MetricValues after)
      : before_(std::move(before)), after_(std::move(after)) {}

  // The sum over the series that have all the labels of `match`; never below 0.
  [[nodiscard]] std::optional<double> Counter(std::string_view name,
                                              const LabelValues& match = {}) const;
  // The sum as it is now.
  [[nodiscard]] std::optional<double> Gauge(std::string_view name,
                                            const LabelValues& match = {}) const;
  [[nodiscard]] std::optional<HistogramValues> Histogram(std::string_view name,
                                                         const LabelValues& match = {}) const;
  // The values that a label has. Notes nothing.
  [[nodiscard]] std::set<std::string> ValuesOf(std::string_view name,
                                               const std::string& label) const;
  [[nodiscard]] bool has(std::string_view name) const { return after_.contains(std::string(name)); }
  // Names that were asked for in vain.
  [[nodiscard]] const std::set<std::string>& missing() const { return missing_; }

 private:
  [[nodiscard]] const MetricFamilyValues* Find(std::string_view name) const;

  MetricValues before_;
  MetricValues after_;
  mutable std::set<std::string> missing_;
};

}  // namespace halograph::ctl
