// A snapshot in Prometheus' text format, as a scraper asks for it. A pure function.
#pragma once

#include <string>
#include <string_view>

#include "common/metrics/snapshot.h"

namespace halograph {

inline constexpr std::string_view kPrometheusContentType =
    "text/plain; version=0.0.4; charset=utf-8";

[[nodiscard]] std::string PrometheusText(const MetricsSnapshot& snapshot);

}  // namespace halograph
