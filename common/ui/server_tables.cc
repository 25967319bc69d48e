#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/ui/figures.h"
#include "common/ui/render.h"

namespace halograph::ui {
namespace {

Cell OfBound(int64_t used, int64_t limit, std::string (*show)(double)) {
  const auto value = static_cast<double>(used);
  const auto bound = static_cast<double>(limit);
  if (limit <= 0) return Number(show(value));
  const bool full = value >= kNearlyFull * bound;
  return {fmt::format("{} of {}", show(value), show(bound)),
          full ? CellKind::kWarn : CellKind::kNumber};
}

Cell Warning(std::string text) { return {std::move(text), CellKind::kWarn}; }
Cell Code(std::string text) { return {std::move(text), CellKind::kCode}; }

Cell CountOrWarning(int64_t count) {
  Cell cell = Count(count);
  if (count > 0) cell.kind = CellKind::kWarn;
  return cell;
}

// Of a full name what tells methods apart: "GraphService/Sample".
std::string ShortMethod(std::string_view method) {
  constexpr std::string_view kPackage = "halograph.v1.";
  if (method.starts_with(kPackage)) method.remove_prefix(kPackage.size());
  return std::string(method);
}

double Rate(double count, double seconds) { return seconds > 0 ? count / seconds : 0; }

std::string PartsOf(const ServerFigures& server) {
  std::string text;
  for (const PartFigures& part : server.parts) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", part.part);
  }
  return text.empty() ? "-" : text;
}

std::string HostOf(const ServerFigures& server) {
  return server.pid == 0 ? "-" : fmt::format("{} pid {}", server.host, server.pid);
}

// "12:04:31 UTC"; of another day with its date.
std::string TimeOfDay(double unix_seconds, double now) {
  if (!(unix_seconds > 0) || unix_seconds > 4e9) return "-";
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  if (gmtime_r(&time, &parts) == nullptr) return "-";
  const bool today = std::floor(unix_seconds / 86400) == std::floor(now / 86400);
  std::string text(40, '\0');
  text.resize(
      std::strftime(text.data(), text.size(), today ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &parts));
  return text;
}

Table Servers(const UiData& data) {
  Table table{.id = "servers",
              .title = "Servers",
              .note =
                  "Calls, errors and percentiles are of the last minute or so. p99 against the "
                  "median of all servers says who is slow.",
              .columns = {{"Server"},
                          {"State"},
                          {"Parts"},
                          {"p50", true},
                          {"p99", true},
                          {"p99 / median", true},
                          {"Calls/s", true},
                          {"Errors", true},
                          {"In flight", true},
                          {"Queue", true},
                          {"State queue", true},
                          {"Request memory", true},
                          {"Reply memory", true},
                          {"Refused", true},
                          {"Failed over", true},
                          {"Clients", true},
                          {"Up", true},
                          {"Host"},
                          {"Version"}},
              .rows = {},
              .empty = "No server is known."};
  const std::vector<Speed> speeds = Speeds(data.servers);
  for (size_t i = 0; i < data.servers.size(); ++i) {
    const ServerFigures& server = data.servers[i];
    const std::string name = server.self ? server.address + " (this one)" : server.address;
    if (!server.error.empty()) {
      std::vector<Cell> row(table.columns.size(), Cell{"-"});
      row[0] = Code(name);
      row[1] = Warning(server.another_graph ? "another graph"
                       : server.self        ? "no figures"
                                            : "does not answer");
      for (size_t c = 0; c < row.size(); ++c) {
        if (table.columns[c].number) row[c].kind = CellKind::kNumber;
      }
      if (server.another_graph) {
        row[row.size() - 2] = {HostOf(server)};
        row[row.size() - 1] = {server.version};
      }
      table.rows.push_back(std::move(row));
      continue;
    }
    MethodFigures sum;
    for (const MethodFigures& method : server.methods) {
      sum.calls += method.calls;
      sum.errors += method.errors;
      sum.in_flight += method.in_flight;
    }
    const auto queue = [&](std::string_view pool_name) {
      for (const PoolFigures& pool : server.pools) {
        if (pool.name == pool_name) return OfBound(pool.queued, pool.queue_limit, ShowCount);
      }
      return Number("-");
    };
    const Speed& speed = speeds[i];
    Cell ratio = Number(speed.ratio < 0 ? "-" : fmt::format("{:.1f}", speed.ratio));
    if (speed.slow) ratio = Warning(ratio.text + " slow");
    table.rows.push_back(
        {Code(name),
         server.phase == "serving" || server.phase.empty() ? Cell{"serving", CellKind::kGood}
                                                           : Warning(server.phase),
         {PartsOf(server)},
         Seconds(speed.p50_seconds),
         Seconds(speed.p99_seconds),
         ratio,
         Number(ShowCount(Rate(static_cast<double>(sum.calls), server.recent_seconds))),
         CountOrWarning(sum.errors),
         Count(sum.in_flight),
         queue("work"),
         queue("state"),
         OfBound(server.request_memory, server.request_memory_limit, ShowBytes),
         OfBound(server.reply_memory, server.reply_memory_limit, ShowBytes),
         CountOrWarning(server.refused),
         Count(server.failovers),
         Count(server.clients),
         Seconds(server.uptime_seconds),
         {HostOf(server)},
         {server.version}});
  }
  return table;
}

Table Partitions(const UiData& data) {
  Table table{.id = "partitions",
              .title = "Partitions",
              .note = "Which part of the graph is served by whom.",
              .columns = {{"Part", true},
                          {"Served by"},
                          {"Files", true},
                          {"Mapped", true},
                          {"In memory", true}},
              .rows = {},
              .empty = "No server says how many parts its graph has."};
  const int parts = NumParts(data);
  for (int part = 0; part < parts && table.rows.size() < kMostRows; ++part) {
    std::string by;
    PartFigures figures;
    for (const ServerFigures& server : data.servers) {
      if (!Serves(server, part)) continue;
      by += (by.empty() ? "" : ", ") + server.address;
      for (const PartFigures& own : server.parts) {
        if (own.part != part) continue;
        figures.bytes = std::max(figures.bytes, own.bytes);
        figures.mapped_bytes = std::max(figures.mapped_bytes, own.mapped_bytes);
        figures.resident_bytes = std::max(figures.resident_bytes, own.resident_bytes);
      }
    }
    const bool alone = !data.why_alone.empty();
    table.rows.push_back({{std::to_string(part), CellKind::kNumber},
                          !by.empty() ? Code(by)
                          : alone     ? Cell{"not by this server"}
                                      : Warning("nobody"),
                          Bytes(figures.bytes),
                          Bytes(figures.mapped_bytes),
                          Bytes(figures.resident_bytes)});
  }
  table.left_out = static_cast<size_t>(parts) - table.rows.size();
  return table;
}

Table Methods(const UiData& data) {
  Table table{.id = "methods",
              .title = "Calls by method",
              .note = "Of the last minute or so, all servers together.",
              .columns = {{"Method"},
                          {"Calls/s", true},
                          {"Errors", true},
                          {"In flight", true},
                          {"p50", true},
                          {"p99", true},
                          {"Slowest server"},
                          {"Received/s", true},
                          {"Sent/s", true}},
              .rows = {},
              .empty = "No calls in the last minute."};
  struct Sum {
    double calls = 0, received = 0, sent = 0, slowest = -1;
    int64_t errors = 0, in_flight = 0;
    std::string slowest_server;
    Histogram latency;
  };
  std::map<std::string, Sum> sums;
  for (const ServerFigures& server : data.servers) {
    for (const MethodFigures& method : server.methods) {
      if (method.calls == 0 && method.in_flight == 0) continue;
      Sum& sum = sums[method.name];
      sum.calls += Rate(static_cast<double>(method.calls), server.recent_seconds);
      sum.received += Rate(static_cast<double>(method.request_bytes), server.recent_seconds);
      sum.sent += Rate(static_cast<double>(method.reply_bytes), server.recent_seconds);
      sum.errors += method.errors;
      sum.in_flight += method.in_flight;
      Add(method.latency, sum.latency);
      if (method.calls > 0 && method.p99_seconds > sum.slowest) {
        sum.slowest = method.p99_seconds;
        sum.slowest_server = server.address;
      }
    }
  }
  for (const auto& [name, sum] : sums) {
    const bool shown = data.servers.size() > 1 && sum.slowest >= 0;
    table.rows.push_back(
        {Code(name),
         Number(ShowCount(sum.calls)),
         CountOrWarning(sum.errors),
         Count(sum.in_flight),
         Seconds(Quantile(sum.latency, 0.5)),
         Seconds(Quantile(sum.latency, 0.99)),
         {shown ? fmt::format("{}, p99 {}", sum.slowest_server, ShowSeconds(sum.slowest)) : "-"},
         Number(ShowBytes(sum.received)),
         Number(ShowBytes(sum.sent))});
  }
  return table;
}

Table SlowRequests(const UiData& data) {
  Table table{.id = "slow",
              .title = "Slow requests",
              .note = "The newest first. The trace id is that of the trainer's trace.",
              .columns = {{"Ended (UTC)"},
                          {"Method"},
                          {"Answering", true},
                          {"Sending", true},
                          {"Status"},
                          {"Server"},
                          {"Client"},
                          {"Rank"},
                          {"Request", true},
                          {"Reply", true},
                          {"Request id"},
                          {"Trace id"}},
              .rows = {},
              .empty = "None."};
  std::vector<std::pair<const SlowRequest*, const ServerFigures*>> all;
  for (const ServerFigures& server : data.servers) {
    for (const SlowRequest& request : server.slow) all.emplace_back(&request, &server);
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.first->unix_seconds > b.first->unix_seconds;
  });
  for (const auto& [request, server] : all) {
    if (table.rows.size() == kMostSlowRequests) break;
    table.rows.push_back({{TimeOfDay(request->unix_seconds, server->unix_seconds)},
                          Code(ShortMethod(request->method)),
                          Seconds(request->answering_seconds),
                          Seconds(request->sending_seconds),
                          request->status == "OK" ? Cell{"OK"} : Warning(request->status),
                          Code(server->address),
                          {request->host},
                          {request->rank},
                          Bytes(request->request_bytes),
                          Bytes(request->reply_bytes),
                          Code(request->request_id),
                          Code(request->trace_id)});
  }
  table.left_out = all.size() - table.rows.size();
  return table;
}

