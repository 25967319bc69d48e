#include "common/metrics/prometheus/prometheus_text.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace halograph {
namespace {

prometheus::MetricType TypeOf(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return prometheus::MetricType::Counter;
    case MetricKind::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricKind::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

prometheus::ClientMetric::Histogram HistogramOf(const HistogramSnapshot& snapshot) {
  prometheus::ClientMetric::Histogram histogram;
  histogram.sample_count = static_cast<uint64_t>(snapshot.count);
  histogram.sample_sum = snapshot.sum;
  histogram.bucket.reserve(snapshot.counts.size());
  uint64_t cumulative = 0;
  for (size_t i = 0; i < snapshot.counts.size(); ++i) {
    cumulative += static_cast<uint64_t>(snapshot.counts[i]);
    histogram.bucket.push_back({.cumulative_count = cumulative,
                                .upper_bound = i < snapshot.bounds.size()
                                                   ? snapshot.bounds[i]
                                                   : std::numeric_limits<double>::infinity()});
  }
  return histogram;
}

prometheus::ClientMetric MetricOf(const SeriesSnapshot& series, MetricKind kind) {
  prometheus::ClientMetric metric;
  metric.label.reserve(series.labels.size());
  for (const MetricLabel& label : series.labels) metric.label.push_back({label.name, label.value});
  switch (kind) {
    case MetricKind::kCounter:
      metric.counter.value = series.value;
      break;
    case MetricKind::kGauge:
      metric.gauge.value = series.value;
      break;
    case MetricKind::kHistogram:
      metric.histogram = HistogramOf(series.histogram);
      break;
  }
  return metric;
}

}  // namespace

std::string PrometheusText(const MetricsSnapshot& snapshot) {
  std::vector<prometheus::MetricFamily> families;
  families.reserve(snapshot.families.size());
  for (const FamilySnapshot& family : snapshot.families) {
    prometheus::MetricFamily one{
        .name = family.name, .help = family.help, .type = TypeOf(family.kind), .metric = {}};
    one.metric.reserve(family.series.size());
    for (const SeriesSnapshot& series : family.series) {
      one.metric.push_back(MetricOf(series, family.kind));
    }
    families.push_back(std::move(one));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace halograph
