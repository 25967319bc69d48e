#include "client/ctl/why/metric_values.h"

#include <algorithm>
#include <utility>

#include "common/metrics/snapshot.h"
#include "common/storage/lenient_json.h"

namespace halograph::ctl {
namespace {

// What a program may say: more is no metric page.
constexpr size_t kMostSeries = 200000;
constexpr size_t kMostBuckets = 1024;

int64_t CountOf(double number) { return std::max<int64_t>(0, ToWhole(number)); }

std::vector<double> NumbersOf(const Json& object, const char* key) {
  std::vector<double> numbers;
  const Json& items = ItemsOf(object, key);
  if (items.size() > kMostBuckets) return numbers;
  for (const Json& one : items) numbers.push_back(ToDouble(one));
  return numbers;
}

SeriesValues ToSeries(const Json& object, size_t buckets) {
  SeriesValues series{.value = DoubleOf(object, "value"),
                      .count = CountOf(DoubleOf(object, "count")),
                      .sum = DoubleOf(object, "sum")};
  for (const Json& label : ItemsOf(object, "labels")) {
    if (label.is_object()) series.labels[TextOf(label, "name")] = TextOf(label, "value");
  }
  for (const double count : NumbersOf(object, "counts")) series.counts.push_back(CountOf(count));
  if (series.counts.size() != buckets) series.counts.clear();
  return series;
}

bool Matches(const SeriesValues& series, const LabelValues& match) {
  return std::all_of(match.begin(), match.end(), [&](const auto& label) {
    const auto found = series.labels.find(label.first);
    return found != series.labels.end() && found->second == label.second;
  });
}

const SeriesValues* SeriesOf(const MetricFamilyValues* family, const LabelValues& labels) {
  if (family == nullptr) return nullptr;
  const auto found =
      std::find_if(family->series.begin(), family->series.end(),
                   [&](const SeriesValues& series) { return series.labels == labels; });
  return found == family->series.end() ? nullptr : &*found;
}

const MetricFamilyValues* FamilyOf(const MetricValues& values, std::string_view name) {
  const auto found = values.find(std::string(name));
  return found == values.end() ? nullptr : &found->second;
}

}  // namespace

StatusOr<MetricValues> ReadMetricValues(const Json& metrics, std::string_view where) {
  if (!metrics.is_array()) return DataLoss("{}: 'metrics' is no list", where);
  MetricValues values;
  size_t all_series = 0;
  for (const Json& metric : metrics) {
    if (TextOf(metric, "name").empty()) {
      return DataLoss("{}: 'metrics' has an entry without a name", where);
    }
    MetricFamilyValues& family = values[TextOf(metric, "name")];
    family.bounds = NumbersOf(metric, "bounds");
    for (const Json& one : ItemsOf(metric, "series")) {
      if (!one.is_object()) continue;
      if (++all_series > kMostSeries) {
        return DataLoss("{}: more than {} series", where, kMostSeries);
      }
      family.series.push_back(ToSeries(one, family.bounds.size() + 1));
    }
  }
  return values;
}

std::optional<double> HistogramValues::Quantile(double quantile) const {
  return QuantileOf(bounds, counts, quantile);
}

HistogramValues& HistogramValues::operator+=(const HistogramValues& other) {
  if (count == 0 && counts.empty()) {
    bounds = other.bounds;
    counts = other.counts;
  } else if (other.count > 0) {
    if (bounds == other.bounds && counts.size() == other.counts.size()) {
      for (size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
    } else {
      counts.clear();
    }
  }
  count += other.count;
  sum += other.sum;
  return *this;
}

const MetricFamilyValues* MetricChange::Find(std::string_view name) const {
  const MetricFamilyValues* const family = FamilyOf(after_, name);
  if (family == nullptr) missing_.insert(std::string(name));
  return family;
}

std::optional<double> MetricChange::Counter(std::string_view name, const LabelValues& match) const {
  const MetricFamilyValues* const family = Find(name);
  if (family == nullptr) return {};
  const MetricFamilyValues* const earlier = FamilyOf(before_, name);
  double sum = 0;
  for (const SeriesValues& series : family->series) {
    if (!Matches(series, match)) continue;
    const SeriesValues* const before = SeriesOf(earlier, series.labels);
    sum += std::max(0.0, series.value - (before == nullptr ? 0 : before->value));
  }
  return sum;
}

std::optional<double> MetricChange::Gauge(std::string_view name, const LabelValues& match) const {
  const MetricFamilyValues* const family = Find(name);
  if (family == nullptr) return {};
  double sum = 0;
  for (const SeriesValues& series : family->series)
    sum += Matches(series, match) ? series.value : 0;
  return sum;
}

std::optional<HistogramValues> MetricChange::Histogram(std::string_view name,
                                                       const LabelValues& match) const {
  const MetricFamilyValues* const family = Find(name);
  if (family == nullptr) return {};
  const MetricFamilyValues* const earlier = FamilyOf(before_, name);
  HistogramValues sum{.bounds = family->bounds};
  for (const SeriesValues& series : family->series) {
    if (!Matches(series, match)) continue;
    HistogramValues one{.count = series.count,
                        .sum = series.sum,
                        .bounds = family->bounds,
                        .counts = series.counts};
    if (const SeriesValues* const before = SeriesOf(earlier, series.labels)) {
      one.count = std::max<int64_t>(0, one.count - before->count);
      one.sum = std::max(0.0, one.sum - before->sum);
      for (size_t i = 0; i < std::min(one.counts.size(), before->counts.size()); ++i) {
        one.counts[i] = std::max<int64_t>(0, one.counts[i] - before->counts[i]);
      }
    }
    if (one.count > 0) sum += one;
  }
  return sum;
}

std::set<std::string> MetricChange::ValuesOf(std::string_view name,
                                             const std::string& label) const {
  std::set<std::string> values;
  if (const MetricFamilyValues* const family = FamilyOf(after_, name)) {
    for (const SeriesValues& series : family->series) {
      if (const auto found = series.labels.find(label); found != series.labels.end()) {
        values.insert(found->second);
      }
    }
  }
  return values;
}

}  // namespace halograph::ctl
