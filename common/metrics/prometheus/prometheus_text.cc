#include "common/metrics/prometheus/prometheus_text.h"

#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
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

// The serializer writes bounds of buckets in 17 digits: 0.0006 as 0.00059999999999999995. They are
// names of series, which people write in queries: the shortest decimal of the same number. Within
// a label's value a quote has a backslash before it, so that nothing else looks like a bound.
std::string WithShortBounds(const std::string& text) {
  constexpr std::string_view kBound = "le=\"";
  std::string out;
  out.reserve(text.size());
  size_t copied = 0;
  for (size_t at = text.find(kBound); at != std::string::npos; at = text.find(kBound, at + 1)) {
    const size_t begin = at + kBound.size();
    const size_t end = text.find('"', begin);
    if (end == std::string::npos) break;
    if (at == 0 || (text[at - 1] != '{' && text[at - 1] != ',')) continue;  // role="
    double bound = 0;
    const auto [last, error] = std::from_chars(text.data() + begin, text.data() + end, bound);
    if (error != std::errc() || last != text.data() + end) continue;  // +Inf
    out.append(text, copied, begin - copied);
    fmt::format_to(std::back_inserter(out), "{}", bound);
    copied = end;
  }
  return out.append(text, copied);
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
  return WithShortBounds(prometheus::TextSerializer().Serialize(families));
}

}  // namespace halograph
