// A server's HTTP port (--http-listen): /metrics, /livez, /readyz, /status and the page /ui, from
// before the graph is open until the server ends. docs/operating.md says who may read what.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/http/http_options.h"
#include "common/http/http_server.h"
#include "common/metrics/registry.h"
#include "common/storage/json.h"

namespace halograph::server {

// All outlive the port; the functions are called from its threads.
struct OperatorSources {
  const MetricRegistry* metrics = nullptr;
  std::function<std::string()> why_not_ready;  // empty: it is ready
  std::function<Json()> status;                // a StatsReply; before the graph is open, its phase
};

// Null if options.listen is empty. Errors as HttpServer::Start.
[[nodiscard]] StatusOr<std::unique_ptr<HttpServer>> StartOperatorPort(const HttpOptions& options,
                                                                      OperatorSources sources);

}  // namespace halograph::server
