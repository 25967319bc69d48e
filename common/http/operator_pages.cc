#include "common/http/operator_pages.h"

#include <algorithm>
#include <utility>

#include "common/base/log.h"
#include "common/storage/json.h"

namespace halograph {
namespace {

constexpr const char* kPrometheusText = "text/plain; version=0.0.4; charset=utf-8";

HttpReply ReplyOf(const char* content_type, std::string text) {
  HttpReply reply;
  reply.content_type = content_type;
  reply.text = std::move(text);
  return reply;
}

HttpReply StatusReply(StatusOr<std::string> status) {
  if (status.ok()) return ReplyOf(kJsonText, *std::move(status));
  spdlog::warn("HTTP page /status: {}", Message(status.status()));
  HttpReply reply = ReplyOf(kJsonText, PrintableJson({{"error", Message(status.status())}}));
  reply.status = 500;
  return reply;
}

HttpRoute AssetRoute(const HttpAsset& asset) {
  return {.path = std::string(asset.path),
          .access = HttpAccess::kGuarded,
          .work = HttpWork::kAtOnce,
          .handler = [asset](const HttpRequest&) {
            HttpReply reply;
            reply.content_type = asset.content_type;
            reply.static_text = asset.text;
            return reply;
          }};
}

HttpRoute Probe(std::string path, std::function<std::string()> why_not) {
  return {.path = std::move(path),
          .access = HttpAccess::kOpen,
          .work = HttpWork::kAtOnce,
          .handler = [why_not = std::move(why_not)](const HttpRequest&) {
            std::string reason = why_not == nullptr ? "" : why_not();
            return reason.empty() ? HttpText(200, "ok") : HttpText(503, std::move(reason));
          }};
}

// What / shows: the page, or where others are.
HttpRoute Entrance(const std::vector<HttpRoute>& routes) {
  HttpReply reply;
  for (const HttpRoute& route : routes) reply.text += route.path + "\n";
  const bool has_page = std::any_of(routes.begin(), routes.end(),
                                    [](const HttpRoute& route) { return route.path == "/ui"; });
  if (has_page) {
    reply.status = 302;
    reply.headers = {{"Location", "/ui"}};
  }
  return {.path = "/",
          .access = HttpAccess::kOpen,
          .work = HttpWork::kAtOnce,
          .handler = [reply](const HttpRequest&) { return reply; }};
}

}  // namespace

std::vector<HttpRoute> OperatorRoutes(OperatorPages pages) {
  std::vector<HttpRoute> routes;
  if (pages.metrics != nullptr) {
    routes.push_back({.path = "/metrics",
                      .access = HttpAccess::kOpen,
                      .handler = [metrics = std::move(pages.metrics)](const HttpRequest&) {
                        return ReplyOf(kPrometheusText, metrics());
                      }});
  }
  routes.push_back(Probe("/livez", nullptr));
  routes.push_back(Probe("/readyz", std::move(pages.why_not_ready)));
  if (pages.status != nullptr) {
    routes.push_back({.path = "/status",
                      .access = HttpAccess::kGuarded,
                      .query_flags = std::move(pages.status_flags),
                      .handler = [status = std::move(pages.status)](const HttpRequest& request) {
                        return StatusReply(status(request));
                      }});
  }
  if (pages.page != nullptr) {
    routes.push_back({.path = "/ui",
                      .access = HttpAccess::kGuarded,
                      .handler = [page = std::move(pages.page)](const HttpRequest&) {
                        return ReplyOf("text/html; charset=utf-8", page());
                      }});
  }
  for (const HttpAsset& asset : pages.assets) routes.push_back(AssetRoute(asset));
  routes.push_back(Entrance(routes));
  return routes;
}

}  // namespace halograph
