#include "client/ctl/status_table.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "client/remote/message_io.h"
#include "client/remote/rpc.h"
#include "common/base/call_metadata.h"
#include "common/base/printable.h"
#include "common/base/units.h"
#include "common/state/import_mark.h"
#include "halograph/v1/admin.pb.h"
#include "proto/state/tensor_messages.h"

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

Status Fill(const v1::StatsReply& reply, ServerStatus* status) {
  status->identity = reply.identity();
  status->graph_name = reply.graph_name();
  status->build_version = reply.build_version();
  for (const uint32_t part : reply.parts()) status->parts.push_back(static_cast<int>(part));
  status->num_parts = static_cast<int>(std::min<uint32_t>(reply.num_parts(), kMostParts));
  status->serving = reply.serving();
  status->draining = reply.draining();
  status->uptime_seconds = reply.uptime_seconds();
  status->clients = reply.clients();
  status->failovers = reply.failovers();
  status->total = Figures(reply.methods(), reply.uptime_seconds());
  status->recent =
      reply.recent_seconds() > 0 ? Figures(reply.recent(), reply.recent_seconds()) : status->total;
  for (const v1::MethodStats& method : reply.methods()) {
    status->in_flight += method.in_flight();
    status->methods.push_back(MethodToJson(method));
  }
  for (const v1::PartState& part : reply.state()) {
    HG_ASSIGN_OR_RETURN(status->state[static_cast<int>(part.part())], ToStats(part));
  }
  status->tensors_left_out = reply.tensors_left_out();
  status->left_out.assign(reply.left_out().begin(), reply.left_out().end());
  return OkStatus();
}

Rpc StatsCall(int server, int64_t max_bytes, ServerStatus* status) {
  Rpc rpc;
  rpc.servers = {server};
  rpc.method = Method::kStats;
  rpc.make_request = [max_bytes] {
    v1::StatsRequest request;
    request.set_max_bytes(max_bytes);
    return request.SerializeAsString();
  };
  rpc.on_reply = [status](ReplyPieces pieces, std::vector<Rpc>*) {
    v1::StatsReply reply;
    HG_RETURN_IF_ERROR(ParseReply(pieces, &reply));
    return Fill(reply, status);
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
  if (ReasonOf(reachable) == kClosedAtOnce) return "refused";
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
          FormatCount(server.failovers),
          fmt::format("{:.1f}", PerSecond(recent, recent.calls)),
          FormatLatency(recent.p50_seconds),
          FormatLatency(recent.p99_seconds),
          FormatRate(recent, recent.received_bytes),
          FormatRate(recent, recent.sent_bytes)};
}

// Columns from `first_number` on are right-aligned.
std::string LayOut(const std::vector<Row>& rows, size_t first_number) {
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string table;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += i < first_number ? fmt::format("{:<{}}  ", row[i], widths[i])
                               : fmt::format("{:>{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    table += line + "\n";
  }
  return table;
}

// A graph that servers which answer serve.
struct ServedGraphStatus {
  std::string name;
  int num_parts = 0;                                // 0: none of them says
  std::map<int, std::vector<std::string>> servers;  // by part, those that nobody serves too
};

// By identity.
std::map<std::string, ServedGraphStatus> ByGraph(const std::vector<ServerStatus>& servers) {
  std::map<std::string, ServedGraphStatus> graphs;
  for (const ServerStatus& server : servers) {
    if (!server.reachable.ok()) continue;
    ServedGraphStatus& graph = graphs[server.identity];
    graph.name = server.graph_name;
    graph.num_parts = std::max(graph.num_parts, server.num_parts);
    for (const int part : server.parts) {
      graph.servers[part].push_back(server.address + (server.draining ? " (draining)" : ""));
    }
  }
  for (auto& [identity, graph] : graphs) {
    for (int part = 0; part < graph.num_parts; ++part) graph.servers[part];
  }
  return graphs;
}

ImportMarks MarksIn(const StateStats& state) {
  ImportMarks marks;
  for (const MutableTensorStats& tensor : state.tensors) marks.Add(tensor.spec.ref);
  return marks;
}

