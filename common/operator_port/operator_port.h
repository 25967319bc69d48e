// The HTTP port that a program shows its operators (--http-listen): /metrics, /livez, /readyz,
// /status and the page /ui. docs/operating.md says who may read what.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/http/http_message.h"
#include "common/http/http_options.h"
#include "common/http/http_server.h"
#include "common/metrics/registry.h"
#include "common/storage/json.h"

namespace halograph {

// All outlive the port; the functions are called from its threads.
struct OperatorSources {
  const MetricRegistry* metrics = nullptr;
  std::function<std::string()> why_not_ready;              // empty: it is ready; never waits
  std::function<Json(const HttpRequest& request)> status;  // of /status
  std::function<Json()> page;  // what /ui shows, as common/ui/status_reader.h reads it
};

// Null if options.listen is empty. Errors as HttpServer::Start.
[[nodiscard]] StatusOr<std::unique_ptr<HttpServer>> StartOperatorPort(const HttpOptions& options,
                                                                      OperatorSources sources);

}  // namespace halograph
