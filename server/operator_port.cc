#include "server/operator_port.h"

#include <utility>

#include "common/http/operator_pages.h"
#include "common/metrics/prometheus/prometheus_text.h"
#include "common/ui/assets.h"
#include "common/ui/render.h"
#include "common/ui/status_reader.h"

namespace halograph::server {
namespace {

constexpr char kAlone[] =
    "these are the figures of this server alone; halograph-ctl status --servers with the addresses "
    "of all shows them together";

// As /status?cluster has the servers of a graph.
Json Cluster(Json status) {
  const Json self = {{"address", status.value("address", "")},
                     {"self", true},
                     {"error", ""},
                     {"stats", std::move(status)}};
  return {{"asked_seconds_ago", 0.0}, {"why_alone", kAlone}, {"servers", Json::array({self})}};
}

}  // namespace

StatusOr<std::unique_ptr<HttpServer>> StartOperatorPort(const HttpOptions& options,
                                                        OperatorSources sources) {
  OperatorPages pages;
  pages.metrics = [metrics = sources.metrics] { return PrometheusText(metrics->Take()); };
  pages.why_not_ready = std::move(sources.why_not_ready);
  pages.status = [status = sources.status](const HttpRequest& request) {
    return PrintableJson(request.Has("cluster") ? Cluster(status()) : status());
  };
  for (const ui::Asset& asset : ui::Assets()) {
    pages.assets.push_back({asset.path, asset.content_type, asset.bytes});
  }
  pages.page = [status = std::move(sources.status)] {
    return ui::RenderPage(ui::ReadUiData(Cluster(status())));
  };
  return HttpServer::Start(options, OperatorRoutes(std::move(pages)));
}

}  // namespace halograph::server