Json ToJson(int part, const StateStats& state) {
  Json tensors = Json::array();
  const ImportMarks marks = MarksIn(state);
  for (const MutableTensorStats& tensor : state.tensors) {
    if (IsImportMark(tensor.spec.ref)) continue;
    tensors.push_back({{"spec", tensor.spec.ToJson()},
                       {"rows", tensor.ids.size()},
                       {"memory_bytes", tensor.memory_bytes},
                       {"pushes", tensor.pushes},
                       {"pushed_rows", tensor.pushed_rows},
                       {"not_finite_rows", tensor.not_finite_rows},
                       {"lsn", tensor.lsn},
                       {"step", tensor.step},
                       {"staleness", tensor.staleness},
                       {"importing", marks.HasThatOf(tensor.spec.ref)},
                       {"refused", tensor.refused}});
  }
  return {{"part", part},
          {"tensors", std::move(tensors)},
          {"lsn", state.lsn},
          {"synced_lsn", state.synced_lsn},
          {"log_bytes", state.log_bytes},
          {"sync_seconds", state.sync_seconds},
          {"syncs", state.syncs},
          {"recovery_seconds", state.recovery_seconds},
          {"replayed_pushes", state.replayed_pushes},
          {"checkpoints", state.checkpoints},
          {"checkpoint_age_seconds", state.checkpoint_age_seconds}};
}

Json ToJson(const CallFigures& figures) {
  return {{"seconds", figures.seconds},         {"calls", figures.calls},
          {"errors", figures.errors},           {"p50_seconds", figures.p50_seconds},
          {"p99_seconds", figures.p99_seconds}, {"received_bytes", figures.received_bytes},
          {"sent_bytes", figures.sent_bytes}};
}

}  // namespace

std::vector<ServerStatus> AskStatus(const RemoteOptions& told) {
  RemoteOptions options = told;
  const Status found = options.FindServers(std::chrono::steady_clock::now() + options.timeout);
  const std::vector<std::string>& servers = options.servers;
  std::vector<ServerStatus> statuses(servers.size());
  for (size_t i = 0; i < servers.size(); ++i) statuses[i].address = servers[i];

  CallContext context;
  Status failed = found.ok() ? options.Validate() : found;
  if (failed.ok()) {
    RpcClient client(options);
    std::vector<Rpc> calls;
    for (size_t i = 0; i < servers.size(); ++i) {
      calls.push_back(StatsCall(static_cast<int>(i), options.max_message_bytes, &statuses[i]));
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
                            "IN FLIGHT", "CALLS", "ERRORS", "TAKEN OVER", "CALLS/S", "P50", "P99",
                            "IN", "OUT"}};
  std::map<int, StateStats> states;
  for (const ServerStatus& server : servers) {
    rows.push_back(ToRow(server));
    states.insert(server.state.begin(), server.state.end());
  }
  constexpr size_t kFirstNumber = 5;
  const std::string of_tensors = FormatStateTable(states);
  return LayOut(rows, kFirstNumber) + (of_tensors.empty() ? "" : "\n") + of_tensors;
}

std::string FormatParts(const std::vector<ServerStatus>& servers) {
  bool worth_it = false;  // else the table of servers says it all
  std::vector<std::string> down;
  std::vector<Row> rows = {{"GRAPH", "PART", "SERVERS"}};
  for (const auto& [identity, graph] : ByGraph(servers)) {
    for (const auto& [part, addresses] : graph.servers) {
      worth_it = worth_it || addresses.size() > 1;
      rows.push_back({Printable(graph.name, kNameShown), fmt::format("{}", part),
                      addresses.empty() ? "none" : fmt::format("{}", fmt::join(addresses, ", "))});
    }
  }
  for (const ServerStatus& server : servers) {
    if (!server.reachable.ok()) down.push_back(server.address);
  }
  if (!worth_it && (down.empty() || rows.size() == 1)) return "";
  std::string table = LayOut(rows, rows[0].size());
  if (!down.empty()) {
    table += fmt::format("not known, since down: what {} serve{}\n", fmt::join(down, ", "),
                         down.size() == 1 ? "s" : "");
  }
  return table;
}

