// The pages that a program shows its operators: what probes, scrapers and people ask for.
//
//   /metrics         open     for Prometheus
//   /livez, /readyz  open     for probes: 200 "ok", or of /readyz 503 and why not
//   /status          guarded  JSON
//   /ui, ...         guarded  the page and its assets, compiled into the program
//   /                open     leads to /ui; without one: the list of pages
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/http/http_message.h"

namespace halograph {

// A file of the page. The views live as long as the program.
struct HttpAsset {
  std::string_view path;  // "/ui/app.js"
  std::string_view content_type;
  std::string_view text;
};

// All functions are called from threads of the server, from the start on until it has ended.
struct OperatorPages {
  std::function<std::string()> metrics;  // in Prometheus's text format; may take its time
  // Why the program is not ready; empty: it is. Never waits: probes of all kinds wait for it.
  std::function<std::string()> why_not_ready;
  // JSON; may take its time. An error becomes status 500 with {"error": its message}.
  std::function<StatusOr<std::string>(const HttpRequest&)> status;
  // Names in the query by which `status` tells requests apart (HttpRoute::query_flags).
  std::vector<std::string> status_flags;
  std::function<std::string()> page;  // HTML, at /ui; may take its time
  std::vector<HttpAsset> assets;      // of the page; or one at /ui is the page
};

// Empty functions have no page; without why_not_ready the program is always ready.
[[nodiscard]] std::vector<HttpRoute> OperatorRoutes(OperatorPages pages);

}  // namespace halograph
