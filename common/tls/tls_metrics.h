// What a program shows of its certificates: when they end, and whether what is in the files passes.
#pragma once

#include <memory>
#include <vector>

#include "common/metrics/reader.h"
#include "common/metrics/registry.h"
#include "common/storage/json.h"
#include "common/tls/tls_files.h"

namespace halograph {

// They are read at each Take. Null: families without series, so that a page has the same ones.
[[nodiscard]] std::vector<MetricReader> AddTlsMetrics(MetricRegistry* metrics,
                                                      const std::shared_ptr<const TlsFiles>& files);

// The same for /status, with days that are left, the certificate's subject, and the last error.
// Null: null.
[[nodiscard]] Json TlsStatusJson(const TlsFiles* files);

}  // namespace halograph
