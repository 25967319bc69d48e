#include "client/remote_options.h"

#include <utility>

#include "common/http/http_access.h"
#include "common/http/token_file.h"
#include "common/program/address_row.h"

namespace halograph {

OptionRow& AddServersRow(OptionTable& rows, RemoteOptions* options, std::string help) {
  return AddAddressRow(rows, "servers", &options->servers, std::move(help), ReadServerWords)
      .ValueName("HOST:PORT|@FILE");
}

ServerList RemoteOptions::List() const {
  return ServerList(listed_servers.empty() ? servers : listed_servers);
}

Status RemoteOptions::FindServers(std::chrono::steady_clock::time_point deadline) {
  const StatusOr<std::vector<ServerPlace>> places = List().Find(deadline);
  if (!places.ok()) return Annotate(places.status(), "--servers");
  if (listed_servers.empty()) listed_servers = servers;
  servers.clear();
  server_names.clear();
  for (const ServerPlace& place : *places) {
    servers.push_back(place.address);
    server_names.push_back(place.name);
  }
  return OkStatus();
}

void AddServerTimeoutRow(OptionTable& rows, RemoteOptions* options) {
  rows.Add("server-timeout", &options->server_timeout,
           "how long a call waits for a server that went away; 0s: within --timeout")
      .Range(std::chrono::nanoseconds(0), std::chrono::hours(24));
}

void AddColumnRows(OptionTable& rows, RemoteOptions* options) {
  rows.Add("columns", &options->columns,
           "with --servers, of which each part has the same number c: rank r asks the server of "
           "column r modulo c for samples, the others only if that one does not answer");
  rows.Add("column-pulls", &options->column_pulls,
           "with --columns: features are pulled from that column too");
  rows.Add("plain-ids", &options->plain_ids,
           "with --servers, to compare bytes: lists of ascending ids travel in full, not as "
           "differences");
}

void AddCallRows(OptionTable& rows, RemoteOptions* options, std::string timeout_help) {
  // gRPC counts message sizes in int; below the smallest not even a schema comes through.
  constexpr int64_t kSmallestMessageBytes = 4096;
  constexpr int64_t kLargestMessageBytes = 1 << 30;
  rows.Add("timeout", &options->timeout, std::move(timeout_help))
      .Range(std::chrono::milliseconds(1), std::chrono::hours(24));
  rows.AddBytes("max-message-bytes", &options->max_message_bytes,
                "largest request or reply; requests are split to stay below it, and below what the "
                "server takes")
      .Range(kSmallestMessageBytes, kLargestMessageBytes);
  rows.Add("calls-in-flight", &options->calls_in_flight,
           "calls to one server at a time, for each minibatch that is prepared")
      .Range(1, 1024);
  rows.Add("channels-per-server", &options->channels_per_server, "connections to each server")
      .Range(1, 64);
  AddTlsRows(rows, &options->tls);
  rows.Add(
          "token-file", &options->token_file,
          "file with the token that says who calls, where the servers have --policy; it is sent by "
          "TLS, or to loopback, and read again as it changes")
      .DefaultText("no token is sent");
}

Status RemoteOptions::OpenTls() {
  HG_ASSIGN_OR_RETURN(tls_files, FollowTls(tls, TlsRole::kClient));
  return OkStatus();
}

Status CheckTokenMayGoTo(std::string_view server, bool encrypted) {
  if (encrypted || NamesLoopback(server)) return OkStatus();
  return InvalidArgument(
      "--token-file: the token would travel unencrypted to {}, where others can read it: give "
      "--tls-ca as well, or leave out --token-file",
      server);
}

Status RemoteOptions::CheckColumns() const {
  if (!column_pulls || columns) return OkStatus();
  return InvalidArgument("--column-pulls needs --columns: give both, or leave --column-pulls out");
}

Status RemoteOptions::CheckToken() const {
  if (token_file.empty()) return OkStatus();
  for (const std::string& server : servers) {
    if (server.starts_with('@')) continue;  // what is in it is checked at each call
    HG_RETURN_IF_ERROR(CheckTokenMayGoTo(server, encrypted()));
  }
  const Status read = ReadToken(token_file).status();
  return read.ok() ? read : Annotate(read, "--token-file");
}

Status RemoteOptions::Validate() const {
  if (servers.empty()) return InvalidArgument("--servers: no servers given, name one at least");
  if (const Status read = ReadServerWords(servers).status(); !read.ok()) {
    return InvalidArgument("--servers: {}", Message(read));
  }
  HG_RETURN_IF_ERROR(CheckColumns());
  HG_RETURN_IF_ERROR(tls.Validate(TlsRole::kClient));
  RemoteOptions copy = *this;
  OptionTable rows;
  AddCallRows(rows, &copy, "");
  AddServerTimeoutRow(rows, &copy);
  HG_RETURN_IF_ERROR(rows.Validate());
  return CheckToken();
}

}  // namespace halograph
