#include "common/metrics/snapshot.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/metrics/buckets.h"

namespace halograph {
namespace {

bool HasAll(const Labels& labels, const Labels& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const MetricLabel& label) {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  });
}

double CounterSince(double now, double earlier) { return now < earlier ? now : now - earlier; }

}  // namespace

std::optional<double> QuantileOf(std::span<const double> bounds, std::span<const int64_t> counts,
                                 double q) {
  if (bounds.empty() || counts.size() != bounds.size() + 1) return {};
  const auto in = [&](size_t bucket) {
    return static_cast<double>(std::max<int64_t>(counts[bucket], 0));
  };
  double all = 0;
  for (size_t i = 0; i < counts.size(); ++i) all += in(i);
  if (all == 0) return {};
  const double rank = std::clamp(q, 0.0, 1.0) * all;
  double below = 0;
  size_t bucket = 0;
  while (bucket < bounds.size() && below + in(bucket) < rank) below += in(bucket++);
  if (bucket == bounds.size()) return bounds.back();
  const double upper = bounds[bucket];
  if (bucket == 0 && upper <= 0) return upper;
  const double lower = bucket == 0 ? 0 : bounds[bucket - 1];
  if (in(bucket) == 0) return lower;  // q is 0
  return lower + (upper - lower) * (rank - below) / in(bucket);
}

double HistogramSnapshot::Quantile(double q) const {
  return QuantileOf(bounds, counts, q).value_or(0);
}

HistogramSnapshot HistogramSnapshot::Since(const HistogramSnapshot& earlier) const {
  if (bounds != earlier.bounds) return *this;
  HistogramSnapshot since = *this;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < earlier.counts[i]) return *this;
    since.counts[i] -= earlier.counts[i];
  }
  since.count -= earlier.count;
  since.sum -= earlier.sum;
  return since;
}

void HistogramSnapshot::Merge(const HistogramSnapshot& other) {
  if (counts.empty()) {
    *this = other;
    return;
  }
  if (bounds != other.bounds) return;
  for (size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  count += other.count;
  sum += other.sum;
}

const FamilySnapshot* MetricsSnapshot::Find(std::string_view name) const {
  const auto found = std::lower_bound(
      families.begin(), families.end(), name,
      [](const FamilySnapshot& family, std::string_view n) { return family.name < n; });
  return found == families.end() || found->name != name ? nullptr : &*found;
}

const SeriesSnapshot* MetricsSnapshot::FindSeries(std::string_view name, Labels labels) const {
  std::sort(labels.begin(), labels.end());
  const FamilySnapshot* const family = Find(name);
  if (family == nullptr) return nullptr;
  for (const SeriesSnapshot& series : family->series) {
    if (series.labels == labels) return &series;
  }
  return nullptr;
}

double MetricsSnapshot::Value(std::string_view name, const Labels& labels) const {
  double sum = 0;
  if (const FamilySnapshot* const family = Find(name)) {
    for (const SeriesSnapshot& series : family->series) {
      if (HasAll(series.labels, labels)) sum += series.value;
    }
  }
  return sum;
}

HistogramSnapshot MetricsSnapshot::Histogram(std::string_view name, const Labels& labels) const {
  HistogramSnapshot sum;
  if (const FamilySnapshot* const family = Find(name)) {
    for (const SeriesSnapshot& series : family->series) {
      if (HasAll(series.labels, labels)) sum.Merge(series.histogram);
    }
  }
  return sum;
}

MetricsSnapshot MetricsSnapshot::Since(const MetricsSnapshot& earlier) const {
  MetricsSnapshot since = *this;
  since.seconds = std::chrono::duration<double>(taken - earlier.taken).count();
  for (FamilySnapshot& family : since.families) {
    const FamilySnapshot* const before = earlier.Find(family.name);
    if (family.kind == MetricKind::kGauge || before == nullptr || before->kind != family.kind)
      continue;
    std::map<Labels, const SeriesSnapshot*> by_labels;
    for (const SeriesSnapshot& series : before->series) by_labels.emplace(series.labels, &series);
    for (SeriesSnapshot& series : family.series) {
      const auto found = by_labels.find(series.labels);
      if (found == by_labels.end()) continue;
      series.value = CounterSince(series.value, found->second->value);
      series.histogram = series.histogram.Since(found->second->histogram);
    }
  }
  return since;
}

}  // namespace halograph
