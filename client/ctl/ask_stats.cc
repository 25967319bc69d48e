#include "client/ctl/ask_stats.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "client/remote/message_io.h"
#include "client/remote/rpc.h"
#include "common/base/mutex.h"
#include "common/base/printable.h"
#include "common/base/wall_clock.h"
#include "common/state/import_mark.h"
#include "halograph/v1/admin.pb.h"
#include "proto/methods/methods.h"
#include "proto/state/tensor_messages.h"

namespace halograph::ctl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kEmptyCalls = 5;

// What a server may say that its graph has.
constexpr uint32_t kMostParts = 1 << 16;

double ToSeconds(Clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

std::string Name(const std::string& text) { return Printable(text, kNameShown); }

void Add(const v1::Metric& metric, MetricValues* values) {
  MetricFamilyValues& family = (*values)[metric.name()];
  family.bounds.assign(metric.bounds().begin(), metric.bounds().end());
  for (const v1::Series& told : metric.series()) {
    SeriesValues series{.value = told.value(), .count = told.count(), .sum = told.sum()};
    for (const v1::Label& label : told.labels()) series.labels[label.name()] = label.value();
    if (told.counts_size() == metric.bounds_size() + 1) {
      series.counts.assign(told.counts().begin(), told.counts().end());
    }
    family.series.push_back(std::move(series));
  }
}

// Calls of an older server, as newer ones tell them. It says no sums of seconds: within a bucket,
// calls count as its middle.
void AddCalls(const v1::MethodStats& method, MetricValues* values) {
  MetricFamilyValues& family = (*values)["grpc_server_call_duration_seconds"];
  SeriesValues series{.labels = {{"grpc_method", fmt::format("{}.{}", kPackage, method.method())},
                                 {"grpc_status", "OK"}}};
  double low = 0;
  std::vector<double> bounds;
  for (const v1::Bucket& bucket : method.latency()) {
    const bool last = !(bucket.upper_seconds() < 1e9);
    series.count += bucket.count();
    series.counts.push_back(bucket.count());
    const double middle = last ? low : (low + bucket.upper_seconds()) / 2;
    series.sum += middle * static_cast<double>(bucket.count());
    if (!last) bounds.push_back(low = bucket.upper_seconds());
  }
  if (family.bounds.empty()) family.bounds = bounds;
  if (family.bounds != bounds || series.counts.size() != bounds.size() + 1) series.counts.clear();
  family.series.push_back(std::move(series));
}

// Of an older server, which says how long all syncs took, and how many there were.
void AddSyncs(const v1::PartState& part, MetricValues* values) {
  (*values)["halograph_state_sync_seconds"].series.push_back(
      {.labels = {{"part", std::to_string(part.part())}},
       .count = part.syncs(),
       .sum = part.sync_seconds()});
}

Status AddTensors(const v1::PartState& part, ServerReading* reading) {
  HG_ASSIGN_OR_RETURN(const StateStats state, ToStats(part));
  ImportMarks marks;
  for (const MutableTensorStats& tensor : state.tensors) marks.Add(tensor.spec.ref);
  for (const MutableTensorStats& tensor : state.tensors) {
    if (IsImportMark(tensor.spec.ref)) continue;
    reading->tensors.push_back({.part = static_cast<int>(part.part()),
                                .name = Name(tensor.spec.ref.ToString()),
                                .step = tensor.step,
                                .refused = Printable(tensor.refused, kMessageShown),
                                .importing = marks.HasThatOf(tensor.spec.ref)});
  }
  return OkStatus();
}

Status Fill(const v1::StatsReply& reply, ServerReading* reading) {
  reading->unix_seconds = reply.unix_seconds();
  reading->identity = Name(reply.identity());
  reading->graph_name = Name(reply.graph_name());
  reading->build_version = Name(reply.build_version());
  reading->own_address = Name(reply.address());
  reading->host_name = Name(reply.host_name());
  reading->phase = Name(reply.phase());
  for (const uint32_t part : reply.parts()) reading->parts.push_back(static_cast<int>(part));
  reading->num_parts = static_cast<int>(std::min<uint32_t>(reply.num_parts(), kMostParts));
  reading->draining = reply.draining();
  reading->uptime_seconds = reply.uptime_seconds();
  for (const v1::MethodStats& method : reply.methods()) {
    if (method.method() == MethodName(Method::kStats)) continue;
    reading->in_flight += method.in_flight();
    reading->ended += method.calls();
  }
  constexpr int kMostLeftOut = 32;
  for (int i = 0; i < std::min(reply.left_out_size(), kMostLeftOut); ++i) {
    reading->left_out.push_back(Name(reply.left_out(i)));
  }
  reading->tensors_left_out = reply.tensors_left_out();
  for (const v1::Metric& metric : reply.metrics()) Add(metric, &reading->metrics);
  reading->without_metrics = reply.metrics().empty() && reading->left_out.empty();
  if (reading->without_metrics) {
    for (const v1::MethodStats& method : reply.methods()) AddCalls(method, &reading->metrics);
    for (const v1::PartState& part : reply.state()) AddSyncs(part, &reading->metrics);
  }
  for (const v1::PartState& part : reply.state()) HG_RETURN_IF_ERROR(AddTensors(part, reading));
  for (const v1::SlowCall& call : reply.slow_calls()) {
    reading->slow_calls.push_back({.unix_seconds = call.unix_seconds(),
                                   .method = Name(call.method()),
                                   .host = Name(call.host()),
                                   .rank = Name(call.rank()),
                                   .status = Name(call.status()),
                                   .seconds = call.answering_seconds() + call.sending_seconds()});
  }
  for (const v1::ClientStats& client : reply.client_list()) {
    reading->clients.push_back({.host = Name(client.host()),
                                .rank = Name(client.rank()),
                                .in_flight = client.in_flight(),
                                .silent_seconds = client.silent_seconds()});
  }
  return OkStatus();
}

Rpc StatsCall(int server, bool metrics, int64_t max_bytes, ServerReading* reading) {
  Rpc rpc;
  rpc.servers = {server};
  rpc.method = Method::kStats;
  rpc.make_request = [metrics, max_bytes] {
    v1::StatsRequest request;
    request.set_metrics(metrics);
    request.set_max_bytes(max_bytes);
    return request.SerializeAsString();
  };
  rpc.on_reply = [metrics, reading](ReplyPieces pieces, std::vector<Rpc>*) {
    v1::StatsReply reply;
    HG_RETURN_IF_ERROR(ParseReply(pieces, &reply));
    return metrics ? Fill(reply, reading) : OkStatus();
  };
  rpc.on_error = [reading](int, const Status& error, std::vector<Rpc>*) {
    reading->error = error;
    return OkStatus();  // the others are asked all the same
  };
  return rpc;
}

}  // namespace

