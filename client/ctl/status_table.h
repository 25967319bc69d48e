// What `halograph-ctl status` shows: one row a server, asked in parallel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/remote_options.h"
#include "common/base/status.h"
#include "common/storage/json.h"

namespace halograph {

struct ServerStatus {
  std::string address;
  Status reachable;  // not OK: the row says why; the other fields are empty
  std::string identity;
  std::string graph_name;
  std::string build_version;
  std::vector<int> parts;
  std::string serving;
  bool draining = false;
  double uptime_seconds = 0;
  int64_t calls = 0;
  int64_t errors = 0;
  double p50_seconds = 0;  // over all methods
  double p99_seconds = 0;
  int64_t received_bytes = 0;
  int64_t sent_bytes = 0;
  Json methods = Json::array();  // per method, for --json
};

// Asks the Stats of every server in `options`, each within its timeout. Never fails as a whole.
[[nodiscard]] std::vector<ServerStatus> AskStatus(const RemoteOptions& options);

[[nodiscard]] std::string FormatTable(const std::vector<ServerStatus>& servers);
[[nodiscard]] Json ToJson(const std::vector<ServerStatus>& servers);

}  // namespace halograph
