// The servers of a graph as /status?cluster and /ui show them: this one, and what a look at the
// others found (peers.h). Who is this one itself, under whatever address, is told by the process
// that answers, and shown once. Pure functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/storage/json.h"
#include "server/peers/peers.h"

namespace halograph::server {

// A server in the list. In JSON: {"address", "self", "error", "stats", "clock_seconds_off",
// "round_trip_seconds", "here_unix_seconds"}.
struct ClusterServer {
  std::string address = {};
  bool self = false;
  // Why its figures do not count among those of the graph, in words that say what to do; empty:
  // they do.
  std::string error = {};
  // A StatsReply as JSON; null: there is none. Of a server of another graph it is there, beside the
  // error.
  Json stats = {};
  // How far its clock is ahead of this one's, give or take half the round trip; unknown of older
  // versions, which do not say their time, and of this server itself.
  std::optional<double> clock_seconds_off = {};
  double round_trip_seconds = 0;
  double here_unix_seconds = 0;  // by this clock, halfway between question and answer
};

[[nodiscard]] Json ToJson(ClusterServer server);

// A StatsReply's bytes as JSON. InvalidArgument: they are none; ResourceExhausted: too large.
using ReadStats = std::function<StatusOr<Json>(std::string_view reply)>;

// Calls `visit` for each server, this one first, then the others in their order. Each is made when
// its turn comes, so that not all are in memory at once. `address`: of this one, while its own
// figures do not say it.
void VisitCluster(StatusOr<Json> own, const std::string& address, const PeersLook& look,
                  const ReadStats& read, const std::function<void(ClusterServer)>& visit);

// Why a server shows no figures, and what to do: what follows "HOST:PORT gives no figures: ".
[[nodiscard]] std::string WhyNoAnswer(const Status& error);

// Of addresses to ask, those that are not surely this server's own: it listens at `listen`
// (HOST:PORT, of a machine named `host_name`; port 0: not known yet), and others call it at
// `advertised` (HOST[:PORT]; may be empty).
[[nodiscard]] std::vector<std::string> WithoutOwn(const std::vector<std::string>& addresses,
                                                  const std::string& listen,
                                                  const std::string& advertised,
                                                  const std::string& host_name);

}  // namespace halograph::server
