#include "client/ctl/status_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "client/remote/message_io.h"
#include "client/remote/rpc.h"
#include "common/base/printable.h"
#include "common/base/units.h"
#include "halograph/v1/admin.pb.h"

namespace halograph {

namespace {

// What a server may say that its graph has.
constexpr uint32_t kMostParts = 1 << 16;

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

using MethodList = google::protobuf::RepeatedPtrField<v1::MethodStats>;

// Over all methods: the upper bound of the bucket in which the quantile of all calls lies, but not
// above what the slowest method has for it (the last bucket has no bound of its own).
double Quantile(const MethodList& methods, double quantile,
                double (v1::MethodStats::*of_method)() const) {
  std::map<double, int64_t> calls_by_upper;
  int64_t calls = 0;
  double highest = 0;
  for (const v1::MethodStats& method : methods) {
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

CallFigures Figures(const MethodList& methods, double seconds) {
  CallFigures figures{.seconds = seconds,
                      .p50_seconds = Quantile(methods, 0.5, &v1::MethodStats::p50_seconds),
                      .p99_seconds = Quantile(methods, 0.99, &v1::MethodStats::p99_seconds)};
  for (const v1::MethodStats& method : methods) {
    figures.calls += method.calls();
    figures.errors += method.errors();
    figures.received_bytes += method.request_bytes();
    figures.sent_bytes += method.reply_bytes();
  }
  return figures;
}

void Fill(const v1::StatsReply& reply, ServerStatus* status) {
  status->identity = reply.identity();
  status->graph_name = reply.graph_name();
  status->build_version = reply.build_version();
  for (const uint32_t part : reply.parts()) status->parts.push_back(static_cast<int>(part));
  status->num_parts = static_cast<int>(std::min<uint32_t>(reply.num_parts(), kMostParts));
  status->serving = reply.serving();
  status->draining = reply.draining();
  status->uptime_seconds = reply.uptime_seconds();
  status->clients = reply.clients();
  status->total = Figures(reply.methods(), reply.uptime_seconds());
  status->recent =
      reply.recent_seconds() > 0 ? Figures(reply.recent(), reply.recent_seconds()) : status->total;
  for (const v1::MethodStats& method : reply.methods()) {
    status->in_flight += method.in_flight();
    status->methods.push_back(MethodToJson(method));
  }
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

double PerSecond(const CallFigures& figures, int64_t count) {
  return static_cast<double>(count) / std::max(figures.seconds, 1.0);
}

std::string FormatRate(const CallFigures& figures, int64_t bytes) {
  return FormatBytes(std::llround(PerSecond(figures, bytes))) + "/s";
}

// Why a server does not answer, in a word.
std::string_view KindOfDown(const Status& reachable) {
  if (absl::IsDeadlineExceeded(reachable)) return "hung";
  return absl::IsUnavailable(reachable) ? "gone" : "error";
}

using Row = std::vector<std::string>;

Row ToRow(const ServerStatus& server) {
  if (!server.reachable.ok()) {
    return {server.address, fmt::format("down ({})", KindOfDown(server.reachable))};
  }
  const CallFigures& recent = server.recent;
  return {server.address,
          server.draining ? "draining" : "up",
          Printable(server.graph_name, kNameShown),
          fmt::format("{}", fmt::join(server.parts, ",")),
          Printable(server.serving, kNameShown),
          FormatSeconds(server.uptime_seconds),
          FormatCount(server.clients),
          FormatCount(server.in_flight),
          FormatCount(server.total.calls),
          FormatCount(server.total.errors),
          fmt::format("{:.1f}", PerSecond(recent, recent.calls)),
          FormatLatency(recent.p50_seconds),
          FormatLatency(recent.p99_seconds),
          FormatRate(recent, recent.received_bytes),
          FormatRate(recent, recent.sent_bytes)};
}

Json ToJson(const CallFigures& figures) {
  return {{"seconds", figures.seconds},         {"calls", figures.calls},
          {"errors", figures.errors},           {"p50_seconds", figures.p50_seconds},
          {"p99_seconds", figures.p99_seconds}, {"received_bytes", figures.received_bytes},
          {"sent_bytes", figures.sent_bytes}};
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
  std::vector<Row> rows = {{"SERVER", "STATE", "GRAPH", "PARTS", "SERVING", "UPTIME", "CLIENTS",
                            "IN FLIGHT", "CALLS", "ERRORS", "CALLS/S", "P50", "P99", "IN", "OUT"}};
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

std::vector<std::string> Problems(const std::vector<ServerStatus>& servers) {
  std::vector<std::string> problems;
  // By identity: who serves which part.
  std::map<std::string, std::pair<const ServerStatus*, std::set<int>>> graphs;
  for (const ServerStatus& server : servers) {
    if (!server.reachable.ok()) {
      problems.push_back(fmt::format("{} is down ({}): {}", server.address,
                                     KindOfDown(server.reachable), ToString(server.reachable)));
      continue;
    }
    auto& [one, parts] = graphs[server.identity];
    one = &server;
    parts.insert(server.parts.begin(), server.parts.end());
  }
  for (const auto& [identity, graph] : graphs) {
    const auto& [one, parts] = graph;
    std::vector<int> missing;
    for (int part = 0; part < one->num_parts; ++part) {
      if (parts.count(part) == 0) missing.push_back(part);
    }
    if (missing.empty()) continue;
    problems.push_back(fmt::format(
        "no server that answers serves part{} {} of {} of graph {}: start one, or name it in "
        "--servers",
        missing.size() == 1 ? "" : "s", fmt::join(missing, ", "), one->num_parts,
        Printable(one->graph_name, kNameShown)));
  }
  return problems;
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
                  {"num_parts", server.num_parts},
                  {"serving", server.serving},
                  {"draining", server.draining},
                  {"uptime_seconds", server.uptime_seconds},
                  {"clients", server.clients},
                  {"in_flight", server.in_flight},
                  {"recent", ToJson(server.recent)},
                  {"methods", server.methods}});
      one.update(ToJson(server.total));
      one.erase("seconds");  // uptime_seconds
    } else {
      one["down"] = KindOfDown(server.reachable);
      one["error"] = ToString(server.reachable);
    }
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace halograph
