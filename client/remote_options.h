// What a client of partition servers is told. Needs no gRPC, so that every program has its rows.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/call_record.h"
#include "common/base/status.h"
#include "common/program/options.h"
#include "common/tls/tls_options.h"

namespace halograph {

class MetricRegistry;

// Where the topology is, if in no folder: with the servers, or fetched from them.
inline constexpr std::string_view kTopologyServers = "servers";
inline constexpr std::string_view kTopologyLocal = "local";

struct RemoteOptions {
  std::vector<std::string> servers = {};  // HOST:PORT in any order, as --servers leaves them
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);  // of every call, retries included
  // Of a call whose servers all went away: how long it waits for one of them, from then on, instead
  // of the rest of `timeout`. 0: no other time than that.
  std::chrono::nanoseconds server_timeout = std::chrono::nanoseconds(0);
  int64_t max_message_bytes = 4194304;  // what this client receives and sends at most
  int channels_per_server = 2;
  int calls_in_flight = 4;  // per server and Pull or Sample
  int rank = -1;            // travels in metadata `halograph-rank` if >= 0
  // Whether the servers must also serve every partition's topology: false where the caller has it
  // by itself and only pulls features (hybrid mode).
  bool needs_topology = true;
  // The servers are a grid (client/remote/columns.h): samples are asked of column `column_of`
  // modulo their number, and with `column_pulls` rows of features too; not of the least busy
  // server.
  bool columns = false;
  bool column_pulls = false;  // needs `columns`
  int column_of = 0;          // this client's number, from 0
  // Lists of ascending ids travel in full too where the servers know them as differences: the same
  // answers in more bytes.
  bool plain_ids = false;
  TlsOptions tls = {};  // not given: calls are not encrypted
  // What OpenTls made of it. One for all clients of a process.
  std::shared_ptr<const TlsFiles> tls_files = nullptr;
  OnCallEnded on_call_ended = {};  // told of every call, whatever it is for; null: nobody
  // Where calls are counted, whatever they are for (client/remote/client_metrics.h); null: nowhere.
  // Outlives the client.
  MetricRegistry* metrics = nullptr;

  // InvalidArgument naming the option: no servers, or as its row says.
  [[nodiscard]] Status Validate() const;
  // Reads and checks the files of `tls`, if any, and follows them. Before the first client: one of
  // which `tls` is given makes no calls without. Errors as FollowTls.
  [[nodiscard]] Status OpenTls();
  // Of the two about columns alone.
  [[nodiscard]] Status CheckColumns() const;
};

// --servers; returned so that a program may require it. Blanks around an address do not count, and
// of an IPv6 address without brackets the port stands behind the last colon: the field holds it
// with brackets (common/base/host_port.h).
OptionRow& AddServersRow(OptionTable& rows, RemoteOptions* options, std::string help);
// --server-timeout.
void AddServerTimeoutRow(OptionTable& rows, RemoteOptions* options);
// --columns and --column-pulls, and --plain-ids.
void AddColumnRows(OptionTable& rows, RemoteOptions* options);
// What bounds calls: --timeout, --max-message-bytes, --calls-in-flight, --channels-per-server; then
// what they are encrypted with (AddTlsRows).
void AddCallRows(OptionTable& rows, RemoteOptions* options, std::string timeout_help);

}  // namespace halograph
