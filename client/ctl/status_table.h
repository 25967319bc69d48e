// What `halograph-ctl status` shows: one row a server, asked in parallel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "client/remote_options.h"
#include "common/base/status.h"
#include "common/state/state_store.h"
#include "common/storage/json.h"

namespace halograph {

// What happened to some calls.
struct CallFigures {
  double seconds = 0;  // in which they were made; 0: unknown
  int64_t calls = 0;
  int64_t errors = 0;
  double p50_seconds = 0;  // over all methods
  double p99_seconds = 0;
  int64_t received_bytes = 0;
  int64_t sent_bytes = 0;
};

struct ServerStatus {
  std::string address;
  // Not OK: the row says why; the other fields are empty. DeadlineExceeded: it is hung, or nothing
  // comes through to it. Unavailable: it is gone, nobody listens there.
  Status reachable;
  std::string identity;
  std::string graph_name;
  std::string build_version;
  std::vector<int> parts;
  int num_parts = 0;  // of its graph; 0: an older server, which does not say
  std::string serving;
  bool draining = false;
  double uptime_seconds = 0;
  int64_t clients = 0;
  int64_t in_flight = 0;
  int64_t failovers = 0;            // calls that another server was asked before
  CallFigures total;                // since its start
  CallFigures recent;               // of the last minute or so; of an older server as `total`
  Json methods = Json::array();     // per method, for --json
  std::map<int, StateStats> state;  // mutable tensors, by part
  int64_t tensors_left_out = 0;     // of them, that the answer had no room for
  std::vector<std::string> left_out = {};  // what else it had none for
};

// Asks the Stats of every server in `options`, each within its timeout: one that is just starting
// has so long. Never fails as a whole.
[[nodiscard]] std::vector<ServerStatus> AskStatus(const RemoteOptions& options);

// A row a server, calls and percentiles of `recent`. Names are escaped (common/base/printable.h).
[[nodiscard]] std::string FormatTable(const std::vector<ServerStatus>& servers);
// Which servers serve each part; empty where FormatTable says it all: each part has one, and none
// is down.
[[nodiscard]] std::string FormatParts(const std::vector<ServerStatus>& servers);
// What the servers' answers had no room for, a line each, and how to see it. Nothing of it is
// wrong.
[[nodiscard]] std::string FormatLeftOut(const std::vector<ServerStatus>& servers);
// What is wrong, a line each: servers that do not answer, mutable tensors that take no pushes, and
// parts of a graph that no server serves which does.
[[nodiscard]] std::vector<std::string> Problems(const std::vector<ServerStatus>& servers);
[[nodiscard]] Json ToJson(const std::vector<ServerStatus>& servers);
// What each part has of each mutable tensor, a row each; of the part's log. Empty if there is none.
[[nodiscard]] std::string FormatStateTable(const std::map<int, StateStats>& states);
[[nodiscard]] Json ToJson(const std::map<int, StateStats>& states);

}  // namespace halograph
