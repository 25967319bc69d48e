#include "client/ctl/status_table.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/ranges.h>

#include "client/remote/message_io.h"
#include "client/remote/rpc.h"
#include "common/base/units.h"
#include "halograph/v1/admin.pb.h"

namespace halograph {

namespace {

Json MethodToJson(const v1::MethodStats& method) {
  return {{"method", method.method()},
          {"calls", method.calls()},
          {"errors", method.errors()},
          {"in_flight", method.in_flight()},
          {"request_bytes", method.request_bytes()},
          {"reply_bytes", method.reply_bytes()},
          {"p50_seconds", method.p50_seconds()},
          {"p99_seconds", method.p99_seconds()}};
}

// Over all methods: the upper bound of the bucket in which the quantile of all calls lies, but not
// above what the slowest method has for it (the last bucket has no bound of its own).
double Quantile(const v1::StatsReply& reply, double quantile,
                double (v1::MethodStats::*of_method)() const) {
  std::map<double, int64_t> calls_by_upper;
  int64_t calls = 0;
  double highest = 0;
  for (const v1::MethodStats& method : reply.methods()) {
    for (const v1::Bucket& bucket : method.latency()) {
      calls_by_upper[bucket.upper_seconds()] += bucket.count();
      calls += bucket.count();
    }
    highest = std::max(highest, (method.*of_method)());
  }
  auto left = static_cast<int64_t>(std::ceil(quantile * static_cast<double>(calls)));
  for (const auto& [upper, count] : calls_by_upper) {
    left -= count;
    if (left <= 0 && calls > 0) return std::min(upper, highest);
  }
  return highest;
}

void Fill(const v1::StatsReply& reply, ServerStatus* status) {
  status->identity = reply.identity();
  status->graph_name = reply.graph_name();
  status->build_version = reply.build_version();
  for (const uint32_t part : reply.parts()) status->parts.push_back(static_cast<int>(part));
  status->serving = reply.serving();
  status->draining = reply.draining();
  status->uptime_seconds = reply.uptime_seconds();
  for (const v1::MethodStats& method : reply.methods()) {
    status->calls += method.calls();
    status->errors += method.errors();
    status->received_bytes += method.request_bytes();
    status->sent_bytes += method.reply_bytes();
    status->methods.push_back(MethodToJson(method));
  }
  status->p50_seconds = Quantile(reply, 0.5, &v1::MethodStats::p50_seconds);
  status->p99_seconds = Quantile(reply, 0.99, &v1::MethodStats::p99_seconds);
}

Rpc StatsCall(int server, ServerStatus* status) {
  Rpc rpc;
  rpc.servers = {server};
  rpc.method = "AdminService/Stats";
  rpc.make_request = [] { return std::string(); };  // an empty StatsRequest
  rpc.on_reply = [status](ReplyPieces pieces, std::vector<Rpc>*) {
    v1::StatsReply reply;
    HG_RETURN_IF_ERROR(ParseReply(pieces, &reply));
    Fill(reply, status);
    return OkStatus();
  };
  rpc.on_error = [status](int, const Status& error, std::vector<Rpc>*) {
    status->reachable = error;
    return OkStatus();  // the others are asked all the same
  };
  return rpc;
}

std::string FormatLatency(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return FormatSeconds(seconds);
}

using Row = std::vector<std::string>;

Row ToRow(const ServerStatus& server) {
  if (!server.reachable.ok()) return {server.address, "down"};
  return {server.address,
          server.draining ? "draining" : "up",
          server.graph_name,
          fmt::format("{}", fmt::join(server.parts, ",")),
          server.serving,
          FormatSeconds(server.uptime_seconds),
          FormatCount(server.calls),
          FormatCount(server.errors),
          FormatLatency(server.p50_seconds),
          FormatLatency(server.p99_seconds),
          FormatBytes(server.received_bytes),
          FormatBytes(server.sent_bytes)};
}

}  // namespace

std::vector<ServerStatus> AskStatus(const RemoteOptions& options) {
  const std::vector<std::string>& servers = options.servers;
  std::vector<ServerStatus> statuses(servers.size());
  for (size_t i = 0; i < servers.size(); ++i) statuses[i].address = servers[i];

  CallContext context;
  Status failed = options.Validate();
  if (failed.ok()) {
    RpcClient client(options);
    std::vector<Rpc> calls;
    for (size_t i = 0; i < servers.size(); ++i) {
      calls.push_back(StatsCall(static_cast<int>(i), &statuses[i]));
    }
    failed = client.Run(context, std::move(calls));
  }
  for (ServerStatus& status : statuses) {
    if (!failed.ok() && status.reachable.ok()) status.reachable = failed;
  }
  return statuses;
}

std::string FormatTable(const std::vector<ServerStatus>& servers) {
  std::vector<Row> rows = {{"SERVER", "STATE", "GRAPH", "PARTS", "SERVING", "UPTIME", "CALLS",
                            "ERRORS", "P50", "P99", "IN", "OUT"}};
  for (const ServerStatus& server : servers) rows.push_back(ToRow(server));
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  constexpr size_t kFirstNumber = 5;  // columns from here on are right-aligned
  std::string table;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += i < kFirstNumber ? fmt::format("{:<{}}  ", row[i], widths[i])
                               : fmt::format("{:>{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    table += line + "\n";
  }
  return table;
}

Json ToJson(const std::vector<ServerStatus>& servers) {
  Json all = Json::array();
  for (const ServerStatus& server : servers) {
    Json one = {{"address", server.address}, {"reachable", server.reachable.ok()}};
    if (server.reachable.ok()) {
      one.update({{"identity", server.identity},
                  {"graph_name", server.graph_name},
                  {"build_version", server.build_version},
                  {"parts", server.parts},
                  {"serving", server.serving},
                  {"draining", server.draining},
                  {"uptime_seconds", server.uptime_seconds},
                  {"calls", server.calls},
                  {"errors", server.errors},
                  {"p50_seconds", server.p50_seconds},
                  {"p99_seconds", server.p99_seconds},
                  {"received_bytes", server.received_bytes},
                  {"sent_bytes", server.sent_bytes},
                  {"methods", server.methods}});
    } else {
      one["error"] = ToString(server.reachable);
    }
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace halograph
