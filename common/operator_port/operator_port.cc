#include "common/operator_port/operator_port.h"

#include <utility>

#include "common/http/operator_pages.h"
#include "common/metrics/prometheus/prometheus_text.h"
#include "common/ui/assets.h"
#include "common/ui/render.h"

namespace halograph {

StatusOr<std::unique_ptr<HttpServer>> ServeOperators(const HttpOptions& options,
                                                     OperatorFigures figures) {
  OperatorPages pages;
  pages.metrics = [metrics = figures.metrics] { return PrometheusText(metrics->Take()); };
  pages.why_not_ready = std::move(figures.why_not_ready);
  pages.status = std::move(figures.status);
  pages.status_flags = std::move(figures.status_flags);
  for (const ui::Asset& asset : ui::Assets()) {
    pages.assets.push_back({asset.path, asset.content_type, asset.bytes});
  }
  pages.page = [page = std::move(figures.page)] { return ui::RenderPage(page()); };
  return HttpServer::Start(options, OperatorRoutes(std::move(pages)));
}

}  // namespace halograph