// When the last call to each server began and ended.
struct StatsAsker::Times {
  struct Span {
    Clock::time_point begin;
    Clock::time_point end;
    double Seconds() const { return std::chrono::duration<double>(end - begin).count(); }
  };

  void Ended(const CallRecord& call) {
    const MutexLock lock(mutex);
    if (call.answered) of_server[std::string(call.server)] = {call.begin, call.end};
  }
  [[nodiscard]] Span Of(const std::string& server) {
    const MutexLock lock(mutex);
    return of_server[server];
  }

  Mutex mutex;
  std::map<std::string, Span> of_server HG_GUARDED_BY(mutex);
};

StatsAsker::StatsAsker(RemoteOptions options) : times_(std::make_unique<Times>()) {
  options.on_call_ended = [times = times_.get()](const CallRecord& call) { times->Ended(call); };
  client_ = std::make_unique<RpcClient>(options);
}

StatsAsker::~StatsAsker() = default;

void StatsAsker::AskOnce(bool metrics, std::vector<ServerReading>* readings) {
  std::vector<Rpc> calls;
  for (int i = 0; i < client_->num_servers(); ++i) {
    ServerReading& reading = (*readings)[static_cast<size_t>(i)];
    if (reading.error.ok()) {
      calls.push_back(StatsCall(i, metrics, client_->options().max_message_bytes, &reading));
    }
  }
  if (calls.empty()) return;
  CallContext context;
  const Status failed = client_->Run(context, std::move(calls));
  for (ServerReading& reading : *readings) {
    if (!failed.ok() && reading.error.ok()) reading.error = failed;
  }
}

std::vector<ServerReading> StatsAsker::Ask() {
  std::vector<ServerReading> readings(static_cast<size_t>(client_->num_servers()));
  for (int i = 0; i < client_->num_servers(); ++i) {
    readings[static_cast<size_t>(i)].address = client_->address(i);
  }
  AskOnce(true, &readings);
  const Clock::time_point now = Clock::now();
  const double now_unix = SecondsSince1970();
  for (ServerReading& reading : readings) {
    if (!reading.error.ok()) continue;
    const Times::Span span = times_->Of(reading.address);
    reading.at_seconds = ToSeconds(span.end);
    reading.answer_seconds = span.Seconds();
    const auto ago = std::chrono::duration<double>(now - span.end).count();
    reading.here_unix_seconds = now_unix - ago - reading.answer_seconds / 2;
  }
  std::vector<ServerReading> probes = readings;
  for (int i = 0; i < kEmptyCalls; ++i) {
    AskOnce(false, &probes);
    for (size_t server = 0; server < readings.size(); ++server) {
      if (!probes[server].error.ok()) continue;
      const double took = times_->Of(readings[server].address).Seconds();
      std::optional<double>& fastest = readings[server].round_trip_seconds;
      fastest = std::min(fastest.value_or(took), took);
    }
  }
  return readings;
}

}  // namespace halograph::ctl
