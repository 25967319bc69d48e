#include "common/ui/status_reader.h"

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

#include "common/storage/lenient_json.h"
#include "common/ui/figures.h"

namespace halograph::ui {
namespace {

// Small numbers: of parts and the like.
int SmallInt(const Json& object, const char* key) {
  return static_cast<int>(std::clamp<int64_t>(WholeOf(object, key), 0, 1 << 20));
}
// The metrics of a program, by name.
class Metrics {
 public:
  explicit Metrics(const Json& status) {
    for (const Json& metric : ItemsOf(status, "metrics"))
      by_name_[TextOf(metric, "name")] = &metric;
  }

  // Calls `use(labels, series)` for each series; `labels(name)` is a label's value.
  template <typename Use>
  void Each(std::string_view name, Use use) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return;
    for (const Json& series : ItemsOf(*found->second, "series")) {
      use([&series](std::string_view label) { return Label(series, label); }, series);
    }
  }

  [[nodiscard]] double Sum(std::string_view name) const {
    double sum = 0;
    Each(name, [&](const auto&, const Json& series) { sum += DoubleOf(series, "value"); });
    return sum;
  }

  // The sum of the series that `wanted(labels)` names.
  template <typename Wanted>
  [[nodiscard]] Histogram SumOf(std::string_view name, Wanted wanted) const {
    Histogram sum;
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return sum;
    for (const Json& bound : ItemsOf(*found->second, "bounds"))
      sum.bounds.push_back(ToDouble(bound));
    sum.counts.assign(sum.bounds.size() + 1, 0);
    Each(name, [&](const auto& labels, const Json& series) {
      const Json& counts = ItemsOf(series, "counts");
      if (!wanted(labels) || counts.size() != sum.counts.size()) return;
      for (size_t i = 0; i < counts.size(); ++i) sum.counts[i] += ToWhole(ToDouble(counts[i]));
    });
    return sum;
  }

