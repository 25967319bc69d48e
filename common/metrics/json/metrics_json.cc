#include "common/metrics/json/metrics_json.h"

#include <cmath>
#include <string>
#include <utility>

namespace halograph {
namespace {

Json Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Json SeriesJson(const SeriesSnapshot& series) {
  Json labels = Json::array();
  for (const MetricLabel& label : series.labels) {
    labels.push_back({{"name", label.name}, {"value", label.value}});
  }
  const HistogramSnapshot& histogram = series.histogram;
  return {{"labels", std::move(labels)},
          {"value", Number(series.value)},
          {"count", histogram.count},
          {"sum", Number(histogram.sum)},
          {"counts", histogram.count == 0 ? Json::array() : Json(histogram.counts)}};
}

}  // namespace

Json MetricsJson(const MetricsSnapshot& snapshot) {
  Json metrics = Json::array();
  for (const FamilySnapshot& family : snapshot.families) {
    Json series = Json::array();
    for (const SeriesSnapshot& one : family.series) series.push_back(SeriesJson(one));
    metrics.push_back({{"name", family.name},
                       {"kind", std::string(KindName(family.kind))},
                       {"unit", std::string(UnitName(family.unit))},
                       {"help", family.help},
                       {"bounds", family.series.front().histogram.bounds},
                       {"series", std::move(series)}});
  }
  return metrics;
}

}  // namespace halograph
