#include "server/handlers/server_metrics.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "common/base/build_info.h"
#include "common/base/host_name.h"
#include "common/base/wall_clock.h"
#include "server/handlers/graph_counters.h"
#include "server/handlers/part_figures.h"
#include "server/runtime/background_value.h"
#include "server/runtime/shared_reading.h"

namespace halograph::server {
namespace {

constexpr MetricUnit kNone = MetricUnit::kNone;
constexpr MetricUnit kBytes = MetricUnit::kBytes;
constexpr MetricUnit kSeconds = MetricUnit::kSeconds;

using Samples = std::vector<MetricSample>;

double ToDouble(auto number) { return static_cast<double>(number); }

// One a pool.
template <typename Read>
Samples OfPools(const Dispatcher& dispatcher, const Read& read) {
  Samples samples;
  for (const Lane lane : {Lane::kWork, Lane::kState, Lane::kSlow}) {
    const bool shared = &dispatcher.pool(lane) == &dispatcher.pool(Lane::kWork);
    if (shared && lane != Lane::kWork) continue;  // it has no threads of its own
    samples.push_back({{std::string(LaneName(lane))}, ToDouble(read(dispatcher.pool(lane)))});
  }
  return samples;
}

// Adds readers to a list; a metric is a line.
class Adder {
 public:
  explicit Adder(MetricRegistry* metrics) : metrics_(*metrics) {}

  void Gauge(const char* name, MetricUnit unit, const char* help, std::function<double()> read) {
    readers_.push_back(metrics_.ReadGauge({name, unit, help}, {}, std::move(read)));
  }
  void Counter(const char* name, MetricUnit unit, const char* help, std::function<double()> read) {
    readers_.push_back(metrics_.ReadCounter({name, unit, help}, {}, std::move(read)));
  }
  void Gauges(const char* name, MetricUnit unit, const char* help, std::vector<std::string> labels,
              std::function<Samples()> read) {
    readers_.push_back(metrics_.ReadGauges({name, unit, help}, std::move(labels), std::move(read)));
  }
  void Counters(const char* name, MetricUnit unit, const char* help,
                std::vector<std::string> labels, std::function<Samples()> read) {
    readers_.push_back(
        metrics_.ReadCounters({name, unit, help}, std::move(labels), std::move(read)));
  }
  [[nodiscard]] std::vector<MetricReader> Take() { return std::move(readers_); }

