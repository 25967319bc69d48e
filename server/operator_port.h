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
#include "server/peers/cluster.h"

namespace halograph::server {

// All outlive the port; the functions are called from its threads.
struct OperatorSources {
  const MetricRegistry* metrics = nullptr;
  std::function<std::string()> why_not_ready;  // empty: it is ready
  // A StatsReply; before the graph is open, its phase.
  std::function<StatusOr<Json>()> status;
  std::string address;     // of the server, while its status does not say it; may be empty
  Peers* peers = nullptr;  // the other servers; null: there is no --peers
  ReadStats read_stats;    // what they answer
};

// Null if options.listen is empty. Errors as HttpServer::Start.
[[nodiscard]] StatusOr<std::unique_ptr<HttpServer>> StartOperatorPort(const HttpOptions& options,
                                                                      OperatorSources sources);

}  // namespace halograph::server
