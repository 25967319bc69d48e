#include "server/peers/cluster.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/base/call_metadata.h"
#include "common/base/host_port.h"
#include "common/base/printable.h"

namespace halograph::server {
namespace {

std::string Text(const Json& stats, const char* key) {
  const auto found = stats.find(key);
  return found != stats.end() && found->is_string() ? found->get<std::string>() : "";
}

double Number(const Json& stats, const char* key) {
  const auto found = stats.find(key);
  const double number = found == stats.end() ? 0 : NumberIn(*found).value_or(0);
  return std::isfinite(number) ? number : 0;
}

// Which process a server is.
struct ServerProcess {
  double pid = 0;  // 0: an older version, which does not say
  double begun = 0;
  std::string host_name, address;

  // Pids of containers are the same, and so may be their names; when a process began is reckoned
  // from two readings of its clock.
  [[nodiscard]] bool Is(const ServerProcess& other) const {
    constexpr double kSameTime = 2;  // seconds
    return pid != 0 && pid == other.pid && std::abs(begun - other.begun) < kSameTime &&
           host_name == other.host_name && address == other.address;
  }
};

ServerProcess ProcessOf(const Json& stats) {
  return {.pid = Number(stats, "pid"),
          .begun = Number(stats, "unix_seconds") - Number(stats, "uptime_seconds"),
          .host_name = Text(stats, "host_name"),
          .address = Text(stats, "address")};
}

ClusterServer Own(StatusOr<Json> own, const std::string& address) {
  ClusterServer server{.address = address, .self = true};
  if (!own.ok()) {
    server.error = fmt::format("its figures cannot be made: {}", Message(own.status()));
    return server;
  }
  server.stats = *std::move(own);
  if (std::string said = Text(server.stats, "address"); !said.empty()) server.address = said;
  return server;
}

ClusterServer Other(const PeerAnswer& answer, const ReadStats& read) {
  ClusterServer server{.address = answer.address,
                       .round_trip_seconds = answer.round_trip_seconds,
                       .here_unix_seconds = answer.here_unix_seconds};
  StatusOr<Json> stats = answer.error.ok() ? read(answer.reply == nullptr ? "" : *answer.reply)
                                           : StatusOr<Json>(answer.error);
  if (!stats.ok()) {
    server.error = WhyNoAnswer(stats.status());
    return server;
  }
  server.stats = *std::move(stats);
  if (const double told = Number(server.stats, "unix_seconds"); told > 0) {
    server.clock_seconds_off = told - answer.here_unix_seconds;
  }
  return server;
}

std::string AnotherGraph(const Json& stats) {
  return fmt::format(
      "it serves another graph, \"{}\" (identity {}): start it with the folder of the others, or "
      "take it out of --peers",
      Printable(Text(stats, "graph_name"), kNameShown),
      Printable(Text(stats, "identity"), kNameShown));
}

}  // namespace

Json ToJson(ClusterServer server) {
  return {{"address", std::move(server.address)},
          {"self", server.self},
          {"error", std::move(server.error)},
          {"stats", std::move(server.stats)},
          {"clock_seconds_off",
           server.clock_seconds_off.has_value() ? Json(*server.clock_seconds_off) : Json()},
          {"round_trip_seconds", server.round_trip_seconds},
          {"here_unix_seconds", server.here_unix_seconds}};
}

void VisitCluster(StatusOr<Json> own, const std::string& address, const PeersLook& look,
                  const ReadStats& read, const std::function<void(ClusterServer)>& visit) {
  ClusterServer first = Own(std::move(own), address);
  const std::string identity = first.stats.is_object() ? Text(first.stats, "identity") : "";
  std::vector<ServerProcess> shown;
  if (first.stats.is_object()) shown.push_back(ProcessOf(first.stats));
  visit(std::move(first));
  for (const PeerAnswer& answer : look.peers) {
    ClusterServer server = Other(answer, read);
    if (server.stats.is_object()) {
      const ServerProcess process = ProcessOf(server.stats);
      if (std::any_of(shown.begin(), shown.end(),
                      [&](const ServerProcess& known) { return known.Is(process); })) {
        continue;  // by another address
      }
      shown.push_back(process);
      if (!identity.empty() && Text(server.stats, "identity") != identity) {
        server.error = AnotherGraph(server.stats);
      }
    }
    visit(std::move(server));
  }
}

std::string WhyNoAnswer(const Status& error) {
  std::string said = Printable(Message(error), kMessageShown);
  switch (error.code()) {
    case absl::StatusCode::kUnavailable:
      if (ReasonOf(error) == kClosedAtOnce) {
        return fmt::format("it refuses this server's connections ({}): see its log", said);
      }
      return fmt::format(
          "nobody answers there ({}): start the server, or correct the address in --peers", said);
    case absl::StatusCode::kDeadlineExceeded:
      return fmt::format(
          "it is too slow, or the way there is ({}): see its log, and whether it can be reached",
          said);
    case absl::StatusCode::kResourceExhausted:
      return fmt::format("its figures are too large for this page ({}): ask its own /status", said);
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return said;
    case absl::StatusCode::kUnimplemented:
      return fmt::format("no halograph-server answers there ({}): correct the address in --peers",
                         said);
    default:
      return fmt::format("{}: see its log, and whether --peers has its address", said);
  }
}

std::vector<std::string> WithoutOwn(const std::vector<std::string>& addresses,
                                    const std::string& listen, const std::string& advertised,
                                    const std::string& host_name) {
  const StatusOr<HostPort> own = ParseHostPort(listen);
  StatusOr<HostPort> called = ParseAdvertised(advertised);
  if (called.ok() && called->port == 0 && own.ok()) called->port = own->port;
  const auto is_own = [&](const std::string& text) {
    const StatusOr<HostPort> address = ParseServerAddress(text);
    if (!address.ok() || !own.ok()) return false;
    if (called.ok() && ToString(*called) == ToString(*address)) return true;
    if (address->port != own->port) return false;
    const bool everywhere = IsWildcard(own->host);
    return address->host == own->host || (everywhere && address->host == host_name) ||
           (IsLoopback(address->host) && (everywhere || IsLoopback(own->host)));
  };
  std::vector<std::string> others;
  std::copy_if(addresses.begin(), addresses.end(), std::back_inserter(others),
               [&](const std::string& text) { return !is_own(text); });
  return others;
}

}  // namespace halograph::server