Table Clients(const UiData& data) {
  Table table{.id = "clients",
              .title = "Clients",
              .note = "Those that called within the last minute or so, the busiest first.",
              .columns = {{"Host"},
                          {"Rank"},
                          {"Server"},
                          {"Calls/s", true},
                          {"Sent/s", true},
                          {"Errors", true},
                          {"In flight", true},
                          {"Silent for", true},
                          {"Known for", true}},
              .rows = {},
              .empty = "No client has called in the last minute."};
  std::vector<std::pair<const ClientFigures*, const ServerFigures*>> all;
  for (const ServerFigures& server : data.servers) {
    for (const ClientFigures& client : server.callers) all.emplace_back(&client, &server);
  }
  const auto rate = [](const ClientFigures& client) {
    return Rate(static_cast<double>(client.calls), client.known_seconds);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& a, const auto& b) { return rate(*a.first) > rate(*b.first); });
  for (const auto& [client, server] : all) {
    if (table.rows.size() == kMostClients) break;
    table.rows.push_back(
        {Code(client->host),
         {client->rank},
         Code(server->address),
         Number(ShowCount(rate(*client))),
         Number(ShowBytes(Rate(static_cast<double>(client->sent_bytes), client->known_seconds))),
         CountOrWarning(client->errors),
         Count(client->in_flight),
         Seconds(client->silent_seconds),
         Seconds(client->known_seconds)});
  }
  table.left_out = all.size() - table.rows.size();
  return table;
}

