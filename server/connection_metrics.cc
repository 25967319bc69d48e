#include "server/connection_metrics.h"

namespace halograph::server {
namespace {

double Shut(const ConnectionCounts& counts, ShutReason reason) {
  return static_cast<double>(counts.shut[static_cast<size_t>(reason)]);
}

}  // namespace

std::vector<MetricReader> AddConnectionMetrics(MetricRegistry* metrics,
                                               const ConnectionTable* table) {
  using enum MetricUnit;
  std::vector<MetricReader> readers;
  readers.push_back(
      metrics->ReadGauge({"halograph_server_connections", kNone, "Connections that are open."}, {},
                         [table] { return static_cast<double>(table->counts().now); }));
  readers.push_back(
      metrics->ReadGauge({"halograph_server_connections_limit", kNone, "How many there may be."},
                         {}, [table] { return static_cast<double>(table->most()); }));
  readers.push_back(metrics->ReadCounter(
      {"halograph_server_connections_accepted_total", kNone, "Connections accepted."}, {},
      [table] { return static_cast<double>(table->counts().accepted); }));
  readers.push_back(metrics->ReadCounter(
      {"halograph_server_accept_pauses_total", kNone,
       "Times that a connection had to wait since no descriptor was left."},
      {}, [table] { return static_cast<double>(table->counts().no_descriptors); }));
  readers.push_back(metrics->ReadCounter(
      {"halograph_server_ignored_identities_total", kNone,
       "Calls with an identity from peers that are no trusted proxies."},
      {}, [table] { return static_cast<double>(table->counts().ignored_identities); }));
  readers.push_back(metrics->ReadCounters(
      {"halograph_server_connections_refused_total", kNone,
       "Connections closed at once, by the bound that they exceed."},
      {"bound"}, [table] {
        const ConnectionCounts counts = table->counts();
        return std::vector<MetricSample>{
            {{"connections"}, static_cast<double>(counts.refused_all)},
            {{"connections_per_address"}, static_cast<double>(counts.refused_address)},
            {{"just_shut"}, static_cast<double>(counts.refused_penalty)}};
      }));
  readers.push_back(metrics->ReadCounters(
      {"halograph_server_connections_shut_total", kNone, "Connections shut down, and why."},
      {"reason"}, [table] {
        const ConnectionCounts counts = table->counts();
        return std::vector<MetricSample>{{{"calls"}, Shut(counts, ShutReason::kCalls)},
                                         {{"bytes"}, Shut(counts, ShutReason::kBytes)},
                                         {{"address"}, Shut(counts, ShutReason::kAddress)},
                                         {{"unread"}, Shut(counts, ShutReason::kUnread)}};
      }));
  return readers;
}

}  // namespace halograph::server
