#include "common/tls/tls_metrics.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace halograph {
namespace {

constexpr double kSecondsOfDay = 86400;

Json DaysLeft(const std::optional<double>& end, double now) {
  if (!end) return nullptr;
  return std::floor((*end - now) / kSecondsOfDay * 100) / 100;
}
Json TimeOf(const std::optional<double>& end) {
  if (!end) return nullptr;
  return UtcText(*end);
}

}  // namespace

std::vector<MetricReader> AddTlsMetrics(MetricRegistry* metrics,
                                        const std::shared_ptr<const TlsFiles>& files) {
  // Of one series, or of none.
  using Read = std::optional<double> (*)(const TlsFigures& figures);
  const auto samples = [&files](Read read) {
    return [files, read]() -> std::vector<MetricSample> {
      const std::optional<double> value = files == nullptr ? std::nullopt : read(files->Figures());
      if (!value) return {};
      return {{.label_values = {}, .value = *value}};
    };
  };
  std::vector<MetricReader> readers;
  readers.push_back(
      metrics->ReadGauges({"halograph_tls_certificate_end_time_seconds", MetricUnit::kSeconds,
                           "When the own certificate, or one of its chain, expires, since 1970."},
                          {}, samples([](const TlsFigures& figures) { return figures.expires; })));
  readers.push_back(metrics->ReadGauges(
      {"halograph_tls_crl_end_time_seconds", MetricUnit::kSeconds,
       "When a revocation list expires, after which everybody is refused, since 1970."},
      {}, samples([](const TlsFigures& figures) { return figures.crl_expires; })));
  readers.push_back(metrics->ReadGauges(
      {"halograph_tls_files_bad", MetricUnit::kNone,
       "1 while the files of TLS do not pass the check, so that those before hold on; else 0."},
      {}, samples([](const TlsFigures& figures) {
        return std::optional<double>(figures.error.empty() ? 0 : 1);
      })));
  readers.push_back(metrics->ReadCounters({"halograph_tls_bad_looks_total", MetricUnit::kNone,
                                           "Looks at the files of TLS that did not pass."},
                                          {}, samples([](const TlsFigures& figures) {
                                            return std::optional<double>(
                                                static_cast<double>(figures.bad_looks));
                                          })));
  readers.push_back(metrics->ReadCounters({"halograph_tls_changes_total", MetricUnit::kNone,
                                           "Sets of files of TLS that took another's place."},
                                          {}, samples([](const TlsFigures& figures) {
                                            return std::optional<double>(
                                                static_cast<double>(figures.generation - 1));
                                          })));
  return readers;
}

Json TlsStatusJson(const TlsFiles* files) {
  if (files == nullptr) return nullptr;
  const TlsFigures figures = files->Figures();
  const double now = files->Now();
  return {{"subject", figures.subject},
          {"certificate_expires", TimeOf(figures.expires)},
          {"certificate_days_left", DaysLeft(figures.expires, now)},
          {"crl_expires", TimeOf(figures.crl_expires)},
          {"crl_days_left", DaysLeft(figures.crl_expires, now)},
          {"changes", figures.generation - 1},
          {"bad_looks", figures.bad_looks},
          {"error", figures.error}};
}

}  // namespace halograph
