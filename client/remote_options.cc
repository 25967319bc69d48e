#include "client/remote_options.h"

#include <utility>

#include "common/program/address_row.h"

namespace halograph {

OptionRow& AddServersRow(OptionTable& rows, RemoteOptions* options, std::string help) {
  return AddAddressRow(rows, "servers", &options->servers, std::move(help));
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
}

Status RemoteOptions::OpenTls() {
  HG_ASSIGN_OR_RETURN(tls_files, FollowTls(tls, TlsRole::kClient));
  return OkStatus();
}

Status RemoteOptions::CheckColumns() const {
  if (!column_pulls || columns) return OkStatus();
  return InvalidArgument("--column-pulls needs --columns: give both, or leave --column-pulls out");
}

Status RemoteOptions::Validate() const {
  if (servers.empty()) return InvalidArgument("--servers: no servers given, name one at least");
  if (const Status read = ReadAddresses(servers).status(); !read.ok()) {
    return InvalidArgument("--servers: {}", Message(read));
  }
  HG_RETURN_IF_ERROR(CheckColumns());
  HG_RETURN_IF_ERROR(tls.Validate(TlsRole::kClient));
  RemoteOptions copy = *this;
  OptionTable rows;
  AddCallRows(rows, &copy, "");
  AddServerTimeoutRow(rows, &copy);
  return rows.Validate();
}

}  // namespace halograph
