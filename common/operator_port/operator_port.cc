#include "common/operator_port/operator_port.h"

#include <utility>

#include "common/http/operator_pages.h"
#include "common/metrics/prometheus/prometheus_text.h"
#include "common/ui/assets.h"
#include "common/ui/render.h"
#include "common/ui/status_reader.h"

namespace halograph {

StatusOr<std::unique_ptr<HttpServer>> StartOperatorPort(const HttpOptions& options,
                                                        OperatorSources sources) {
  OperatorPages pages;
  pages.metrics = [metrics = sources.metrics] { return PrometheusText(metrics->Take()); };
  pages.why_not_ready = std::move(sources.why_not_ready);
  pages.status = [status = std::move(sources.status)](const HttpRequest& request) {
    return PrintableJson(status(request));
  };
  for (const ui::Asset& asset : ui::Assets()) {
    pages.assets.push_back({asset.path, asset.content_type, asset.bytes});
  }
  pages.page = [page = std::move(sources.page)] { return ui::RenderPage(ui::ReadUiData(page())); };
  return HttpServer::Start(options, OperatorRoutes(std::move(pages)));
}

}  // namespace halograph
