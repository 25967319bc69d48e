#include "server/operator_port.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "common/operator_port/operator_port.h"
#include "common/ui/status_reader.h"

namespace halograph::server {
namespace {

constexpr char kAlone[] =
    "these are the figures of this server alone: start it with --peers and the addresses of all "
    "servers to see them together";

// The JSON of other servers beyond this many bytes is left out of /status?cluster.
constexpr size_t kMostClusterText = size_t{32} << 20;

// Shows the servers together.
class ClusterPages {
 public:
  explicit ClusterPages(const OperatorSources& sources)
      : status_(sources.status),
        address_(sources.address),
        peers_(sources.peers),
        read_stats_(sources.read_stats) {}

  [[nodiscard]] std::string Text() const {
    std::string servers;
    const PeersLook look = Look();
    Visit(look, [&](ClusterServer server) {
      std::string text = CanonicalJson(ToJson(server));
      if (!server.self && servers.size() + text.size() > kMostClusterText) {
        server.error = fmt::format(
            "its figures are left out, as this page has at most {} bytes: ask its own /status",
            kMostClusterText);
        server.stats = nullptr;
        text = CanonicalJson(ToJson(std::move(server)));
      }
      servers += (servers.empty() ? "\n" : ",\n") + text;
    });
    return fmt::format("{{\"asked_seconds_ago\": {}, \"why_alone\": {}, \"servers\": [{}\n]}}\n",
                       look.asked_seconds_ago, CanonicalJson(WhyAlone()), servers);
  }

  [[nodiscard]] ui::UiData Figures() const {
    ui::UiData data;
    const PeersLook look = Look();
    data.asked_seconds_ago = look.asked_seconds_ago;
    data.why_alone = WhyAlone();
    Visit(look, [&](ClusterServer server) {
      data.servers.push_back(ui::ReadClusterServer(ToJson(std::move(server))));
    });
    return data;
  }

 private:
  [[nodiscard]] std::string WhyAlone() const { return peers_ == nullptr ? kAlone : ""; }
  [[nodiscard]] PeersLook Look() const { return peers_ == nullptr ? PeersLook{} : peers_->Look(); }
  void Visit(const PeersLook& look, const std::function<void(ClusterServer)>& visit) const {
    VisitCluster(status_(), address_, look, read_stats_, visit);
  }

  const std::function<StatusOr<Json>()> status_;
  const std::string address_;
  Peers* const peers_;
  const ReadStats read_stats_;
};

}  // namespace

StatusOr<std::unique_ptr<HttpServer>> StartOperatorPort(const HttpOptions& options,
                                                        OperatorSources sources) {
  const auto cluster = std::make_shared<const ClusterPages>(sources);
  const auto status = [own = std::move(sources.status),
                       cluster](const HttpRequest& request) -> StatusOr<std::string> {
    if (request.Has("cluster")) return cluster->Text();
    HG_ASSIGN_OR_RETURN(const Json figures, own());
    return PrintableJson(figures);
  };
  return ServeOperators(options, {.metrics = sources.metrics,
                                  .why_not_ready = std::move(sources.why_not_ready),
                                  .status = status,
                                  .status_flags = {"cluster"},
                                  .page = [cluster] { return cluster->Figures(); }});
}

}  // namespace halograph::server