 private:
  static std::string Label(const Json& series, std::string_view name) {
    for (const Json& label : ItemsOf(series, "labels")) {
      if (TextOf(label, "name") == name) return TextOf(label, "value");
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
    const double upper = DoubleOf(bucket, "upper_seconds");
    if (std::isfinite(upper)) {
      histogram.bounds.push_back(upper);
      histogram.counts.push_back(WholeOf(bucket, "count"));
    } else {
      above += WholeOf(bucket, "count");
    }
  }
  if (!histogram.counts.empty() || above > 0) histogram.counts.push_back(above);
  return histogram;
}

std::vector<MethodFigures> ReadMethods(const Json& list) {
  std::vector<MethodFigures> methods;
  for (const Json& method : list) {
    methods.push_back({.name = TextOf(method, "method"),
                       .calls = WholeOf(method, "calls"),
                       .errors = WholeOf(method, "errors"),
                       .in_flight = WholeOf(method, "in_flight"),
                       .request_bytes = WholeOf(method, "request_bytes"),
                       .reply_bytes = WholeOf(method, "reply_bytes"),
                       .p50_seconds = DoubleOf(method, "p50_seconds"),
                       .p99_seconds = DoubleOf(method, "p99_seconds"),
                       .latency = ReadBuckets(ItemsOf(method, "latency"))});
  }
  return methods;
}

std::vector<PartFigures> ReadParts(const Json& stats, const Metrics& metrics) {
  std::vector<PartFigures> parts;
  for (const Json& part : ItemsOf(stats, "parts")) {
    parts.push_back({.part = static_cast<int>(std::clamp(ToDouble(part), 0.0, 1e6))});
  }
  const auto read = [&](std::string_view name, int64_t PartFigures::*figure) {
    metrics.Each(name, [&](const auto& labels, const Json& series) {
      for (PartFigures& part : parts) {
        if (labels("part") == std::to_string(part.part)) part.*figure = WholeOf(series, "value");
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
      pools[labels("pool")].*figure = WholeOf(series, "value");
    });
  };
  read("halograph_server_threads", &PoolFigures::threads);
  read("halograph_server_busy_threads", &PoolFigures::busy);
  read("halograph_server_queued_calls", &PoolFigures::queued);
  read("halograph_server_queue_limit_calls", &PoolFigures::queue_limit);
  if (!pools.contains("work")) {  // a server without these metrics
    pools["work"] = {.threads = WholeOf(stats, "pool_threads"),
                     .queued = WholeOf(stats, "pool_queued"),
                     .queue_limit = WholeOf(stats, "pool_queue_capacity")};
  }
  if (!pools.contains("state") && WholeOf(stats, "state_threads") > 0) {
    pools["state"] = {.threads = WholeOf(stats, "state_threads"),
                      .queued = WholeOf(stats, "state_queued"),
                      .queue_limit = WholeOf(stats, "state_queue_capacity")};
  }
  std::vector<PoolFigures> list;
  for (auto& [name, pool] : pools) {
    pool.name = name;
    if (pool.threads > 0 || pool.queue_limit > 0) list.push_back(pool);
  }
  return list;
}

void ReadTensors(const Json& state, ServerFigures& server) {
  for (const Json& tensor : ItemsOf(state, "tensors")) {
    const Json& spec = FieldOf(tensor, "spec");
    const std::string type = TextOf(spec, "type");
    server.tensors.push_back({.part = SmallInt(state, "part"),
                              .name = type.empty()
                                          ? TextOf(spec, "name")
                                          : fmt::format("{}/{}", type, TextOf(spec, "name")),
                              .lsn = WholeOf(tensor, "lsn"),
                              .staleness = WholeOf(tensor, "staleness"),
                              .step = WholeOf(tensor, "step"),
                              .ids = WholeOf(tensor, "end_id") - WholeOf(tensor, "first_id"),
                              .pushes = WholeOf(tensor, "pushes"),
                              .pushed_rows = WholeOf(tensor, "pushed_rows"),
                              .memory_bytes = WholeOf(tensor, "memory_bytes"),
                              .refused = TextOf(tensor, "refused")});
  }
}

void ReadState(const Json& stats, const Metrics& metrics, ServerFigures& server) {
  server.tensors_left_out = std::max<int64_t>(WholeOf(stats, "tensors_left_out"), 0);
  for (const Json& state : ItemsOf(stats, "state")) {
    ReadTensors(state, server);
    LogFigures log{.part = SmallInt(state, "part"),
                   .lsn = WholeOf(state, "lsn"),
                   .synced_lsn = WholeOf(state, "synced_lsn"),
                   .log_bytes = WholeOf(state, "log_bytes"),
                   .syncs = WholeOf(state, "syncs"),
                   .sync_seconds = DoubleOf(state, "sync_seconds"),
                   .checkpoints = WholeOf(state, "checkpoints"),
                   .recovery_seconds = DoubleOf(state, "recovery_seconds"),
                   .replayed_pushes = WholeOf(state, "replayed_pushes")};
    const auto of_part = [part = std::to_string(log.part)](const auto& labels) {
      return labels("part") == part;
    };
    log.sync_p99_seconds = Quantile(metrics.SumOf("halograph_state_sync_seconds", of_part), 0.99);
    metrics.Each("halograph_state_checkpoint_age_seconds",
                 [&](const auto& labels, const Json& series) {
                   if (of_part(labels)) log.checkpoint_age_seconds = DoubleOf(series, "value");
                 });
    metrics.Each("halograph_state_refuses_pushes", [&](const auto& labels, const Json& series) {
      if (of_part(labels)) log.refuses_pushes = DoubleOf(series, "value") > 0;
    });
    server.logs.push_back(log);
  }
}

void ReadCalls(const Json& stats, ServerFigures& server) {
  for (const Json& call : ItemsOf(stats, "slow_calls")) {
    server.slow.push_back({.unix_seconds = DoubleOf(call, "unix_seconds"),
                           .method = TextOf(call, "method"),
                           .host = TextOf(call, "host"),
                           .rank = TextOf(call, "rank"),
                           .request_id = TextOf(call, "request_id"),
                           .trace_id = TextOf(call, "trace_id"),
                           .status = TextOf(call, "status"),
                           .answering_seconds = DoubleOf(call, "answering_seconds"),
                           .sending_seconds = DoubleOf(call, "sending_seconds"),
                           .request_bytes = WholeOf(call, "request_bytes"),
                           .reply_bytes = WholeOf(call, "reply_bytes")});
  }
  for (const Json& client : ItemsOf(stats, "client_list")) {
    server.callers.push_back({.host = TextOf(client, "host"),
                              .rank = TextOf(client, "rank"),
                              .calls = WholeOf(client, "calls"),
                              .errors = WholeOf(client, "errors"),
                              .sent_bytes = WholeOf(client, "sent_bytes"),
                              .in_flight = WholeOf(client, "in_flight"),
                              .silent_seconds = DoubleOf(client, "silent_seconds"),
                              .known_seconds = DoubleOf(client, "known_seconds")});
  }
}

// Of the old fields, which every server has.
void ReadTotals(const Json& stats, const Metrics& metrics, ServerFigures& server) {
  for (const MethodFigures& method : ReadMethods(ItemsOf(stats, "methods"))) {
    if (!OfClients(method.name)) continue;
    server.total_calls += method.calls;
    server.total_sent_bytes += method.reply_bytes;
    Add(method.latency, server.total_latency);
  }
  server.total_edges = ToWhole(metrics.Sum("halograph_sampling_edges_total"));
}

TrainerFigures ReadTrainer(const Json& status) {
  const Metrics metrics(status);
  const auto all = [](const auto&) { return true; };
  TrainerFigures trainer{
      .version = TextOf(status, "build_version"),
      .phase = TextOf(status, "phase"),
      .host = TextOf(status, "host_name"),
      .pid = WholeOf(status, "pid"),
      .rank = WholeOf(status, "rank"),
      .world_size = WholeOf(status, "world_size"),
      .unix_seconds = DoubleOf(status, "unix_seconds"),
      .uptime_seconds = DoubleOf(status, "uptime_seconds"),
      .epoch = WholeOf(status, "epoch"),
      .step = WholeOf(status, "step"),
      .loss = std::numeric_limits<double>::quiet_NaN(),
      .total_steps = ToWhole(metrics.Sum("halograph_trainer_steps_total")),
      .total_seeds = ToWhole(metrics.Sum("halograph_trainer_seeds_total")),
      .step_seconds = metrics.SumOf("halograph_trainer_step_seconds", all),
      .wait_seconds = metrics.Sum("halograph_trainer_wait_seconds_total"),
      .sync_wait_seconds = metrics.Sum("halograph_trainer_sync_wait_seconds_total")};
  for (const Json& server : ItemsOf(status, "servers")) {
    if (server.is_string()) trainer.servers.push_back(server.get<std::string>());
  }
  metrics.Each("halograph_trainer_loss",
               [&](const auto&, const Json& series) { trainer.loss = DoubleOf(series, "value"); });
  metrics.Each("halograph_trainer_step_seconds", [&](const auto&, const Json& series) {
    trainer.step_seconds_sum += DoubleOf(series, "sum");
  });
  metrics.Each(
      "halograph_trainer_stage_seconds_total", [&](const auto& labels, const Json& series) {
        const std::string name = labels("stage");
        auto stage = std::find_if(trainer.stages.begin(), trainer.stages.end(),
                                  [&](const StageFigures& known) { return known.name == name; });
        if (stage == trainer.stages.end()) stage = trainer.stages.insert(stage, {.name = name});
        const std::string state = labels("state");
        const double seconds = DoubleOf(series, "value");
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
      (*pull).*figure += WholeOf(series, "value");
    });
  };
  pulls("halograph_trainer_pull_rows_total", &PulledRows::rows);
  pulls("halograph_trainer_pull_bytes_total", &PulledRows::bytes);
  metrics.Each("halograph_trainer_straggler_seconds", [&](const auto& labels, const Json& series) {
    trainer.delays.push_back({.rank = labels("rank"), .seconds = DoubleOf(series, "value")});
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
  ServerFigures server{.address = TextOf(stats, "address"),
                       .has_metrics = !ItemsOf(stats, "metrics").empty(),
                       .identity = TextOf(stats, "identity"),
                       .graph = TextOf(stats, "graph_name"),
                       .version = TextOf(stats, "build_version"),
                       .serving = TextOf(stats, "serving"),
                       .phase = BoolOf(stats, "draining") ? "draining" : TextOf(stats, "phase"),
                       .host = TextOf(stats, "host_name"),
                       .pid = WholeOf(stats, "pid"),
                       .unix_seconds = DoubleOf(stats, "unix_seconds"),
                       .uptime_seconds = DoubleOf(stats, "uptime_seconds"),
                       .num_parts = SmallInt(stats, "num_parts"),
                       .parts = ReadParts(stats, metrics),
                       .pools = ReadPools(stats, metrics),
                       .request_memory = WholeOf(stats, "request_memory_bytes"),
                       .request_memory_limit = WholeOf(stats, "request_memory_limit_bytes"),
                       .reply_memory = WholeOf(stats, "reply_memory_bytes"),
                       .reply_memory_limit = WholeOf(stats, "reply_memory_limit_bytes"),
                       .clients = WholeOf(stats, "clients"),
                       .refused = ToWhole(metrics.Sum("halograph_server_refused_total")),
                       .failovers = WholeOf(stats, "failovers"),
                       .recent_seconds = DoubleOf(stats, "recent_seconds"),
                       .methods = ReadMethods(ItemsOf(stats, "recent"))};
  ReadState(stats, metrics, server);
  ReadCalls(stats, server);
  ReadTotals(stats, metrics, server);
  return server;
}

ServerFigures ReadClusterServer(const Json& entry) {
  ServerFigures server;
  std::string error = TextOf(entry, "error");
  const bool answered = FieldOf(entry, "stats").is_object();
  if (answered) server = ReadServer(FieldOf(entry, "stats"));
  if (answered && !error.empty()) server = WithoutFigures(server);
  if (!answered && error.empty()) error = "it has not been asked yet";
  server.another_graph = answered && !error.empty();
  server.error = std::move(error);
  server.address = TextOf(entry, "address");
  server.self = BoolOf(entry, "self");
  if (FieldOf(entry, "clock_seconds_off").is_number()) {
    server.clock_seconds_off = DoubleOf(entry, "clock_seconds_off");
  }
  server.round_trip_seconds = DoubleOf(entry, "round_trip_seconds");
  // An older version does not say its time; charts need one.
  if (server.unix_seconds <= 0) server.unix_seconds = DoubleOf(entry, "here_unix_seconds");
  return server;
}

UiData ReadUiData(const Json& status) {
  UiData data;
  if (TextOf(status, "program") == "halograph-train") {
    data.trainer = ReadTrainer(status);
    SortStages(data.trainer->stages);
    return data;
  }
  if (!FieldOf(status, "servers").is_array()) {
    data.servers = {ReadServer(status)};
    data.servers[0].self = true;
    data.why_alone = "Only this server is shown.";
    return data;
  }
  data.asked_seconds_ago = DoubleOf(status, "asked_seconds_ago");
  data.why_alone = TextOf(status, "why_alone");
  for (const Json& entry : ItemsOf(status, "servers")) {
    data.servers.push_back(ReadClusterServer(entry));
  }
  return data;
}

}  // namespace halograph::ui