Table Tensors(const UiData& data) {
  Table table{.id = "tensors",
              .title = "Mutable tensors",
              .note = "Staleness: how many pushes the oldest reader of the last minute was behind.",
              .columns = {{"Tensor"},
                          {"Part", true},
                          {"Server"},
                          {"LSN", true},
                          {"Staleness", true},
                          {"Step", true},
                          {"Ids", true},
                          {"Pushes", true},
                          {"Pushed rows", true},
                          {"Memory", true},
                          {"Pushes taken"}},
              .rows = {},
              .empty = "No server has mutable tensors (--state)."};
  for (const ServerFigures& server : data.servers) {
    for (const TensorFigures& tensor : server.tensors) {
      if (table.rows.size() == kMostRows) {
        ++table.left_out;
        continue;
      }
      table.rows.push_back({Code(tensor.name), Number(std::to_string(tensor.part)),
                            Code(server.address), Count(tensor.lsn), Count(tensor.staleness),
                            tensor.step < 0 ? Number("-") : Count(tensor.step), Count(tensor.ids),
                            Count(tensor.pushes), Count(tensor.pushed_rows),
                            Bytes(tensor.memory_bytes),
                            tensor.refused.empty() ? Cell{"yes", CellKind::kGood}
                                                   : Warning("no: " + tensor.refused)});
    }
    table.left_out += static_cast<size_t>(server.tensors_left_out);
  }
  return table;
}