 private:
  MetricRegistry& metrics_;
  std::vector<MetricReader> readers_;
};

// Between two looks at what takes long.
constexpr std::chrono::seconds kLongLook{10};

// A figure of each part, out of a map by part; none from null.
template <typename Map, typename Read>
Samples OfParts(const Map* parts, const Read& read) {
  Samples samples;
  if (parts == nullptr) return samples;
  for (const auto& [part, figures] : *parts) {
    samples.push_back({{std::to_string(part)}, ToDouble(read(figures))});
  }
  return samples;
}

// A figure of each part, of those that were read last in the background.
template <typename Map, typename Read>
std::function<Samples()> OfLast(std::shared_ptr<BackgroundValue<Map>> figures, Read read) {
  return [figures = std::move(figures), read] { return OfParts(figures->Last().get(), read); };
}

// The state of all parts, once a scrape.
using StateReading = SharedReading<std::map<int, StateStats>>;

// A figure of the state of each part.
template <typename Read>
std::function<Samples()> OfStates(const std::shared_ptr<StateReading>& states, Read read) {
  return [states, reader = states->AddReader(), read] {
    return OfParts(states->Get(reader).get(), read);
  };
}

// A figure of each tensor of each part.
template <typename Read>
std::function<Samples()> OfTensors(const std::shared_ptr<StateReading>& states, Read read) {
  return [states, reader = states->AddReader(), read] {
    Samples samples;
    for (const auto& [part, stats] : *states->Get(reader)) {
      for (const MutableTensorStats& tensor : stats.tensors) {
        samples.push_back(
            {{std::to_string(part), TensorLabel(tensor.spec.ref)}, ToDouble(read(tensor))});
      }
    }
    return samples;
  };
}

int64_t MemoryOf(const StateStats& stats) {
  int64_t bytes = 0;
  for (const MutableTensorStats& tensor : stats.tensors) bytes += tensor.memory_bytes;
  return bytes;
}

bool Refuses(const StateStats& stats) {
  return std::any_of(stats.tensors.begin(), stats.tensors.end(),
                     [](const MutableTensorStats& tensor) { return !tensor.refused.empty(); });
}

void AddStateMetrics(const std::shared_ptr<const ServedGraph>& graph, const ServedState& state,
                     Adder* add) {
  const std::vector<std::string> part = {"part"};
  const auto states =
      std::make_shared<StateReading>([states = state.states] { return states->Stats(); });
  const int64_t log_limit_bytes = state.log_limit_bytes;
  add->Gauges("halograph_state_lsn", kNone, "LSN of the last push in the log.", part,
              OfStates(states, [](const StateStats& s) { return s.lsn; }));
  add->Gauges("halograph_state_synced_lsn", kNone, "LSN up to which the log is synced.", part,
              OfStates(states, [](const StateStats& s) { return s.synced_lsn; }));
  add->Gauges("halograph_state_log_bytes", kBytes, "Bytes of log that a restart would replay.",
              part, OfStates(states, [](const StateStats& s) { return s.log_bytes; }));
  add->Gauges("halograph_state_log_limit_bytes", kBytes,
              "A checkpoint is made before the log is longer.", part,
              OfStates(states, [log_limit_bytes](const StateStats&) { return log_limit_bytes; }));
  add->Counters("halograph_state_syncs_total", kNone, "Syncs of the log.", part,
                OfStates(states, [](const StateStats& s) { return s.syncs; }));
  add->Counters("halograph_state_checkpoints_total", kNone, "Checkpoints made.", part,
                OfStates(states, [](const StateStats& s) { return s.checkpoints; }));
  add->Gauges("halograph_state_checkpoint_age_seconds", kSeconds,
              "Since the last checkpoint, or since the start.", part,
              OfStates(states, [](const StateStats& s) { return s.checkpoint_age_seconds; }));
  add->Gauges("halograph_state_recovery_seconds", kSeconds, "What the last start took.", part,
              OfStates(states, [](const StateStats& s) { return s.recovery_seconds; }));
  add->Gauges("halograph_state_replayed_pushes", kNone, "Pushes that the last start replayed.",
              part, OfStates(states, [](const StateStats& s) { return s.replayed_pushes; }));
  add->Gauges("halograph_state_registered_clients", kNone,
              "Clients that are registered to push; beyond --state-clients they draw their ids.",
              part, OfStates(states, [](const StateStats& s) { return s.registered_clients; }));
  add->Gauges("halograph_state_memory_bytes", kBytes, "Rows and optimizer state in memory.", part,
              OfStates(states, MemoryOf));
  add->Counters("halograph_state_pushes_total", kNone, "Pushes taken.", part,
                OfStates(states, [](const StateStats& s) { return s.taken_pushes; }));
  add->Counters("halograph_state_pushed_rows_total", kNone, "Rows of the pushes taken.", part,
                OfStates(states, [](const StateStats& s) { return s.taken_rows; }));
  add->Gauges("halograph_state_refuses_pushes", kNone, "1 while pushes are refused.", part,
              OfStates(states, [](const StateStats& s) { return Refuses(s) ? 1 : 0; }));
  add->Gauges("halograph_state_staleness_pushes", kNone,
              "Pushes applied beyond those that the oldest reader knew of.", {"part", "tensor"},
              OfTensors(states, [](const MutableTensorStats& tensor) { return tensor.staleness; }));
  add->Counters(
      "halograph_state_not_finite_rows_total", kNone,
      "Rows that a push left with an infinite or NaN value or optimizer state.", {"part", "tensor"},
      OfTensors(states, [](const MutableTensorStats& tensor) { return tensor.not_finite_rows; }));
  const auto room = std::make_shared<BackgroundValue<std::map<int, DiskRoom>>>(
      [graph, folder = state.folder](const CancelToken&) {
        return DiskRoomOfParts(*graph, folder);
      },
      kLongLook);
  add->Gauges("halograph_state_disk_free_bytes", kBytes, "Room on the disk of the state.", part,
              OfLast(room, [](const DiskRoom& r) { return r.free_bytes; }));
  add->Gauges("halograph_state_disk_size_bytes", kBytes, "Size of the disk of the state.", part,
              OfLast(room, [](const DiskRoom& r) { return r.size_bytes; }));
}

void AddPartitionMetrics(MetricRegistry* metrics, const std::shared_ptr<const ServedGraph>& graph,
                         Adder* add) {
  const auto gauge = [metrics](int part, const char* name, MetricUnit unit, const char* help) {
    return metrics->AddGauge({name, unit, help}, Labels{{"part", std::to_string(part)}});
  };
  for (const auto& [part, bytes] : BytesOfParts(*graph)) {
    gauge(part, "halograph_partition_served", kNone, "1 for each partition served.")->Set(1);
    gauge(part, "halograph_partition_bytes", kBytes, "Size of the partition's files.")
        ->Set(ToDouble(bytes.files));
    gauge(part, "halograph_partition_mapped_bytes", kBytes, "What of them is mapped.")
        ->Set(ToDouble(bytes.mapped));
  }
  const auto resident = std::make_shared<BackgroundValue<std::map<int, int64_t>>>(
      [graph](const CancelToken& ending) { return ResidentBytesOfParts(*graph, ending); },
      kLongLook);
  add->Gauges("halograph_partition_resident_bytes", kBytes, "What of that is in RAM.", {"part"},
              OfLast(resident, [](int64_t bytes) { return bytes; }));
}

}  // namespace

std::vector<MetricReader> AddServerMetrics(MetricRegistry* metrics, const ServerParts& server) {
  Adder add(metrics);
  const Dispatcher* dispatcher = server.dispatcher;
  add.Gauges("halograph_server_queued_calls", kNone, "Calls that wait for a thread.", {"pool"},
             [dispatcher] { return OfPools(*dispatcher, [](auto& p) { return p.queued(); }); });
  add.Gauges(
      "halograph_server_queue_limit_calls", kNone, "Calls that may wait for a thread.", {"pool"},
      [dispatcher] { return OfPools(*dispatcher, [](auto& p) { return p.queue_capacity(); }); });
  add.Gauges("halograph_server_threads", kNone, "Threads that run calls.", {"pool"},
             [dispatcher] { return OfPools(*dispatcher, [](auto& p) { return p.threads(); }); });
  add.Gauges("halograph_server_busy_threads", kNone, "Threads that run a call now.", {"pool"},
             [dispatcher] { return OfPools(*dispatcher, [](auto& p) { return p.busy(); }); });
  add.Gauge("halograph_server_request_memory_bytes", kBytes, "Requests that are not answered.",
            [dispatcher] { return ToDouble(dispatcher->request_bytes()); });
  add.Gauge("halograph_server_request_memory_limit_bytes", kBytes, "The bound of such requests.",
            [dispatcher] { return ToDouble(dispatcher->most_request_bytes()); });
  add.Gauge("halograph_server_reply_memory_bytes", kBytes, "Replies being built or sent.",
            [b = server.buffers] { return ToDouble(b->usage().in_use_bytes); });
  add.Gauge("halograph_server_reply_memory_limit_bytes", kBytes, "The bound of such replies.",
            [b = server.buffers] { return ToDouble(b->max_bytes()); });
  add.Gauge("halograph_server_waiting_calls", kNone,
            "Calls that wait without a thread, for pushes or for memory of replies.",
            [w = server.waiting, b = server.buffers] {
              return ToDouble(w->size() + b->usage().waiting);
            });
  add.Gauge("halograph_server_clients", kNone, "Hosts and ranks that called of late.",
            [c = server.clients] { return ToDouble(c->size()); });
  add.Counter("halograph_server_failovers_total", kNone, "Calls that another server had first.",
              [s = server.stats] { return ToDouble(s->failovers()); });
  add.Counter("halograph_server_slow_calls_total", kNone, "Calls that took a second or more.",
              [s = server.slow_calls] { return ToDouble(s->count()); });
  add.Gauge("halograph_server_ready", kNone, "1 while it takes calls.",
            [ready = server.ready] { return ready() ? 1.0 : 0.0; });
  add.Gauge("halograph_server_draining", kNone, "1 while it takes no new calls.",
            [dispatcher] { return dispatcher->draining() ? 1.0 : 0.0; });
  return add.Take();
}

std::vector<MetricReader> AddGraphMetrics(MetricRegistry* metrics,
                                          const std::shared_ptr<const ServedGraph>& graph,
                                          const ServedState& state) {
  Adder add(metrics);
  AddPartitionMetrics(metrics, graph, &add);
  metrics->AddGauge({"halograph_server_num_parts", kNone, "Partitions of the graph."})
      ->Set(graph->book().num_parts());
  const std::string serving =
      fmt::format("{}", fmt::join(Describe(*graph, 0, state.states).serving, ","));
  metrics
      ->AddGauge({"halograph_server_info", kNone, "What is served."},
                 Labels{{"identity", graph->identity()},
                        {"graph", graph->schema().graph_name},
                        {"version", BuildVersion()},
                        {"serving", serving}})
      ->Set(1);
  if (state.states != nullptr) AddStateMetrics(graph, state, &add);
  return add.Take();
}

void AddFigures(const ServerParts& server, bool wanted, ServerSnapshot* snapshot) {
  constexpr size_t kMostClients = 256;
  if (wanted) {
    snapshot->metrics = server.metrics->Take();
    snapshot->slow_calls = server.slow_calls->Take();
    snapshot->latest_clients = server.clients->Latest(kMostClients);
  }
  snapshot->unix_seconds = SecondsSince1970();
  snapshot->address = server.address();
  snapshot->pid = getpid();
  snapshot->host_name = HostName();
  snapshot->request_memory_bytes = server.dispatcher->request_bytes();
  snapshot->request_memory_limit_bytes = server.dispatcher->most_request_bytes();
  snapshot->reply_memory_bytes = server.buffers->usage().in_use_bytes;
  snapshot->reply_memory_limit_bytes = server.buffers->max_bytes();
}

}  // namespace halograph::server
