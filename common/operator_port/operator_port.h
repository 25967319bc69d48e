// The HTTP port that a program shows its operators (--http-listen): /metrics, /livez, /readyz,
// /status and the page /ui. docs/operating.md says who may read what.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/http/http_message.h"
#include "common/http/http_options.h"
#include "common/http/http_server.h"
#include "common/metrics/registry.h"
#include "common/ui/ui_data.h"

namespace halograph {

// All outlive the port; the functions are called from its threads.
struct OperatorFigures {
  const MetricRegistry* metrics = nullptr;
  std::function<std::string()> why_not_ready;  // empty: it is ready; never waits
  // Of /status, as JSON, and the names in its query that it tells apart (operator_pages.h).
  std::function<StatusOr<std::string>(const HttpRequest& request)> status;
  std::vector<std::string> status_flags = {};
  std::function<ui::UiData()> page;  // what /ui shows
};

// Null if options.listen is empty. Errors as HttpServer::Start.
[[nodiscard]] StatusOr<std::unique_ptr<HttpServer>> ServeOperators(const HttpOptions& options,
                                                                   OperatorFigures figures);

}  // namespace halograph
