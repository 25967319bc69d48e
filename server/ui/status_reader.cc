#include "server/ui/status_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "server/ui/figures.h"

namespace halograph::ui {
namespace {

const Json& Field(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

// The elements of a list; none of what is no list.
const Json& Items(const Json& object, const char* key) {
  static const Json none = Json::array();
  const Json& value = Field(object, key);
  return value.is_array() ? value : none;
}

double AsDouble(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  return NumberIn(value).value_or(0);
}

int64_t ToInt(double number) {
  if (std::isnan(number)) return 0;
  return static_cast<int64_t>(std::clamp(number, -9e18, 9e18));
}

double Double(const Json& object, const char* key) { return AsDouble(Field(object, key)); }
int64_t Int(const Json& object, const char* key) { return ToInt(Double(object, key)); }
// Small numbers: of parts and the like.
int SmallInt(const Json& object, const char* key) {
  return static_cast<int>(std::clamp<int64_t>(Int(object, key), 0, 1 << 20));
}
bool Bool(const Json& object, const char* key) {
  const Json& value = Field(object, key);
  return value.is_boolean() && value.get<bool>();
}
std::string Text(const Json& object, const char* key) {
  const Json& value = Field(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

// The metrics of a program, by name.
class Metrics {
 public:
  explicit Metrics(const Json& status) {
    for (const Json& metric : Items(status, "metrics")) by_name_[Text(metric, "name")] = &metric;
  }

  // Calls `use(labels, series)` for each series; `labels(name)` is a label's value.
  template <typename Use>
  void Each(std::string_view name, Use use) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return;
    for (const Json& series : Items(*found->second, "series")) {
      use([&series](std::string_view label) { return Label(series, label); }, series);
    }
  }

  [[nodiscard]] double Sum(std::string_view name) const {
    double sum = 0;
    Each(name, [&](const auto&, const Json& series) { sum += Double(series, "value"); });
    return sum;
  }

  // The sum of the series that `wanted(labels)` names.
  template <typename Wanted>
  [[nodiscard]] Histogram SumOf(std::string_view name, Wanted wanted) const {
    Histogram sum;
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return sum;
    for (const Json& bound : Items(*found->second, "bounds")) sum.bounds.push_back(AsDouble(bound));
    sum.counts.assign(sum.bounds.size() + 1, 0);
    Each(name, [&](const auto& labels, const Json& series) {
      const Json& counts = Items(series, "counts");
      if (!wanted(labels) || counts.size() != sum.counts.size()) return;
      for (size_t i = 0; i < counts.size(); ++i) sum.counts[i] += ToInt(AsDouble(counts[i]));
    });
    return sum;
  }

 private:
  static std::string Label(const Json& series, std::string_view name) {
    for (const Json& label : Items(series, "labels")) {
      if (Text(label, "name") == name) return Text(label, "value");
    }
    return {};
  }

  std::map<std::string, const Json*, std::less<>> by_name_;
};

// Buckets as MethodStats has them: {"upper_seconds", "count"}, of those above all bounds Infinity.
Histogram ReadBuckets(const Json& buckets) {
  Histogram histogram;
  int64_t above = 0;
  for (const Json& bucket : buckets) {
    const double upper = Double(bucket, "upper_seconds");
    if (std::isfinite(upper)) {
      histogram.bounds.push_back(upper);
      histogram.counts.push_back(Int(bucket, "count"));
    } else {
      above += Int(bucket, "count");
    }
  }
  if (!histogram.counts.empty() || above > 0) histogram.counts.push_back(above);
  return histogram;
}

std::vector<MethodFigures> ReadMethods(const Json& list) {
  std::vector<MethodFigures> methods;
  for (const Json& method : list) {
    methods.push_back({.name = Text(method, "method"),
                       .calls = Int(method, "calls"),
                       .errors = Int(method, "errors"),
                       .in_flight = Int(method, "in_flight"),
                       .request_bytes = Int(method, "request_bytes"),
                       .reply_bytes = Int(method, "reply_bytes"),
                       .p50_seconds = Double(method, "p50_seconds"),
                       .p99_seconds = Double(method, "p99_seconds"),
                       .latency = ReadBuckets(Items(method, "latency"))});
  }
  return methods;
}

std::vector<PartFigures> ReadParts(const Json& stats, const Metrics& metrics) {
  std::vector<PartFigures> parts;
  for (const Json& part : Items(stats, "parts")) {
    parts.push_back({.part = static_cast<int>(std::clamp(AsDouble(part), 0.0, 1e6))});
  }
  const auto read = [&](std::string_view name, int64_t PartFigures::*figure) {
    metrics.Each(name, [&](const auto& labels, const Json& series) {
      for (PartFigures& part : parts) {
        if (labels("part") == std::to_string(part.part)) part.*figure = Int(series, "value");
      }
    });
  };
  read("halograph_partition_bytes", &PartFigures::bytes);
  read("halograph_partition_mapped_bytes", &PartFigures::mapped_bytes);
  read("halograph_partition_resident_bytes", &PartFigures::resident_bytes);
  return parts;
}

std::vector<PoolFigures> ReadPools(const Json& stats, const Metrics& metrics) {
  std::map<std::string, PoolFigures> pools;
  const auto read = [&](std::string_view name, int64_t PoolFigures::*figure) {
    metrics.Each(name, [&](const auto& labels, const Json& series) {
      pools[labels("pool")].*figure = Int(series, "value");
    });
  };
  read("halograph_server_threads", &PoolFigures::threads);
  read("halograph_server_busy_threads", &PoolFigures::busy);
  read("halograph_server_queued_calls", &PoolFigures::queued);
  read("halograph_server_queue_limit_calls", &PoolFigures::queue_limit);
  if (!pools.contains("work")) {  // a server without these metrics
    pools["work"] = {.threads = Int(stats, "pool_threads"),
                     .queued = Int(stats, "pool_queued"),
                     .queue_limit = Int(stats, "pool_queue_capacity")};
  }
  if (!pools.contains("state") && Int(stats, "state_threads") > 0) {
    pools["state"] = {.threads = Int(stats, "state_threads"),
                      .queued = Int(stats, "state_queued"),
                      .queue_limit = Int(stats, "state_queue_capacity")};
  }
  std::vector<PoolFigures> list;
  for (auto& [name, pool] : pools) {
    pool.name = name;
    if (pool.threads > 0 || pool.queue_limit > 0) list.push_back(pool);
  }
  return list;
}

void ReadTensors(const Json& state, ServerFigures& server) {
  for (const Json& tensor : Items(state, "tensors")) {
    const Json& spec = Field(tensor, "spec");
    const std::string type = Text(spec, "type");
    server.tensors.push_back(
        {.part = SmallInt(state, "part"),
         .name = type.empty() ? Text(spec, "name") : fmt::format("{}/{}", type, Text(spec, "name")),
         .lsn = Int(tensor, "lsn"),
         .staleness = Int(tensor, "staleness"),
         .step = Int(tensor, "step"),
         .ids = Int(tensor, "end_id") - Int(tensor, "first_id"),
         .pushes = Int(tensor, "pushes"),
         .pushed_rows = Int(tensor, "pushed_rows"),
         .memory_bytes = Int(tensor, "memory_bytes"),
         .refused = Text(tensor, "refused")});
  }
}

void ReadState(const Json& stats, const Metrics& metrics, ServerFigures& server) {
  for (const Json& state : Items(stats, "state")) {
    ReadTensors(state, server);
    LogFigures log{.part = SmallInt(state, "part"),
                   .lsn = Int(state, "lsn"),
                   .synced_lsn = Int(state, "synced_lsn"),
                   .log_bytes = Int(state, "log_bytes"),
                   .syncs = Int(state, "syncs"),
                   .sync_seconds = Double(state, "sync_seconds"),
                   .checkpoints = Int(state, "checkpoints"),
                   .recovery_seconds = Double(state, "recovery_seconds"),
                   .replayed_pushes = Int(state, "replayed_pushes")};
    const auto of_part = [part = std::to_string(log.part)](const auto& labels) {
      return labels("part") == part;
    };
    log.sync_p99_seconds = Quantile(metrics.SumOf("halograph_state_sync_seconds", of_part), 0.99);
    metrics.Each("halograph_state_checkpoint_age_seconds",
                 [&](const auto& labels, const Json& series) {
                   if (of_part(labels)) log.checkpoint_age_seconds = Double(series, "value");
                 });
    metrics.Each("halograph_state_refuses_pushes", [&](const auto& labels, const Json& series) {
      if (of_part(labels)) log.refuses_pushes = Double(series, "value") > 0;
    });
    server.logs.push_back(log);
  }
}

void ReadCalls(const Json& stats, ServerFigures& server) {
  for (const Json& call : Items(stats, "slow_calls")) {
    server.slow.push_back({.unix_seconds = Double(call, "unix_seconds"),
                           .method = Text(call, "method"),
                           .host = Text(call, "host"),
                           .rank = Text(call, "rank"),
                           .request_id = Text(call, "request_id"),
                           .trace_id = Text(call, "trace_id"),
                           .status = Text(call, "status"),
                           .answering_seconds = Double(call, "answering_seconds"),
                           .sending_seconds = Double(call, "sending_seconds"),
                           .request_bytes = Int(call, "request_bytes"),
                           .reply_bytes = Int(call, "reply_bytes")});
  }
  for (const Json& client : Items(stats, "client_list")) {
    server.callers.push_back({.host = Text(client, "host"),
                              .rank = Text(client, "rank"),
                              .calls = Int(client, "calls"),
                              .errors = Int(client, "errors"),
                              .sent_bytes = Int(client, "sent_bytes"),
                              .in_flight = Int(client, "in_flight"),
                              .silent_seconds = Double(client, "silent_seconds"),
                              .known_seconds = Double(client, "known_seconds")});
  }
}

// Of the old fields, which every server has.
void ReadTotals(const Json& stats, const Metrics& metrics, ServerFigures& server) {
  for (const MethodFigures& method : ReadMethods(Items(stats, "methods"))) {
    if (!OfClients(method.name)) continue;
    server.total_calls += method.calls;
    server.total_sent_bytes += method.reply_bytes;
    Add(method.latency, server.total_latency);
  }
  server.total_edges = ToInt(metrics.Sum("halograph_sampling_edges_total"));
}

TrainerFigures ReadTrainer(const Json& status) {
  const Metrics metrics(status);
  const auto all = [](const auto&) { return true; };
  TrainerFigures trainer{
      .version = Text(status, "build_version"),
      .phase = Text(status, "phase"),
      .host = Text(status, "host_name"),
      .pid = Int(status, "pid"),
      .rank = Int(status, "rank"),
      .world_size = Int(status, "world_size"),
      .unix_seconds = Double(status, "unix_seconds"),
      .uptime_seconds = Double(status, "uptime_seconds"),
      .epoch = Int(status, "epoch"),
      .step = Int(status, "step"),
      .loss = std::numeric_limits<double>::quiet_NaN(),
      .total_steps = ToInt(metrics.Sum("halograph_trainer_steps_total")),
      .total_seeds = ToInt(metrics.Sum("halograph_trainer_seeds_total")),
      .step_seconds = metrics.SumOf("halograph_trainer_step_seconds", all),
      .wait_seconds = metrics.Sum("halograph_trainer_wait_seconds_total"),
      .sync_wait_seconds = metrics.Sum("halograph_trainer_sync_wait_seconds_total")};
  for (const Json& server : Items(status, "servers")) {
    if (server.is_string()) trainer.servers.push_back(server.get<std::string>());
  }
  metrics.Each("halograph_trainer_loss",
               [&](const auto&, const Json& series) { trainer.loss = Double(series, "value"); });
  metrics.Each("halograph_trainer_step_seconds", [&](const auto&, const Json& series) {
    trainer.step_seconds_sum += Double(series, "sum");
  });
  metrics.Each(
      "halograph_trainer_stage_seconds_total", [&](const auto& labels, const Json& series) {
        const std::string name = labels("stage");
        auto stage = std::find_if(trainer.stages.begin(), trainer.stages.end(),
                                  [&](const StageFigures& known) { return known.name == name; });
        if (stage == trainer.stages.end()) stage = trainer.stages.insert(stage, {.name = name});
        const std::string state = labels("state");
        const double seconds = Double(series, "value");
        if (state == "busy") stage->busy_seconds += seconds;
        if (state == "starved") stage->starved_seconds += seconds;
        if (state == "blocked") stage->blocked_seconds += seconds;
      });
  const auto pulls = [&](std::string_view name, int64_t PulledRows::*figure) {
    metrics.Each(name, [&](const auto& labels, const Json& series) {
      const std::string tensor = labels("tensor");
      const std::string source = labels("source");
      auto pull =
          std::find_if(trainer.pulls.begin(), trainer.pulls.end(), [&](const PulledRows& known) {
            return known.tensor == tensor && known.source == source;
          });
      if (pull == trainer.pulls.end()) {
        pull = trainer.pulls.insert(pull, {.tensor = tensor, .source = source});
      }
      (*pull).*figure += Int(series, "value");
    });
  };
  pulls("halograph_trainer_pull_rows_total", &PulledRows::rows);
  pulls("halograph_trainer_pull_bytes_total", &PulledRows::bytes);
  metrics.Each("halograph_trainer_straggler_seconds", [&](const auto& labels, const Json& series) {
    trainer.delays.push_back({.rank = labels("rank"), .seconds = Double(series, "value")});
  });
  return trainer;
}

// The order in which minibatches go through the stages; others come last.
void SortStages(std::vector<StageFigures>& stages) {
  constexpr std::array<std::string_view, 8> kOrder = {"schedule", "sample", "compact", "plan",
                                                      "gather",   "learn",  "move",    "train"};
  std::stable_sort(stages.begin(), stages.end(), [&](const StageFigures& a, const StageFigures& b) {
    return std::find(kOrder.begin(), kOrder.end(), a.name) <
           std::find(kOrder.begin(), kOrder.end(), b.name);
  });
}

// What says what a server is, whose figures are not those of the graph.
ServerFigures WithoutFigures(const ServerFigures& server) {
  return {.identity = server.identity,
          .graph = server.graph,
          .version = server.version,
          .serving = server.serving,
          .phase = server.phase,
          .host = server.host,
          .pid = server.pid,
          .unix_seconds = server.unix_seconds,
          .uptime_seconds = server.uptime_seconds};
}

}  // namespace

ServerFigures ReadServer(const Json& stats) {
  const Metrics metrics(stats);
  ServerFigures server{.address = Text(stats, "address"),
                       .has_metrics = !Items(stats, "metrics").empty(),
                       .identity = Text(stats, "identity"),
                       .graph = Text(stats, "graph_name"),
                       .version = Text(stats, "build_version"),
                       .serving = Text(stats, "serving"),
                       .phase = Bool(stats, "draining") ? "draining" : Text(stats, "phase"),
                       .host = Text(stats, "host_name"),
                       .pid = Int(stats, "pid"),
                       .unix_seconds = Double(stats, "unix_seconds"),
                       .uptime_seconds = Double(stats, "uptime_seconds"),
                       .num_parts = SmallInt(stats, "num_parts"),
                       .parts = ReadParts(stats, metrics),
                       .pools = ReadPools(stats, metrics),
                       .request_memory = Int(stats, "request_memory_bytes"),
                       .request_memory_limit = Int(stats, "request_memory_limit_bytes"),
                       .reply_memory = Int(stats, "reply_memory_bytes"),
                       .reply_memory_limit = Int(stats, "reply_memory_limit_bytes"),
                       .clients = Int(stats, "clients"),
                       .refused = ToInt(metrics.Sum("halograph_server_refused_total")),
                       .failovers = Int(stats, "failovers"),
                       .recent_seconds = Double(stats, "recent_seconds"),
                       .methods = ReadMethods(Items(stats, "recent"))};
  ReadState(stats, metrics, server);
  ReadCalls(stats, server);
  ReadTotals(stats, metrics, server);
  return server;
}

ServerFigures ReadClusterServer(const Json& entry) {
  ServerFigures server;
  std::string error = Text(entry, "error");
  const bool answered = Field(entry, "stats").is_object();
  if (answered) server = ReadServer(Field(entry, "stats"));
  if (answered && !error.empty()) server = WithoutFigures(server);
  if (!answered && error.empty()) error = "it has not been asked yet";
  server.another_graph = answered && !error.empty();
  server.error = std::move(error);
  server.address = Text(entry, "address");
  server.self = Bool(entry, "self");
  if (Field(entry, "clock_seconds_off").is_number()) {
    server.clock_seconds_off = Double(entry, "clock_seconds_off");
  }
  server.round_trip_seconds = Double(entry, "round_trip_seconds");
  // An older version does not say its time; charts need one.
  if (server.unix_seconds <= 0) server.unix_seconds = Double(entry, "here_unix_seconds");
  return server;
}

UiData ReadUiData(const Json& status) {
  UiData data;
  if (Text(status, "program") == "halograph-train") {
    data.trainer = ReadTrainer(status);
    SortStages(data.trainer->stages);
    return data;
  }
  if (!Field(status, "servers").is_array()) {
    data.servers = {ReadServer(status)};
    data.servers[0].self = true;
    data.why_alone = "Only this server is shown.";
    return data;
  }
  data.asked_seconds_ago = Double(status, "asked_seconds_ago");
  data.why_alone = Text(status, "why_alone");
  for (const Json& entry : Items(status, "servers")) {
    data.servers.push_back(ReadClusterServer(entry));
  }
  return data;
}

}  // namespace halograph::ui