Table Logs(const UiData& data) {
  Table table{.id = "log",
              .title = "Log and recovery",
              .note = "Unsynced: pushes that a crash of the machine would take away.",
              .columns = {{"Server"},
                          {"Part", true},
                          {"LSN", true},
                          {"Unsynced", true},
                          {"Log", true},
                          {"Syncs", true},
                          {"Mean sync", true},
                          {"Sync p99", true},
                          {"Checkpoints", true},
                          {"Last checkpoint", true},
                          {"Recovery took", true},
                          {"Replayed", true}},
              .rows = {},
              .empty = "No server keeps a log (--state)."};
  for (const ServerFigures& server : data.servers) {
    for (const LogFigures& log : server.logs) {
      if (table.rows.size() == kMostRows) {
        ++table.left_out;
        continue;
      }
      const double mean = log.syncs > 0 ? log.sync_seconds / static_cast<double>(log.syncs) : -1;
      const bool aged = log.checkpoint_age_seconds >= 0;
      table.rows.push_back({Code(server.address), Number(std::to_string(log.part)), Count(log.lsn),
                            Count(log.lsn - log.synced_lsn), Bytes(log.log_bytes), Count(log.syncs),
                            Seconds(mean), Seconds(log.sync_p99_seconds), Count(log.checkpoints),
                            Number(aged ? ShowSeconds(log.checkpoint_age_seconds) + " ago" : "-"),
                            Seconds(log.recovery_seconds), Count(log.replayed_pushes)});
    }
  }
  return table;
}

}  // namespace

std::vector<Table> ServerTables(const UiData& data) {
  return {Servers(data), Partitions(data), Methods(data), SlowRequests(data),
          Clients(data), Tensors(data),    Logs(data)};
}

std::string ServerSamples(const UiData& data) {
  std::string out;
  for (const ServerFigures& server : data.servers) {
    if (!server.error.empty()) continue;
    out += "<li" + Attribute("data-server", server.address);
    const auto add = [&](std::string_view name, auto value) {
      out += fmt::format(" data-{}=\"{}\"", name, value);
    };
    add("unix", server.unix_seconds);
    add("calls", server.total_calls);
    add("edges", server.total_edges);
    add("bytes", server.total_sent_bytes);
    for (const PoolFigures& pool : server.pools) {
      if (pool.name != "work" && pool.name != "state") continue;
      add(pool.name == "work" ? "queued" : "state-queued", pool.queued);
      add(pool.name == "work" ? "queue-limit" : "state-queue-limit", pool.queue_limit);
    }
    add("request-memory", server.request_memory);
    add("request-memory-limit", server.request_memory_limit);
    add("reply-memory", server.reply_memory);
    add("reply-memory-limit", server.reply_memory_limit);
    out += HistogramAttributes(server.total_latency) + "></li>\n";
  }
  return out;
}

}  // namespace halograph::ui
