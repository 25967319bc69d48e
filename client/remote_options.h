// What a client of partition servers is told. Needs no gRPC, so that every program has its rows.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/call_record.h"
#include "client/server_list.h"
#include "common/base/status.h"
#include "common/program/options.h"
#include "common/tls/tls_options.h"

namespace halograph {

class MetricRegistry;

// Where the topology is, if in no folder: with the servers, or fetched from them.
inline constexpr std::string_view kTopologyServers = "servers";
inline constexpr std::string_view kTopologyLocal = "local";

struct RemoteOptions {
  // As --servers leaves them: HOST:PORT or @FILE (client/server_list.h), in any order; addresses
  // alone once FindServers has been called.
  std::vector<std::string> servers = {};
  // By FindServers: what `servers` was, and whose certificate each of the addresses shows; empty:
  // it was not called.
  std::vector<std::string> listed_servers = {};
  std::vector<std::string> server_names = {};
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
  // Has the token that says who calls (common/http/token_file.h), sent with each call; empty: none.
  // Followed: a new token holds from the next second on.
  std::filesystem::path token_file = {};
  TlsOptions tls = {};  // not given: calls are not encrypted
  // What OpenTls made of it. One for all clients of a process.
  std::shared_ptr<const TlsFiles> tls_files = nullptr;
  OnCallEnded on_call_ended = {};  // told of every call, whatever it is for; null: nobody
  // Where calls are counted, whatever they are for (client/remote/client_metrics.h); null: nowhere.
  // Outlives the client.
  MetricRegistry* metrics = nullptr;

  // Puts the addresses of now into `servers`. Before Validate, by who makes calls with these
  // options and does not open stores. Errors as ServerList::Find, naming the option.
  [[nodiscard]] Status FindServers(std::chrono::steady_clock::time_point deadline);
  // What --servers said.
  [[nodiscard]] ServerList List() const;

  // InvalidArgument naming the option: no servers, or as its row says; a token that would travel
  // unencrypted to another machine. Else as ReadToken of `token_file`.
  [[nodiscard]] Status Validate() const;
  // Whether calls travel encrypted.
  [[nodiscard]] bool encrypted() const { return tls.given(); }
  // Reads and checks the files of `tls`, if any, and follows them. Before the first client: one of
  // which `tls` is given makes no calls without. Errors as FollowTls.
  [[nodiscard]] Status OpenTls();
  // Of the two about columns alone.
  [[nodiscard]] Status CheckColumns() const;
  // Of the token alone.
  [[nodiscard]] Status CheckToken() const;
};

// --servers; returned so that a program may require it. As ReadServerWords.
OptionRow& AddServersRow(OptionTable& rows, RemoteOptions* options, std::string help);
// --server-timeout.
void AddServerTimeoutRow(OptionTable& rows, RemoteOptions* options);
// --columns and --column-pulls, and --plain-ids.
void AddColumnRows(OptionTable& rows, RemoteOptions* options);
// InvalidArgument, with what to do: a token for `server`, HOST:PORT, would travel where others can
// read it. Not where calls are `encrypted`, or stay on this machine: its address must say that,
// since a name may come to stand for another one.
[[nodiscard]] Status CheckTokenMayGoTo(std::string_view server, bool encrypted);
// What bounds calls: --timeout, --max-message-bytes, --calls-in-flight, --channels-per-server; then
// what they are encrypted with (AddTlsRows), and --token-file.
void AddCallRows(OptionTable& rows, RemoteOptions* options, std::string timeout_help);

}  // namespace halograph
