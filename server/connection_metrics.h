// What a server tells of its connections, as metrics.
#pragma once

#include <vector>

#include "common/metrics/registry.h"
#include "server/listener/connection_table.h"

namespace halograph::server {

// `table` outlives the readers.
[[nodiscard]] std::vector<MetricReader> AddConnectionMetrics(MetricRegistry* metrics,
                                                             const ConnectionTable* table);

}  // namespace halograph::server