std::string FormatLeftOut(const std::vector<ServerStatus>& servers) {
  std::string lines;
  for (const ServerStatus& server : servers) {
    if (server.tensors_left_out > 0) {
      lines += fmt::format(
          "{}: {} tensor{} of parts had no room in its answer: halograph-ctl state list shows "
          "all\n",
          server.address, FormatCount(server.tensors_left_out),
          server.tensors_left_out == 1 ? "" : "s");
    }
    if (server.left_out.empty()) continue;
    std::vector<std::string> names;
    for (const std::string& name : server.left_out) names.push_back(Printable(name, kNameShown));
    lines += fmt::format(
        "{}: had no room in its answer for: {}; give it and ctl a larger --max-message-bytes\n",
        server.address, fmt::join(names, ", "));
  }
  return lines;
}

std::string FormatStateTable(const std::map<int, StateStats>& states) {
  std::vector<Row> rows = {{"TENSOR", "PUSHES", "PART", "ROWS", "DIM", "DTYPE", "MEMORY", "PUSHED",
                            "LSN", "STEP", "BEHIND", "LOG", "SYNCED TO", "SYNCING"}};
  for (const auto& [part, state] : states) {
    const ImportMarks marks = MarksIn(state);
    for (const MutableTensorStats& tensor : state.tensors) {
      if (IsImportMark(tensor.spec.ref)) continue;
      const std::string_view pushes = marks.HasThatOf(tensor.spec.ref) ? "importing" : "taken";
      rows.push_back({Printable(tensor.spec.ref.ToString(), kNameShown),
                      std::string(tensor.refused.empty() ? pushes : "refused"),
                      std::to_string(part), FormatCount(tensor.ids.size()),
                      std::to_string(tensor.spec.dim), std::string(DTypeName(tensor.spec.dtype)),
                      FormatBytes(tensor.memory_bytes), FormatCount(tensor.pushes),
                      std::to_string(tensor.lsn),
                      tensor.step < 0 ? "-" : std::to_string(tensor.step),
                      std::to_string(tensor.staleness), FormatBytes(state.log_bytes),
                      std::to_string(state.synced_lsn), FormatSeconds(state.sync_seconds)});
    }
  }
  return rows.size() == 1 ? "" : LayOut(rows, 2);
}

std::vector<std::string> Problems(const std::vector<ServerStatus>& servers) {
  std::vector<std::string> problems;
  for (const ServerStatus& server : servers) {
    if (server.reachable.ok()) continue;
    problems.push_back(fmt::format("{} is down ({}): {}", server.address,
                                   KindOfDown(server.reachable), ToString(server.reachable)));
  }
  for (const ServerStatus& server : servers) {
    for (const auto& [part, state] : server.state) {
      const ImportMarks marks = MarksIn(state);
      for (const MutableTensorStats& tensor : state.tensors) {
        if (marks.HasThatOf(tensor.spec.ref)) {
          problems.push_back(
              fmt::format("{}: part {}: {} is being imported, or its import was interrupted",
                          server.address, part, Printable(tensor.spec.ref.ToString(), kNameShown)));
        }
        if (tensor.refused.empty()) continue;
        problems.push_back(fmt::format("{}: part {}: pushes to {} are refused: {}", server.address,
                                       part, Printable(tensor.spec.ref.ToString(), kNameShown),
                                       Printable(tensor.refused, kMessageShown)));
      }
    }
  }
  for (const auto& [identity, graph] : ByGraph(servers)) {
    std::vector<int> missing;
    for (const auto& [part, addresses] : graph.servers) {
      if (addresses.empty() && part < graph.num_parts) missing.push_back(part);
    }
    if (missing.empty()) continue;
    problems.push_back(fmt::format(
        "no server that answers serves part{} {} of {} of graph {}: start one, or name it in "
        "--servers",
        missing.size() == 1 ? "" : "s", fmt::join(missing, ", "), graph.num_parts,
        Printable(graph.name, kNameShown)));
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
                  {"failovers", server.failovers},
                  {"recent", ToJson(server.recent)},
                  {"methods", server.methods},
                  {"state", ToJson(server.state)},
                  {"tensors_left_out", server.tensors_left_out},
                  {"left_out", server.left_out}});
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

Json ToJson(const std::map<int, StateStats>& states) {
  Json parts = Json::array();
  for (const auto& [part, state] : states) parts.push_back(ToJson(part, state));
  return parts;
}

}  // namespace halograph
