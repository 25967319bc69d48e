#include "client/remote_options.h"

#include "absl/container/flat_hash_set.h"
#include "common/base/host_port.h"

namespace halograph {
namespace {

Status CheckServers(const std::vector<std::string>& servers) {
  absl::flat_hash_set<std::string> seen;
  for (const std::string& server : servers) {
    HG_RETURN_IF_ERROR(ParseServerAddress(server).status());
    if (!seen.insert(server).second) return InvalidArgument("'{}' is listed twice", server);
  }
  return OkStatus();
}

}  // namespace

OptionRow& AddServersRow(OptionTable& rows, RemoteOptions* options, std::string help) {
  return rows.Add("servers", &options->servers, std::move(help))
      .Check(CheckServers)
      .ValueName("HOST:PORT");
}

void AddServerTimeoutRow(OptionTable& rows, RemoteOptions* options) {
  rows.Add("server-timeout", &options->server_timeout,
           "how long a call waits for a server that went away; 0s: within --timeout")
      .Range(std::chrono::nanoseconds(0), std::chrono::hours(24));
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
}

Status RemoteOptions::Validate() const {
  if (servers.empty()) return InvalidArgument("--servers: no servers given, name one at least");
  RemoteOptions copy = *this;
  OptionTable rows;
  AddServersRow(rows, &copy, "");
  AddCallRows(rows, &copy, "");
  AddServerTimeoutRow(rows, &copy);
  return rows.Validate();
}

}  // namespace halograph
