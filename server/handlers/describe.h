// GraphService/Describe and what AdminService/Stats says of the graph, as values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/metrics/snapshot.h"
#include "common/state/parts/part_states.h"
#include "server/handlers/served_graph.h"
#include "server/handlers/task_set.h"
#include "server/runtime/client_table.h"
#include "server/runtime/dispatcher.h"
#include "server/runtime/slow_calls.h"
#include "server/runtime/stats.h"

namespace halograph::server {

struct Description {
  std::string identity;
  uint32_t format_version = 0;  // of the partition folder
  std::string build_version;
  uint32_t sampling_contract = 0;
  const Schema* schema = nullptr;       // the graph's
  const PartitionBook* book = nullptr;  // the graph's
  std::vector<int> parts;
  int64_t max_message_bytes = 0;
  std::vector<std::string> serving;                  // of: "topology", "features", "tasks", "state"
  std::vector<std::string> capabilities;             // proto/wire/capabilities.h
  std::vector<TaskSetRows> task_rows;                // of the parts
  std::vector<std::vector<int64_t>> cluster_bounds;  // PartitionSet::ClusterBounds
};
// Points into `graph`. `states`: null if the server keeps no mutable tensors; below too.
[[nodiscard]] Description Describe(const ServedGraph& graph, int64_t max_message_bytes,
                                   const PartStates* states = nullptr);

struct ServerSnapshot {
  std::string identity;
  std::string graph_name;
  std::string build_version;
  std::vector<int> parts;
  std::string serving;  // "topology,features,tasks"
  double uptime_seconds = 0;
  int64_t pool_threads = 0;
  int64_t pool_queued = 0;
  int64_t pool_queue_capacity = 0;
  // Of the calls that may wait for the disk of the mutable tensors; 0: the server keeps none.
  int64_t state_threads = 0;
  int64_t state_queued = 0;
  int64_t state_queue_capacity = 0;
  bool draining = false;
  MethodSnapshots methods;
  int64_t clients = 0;
  int64_t failovers = 0;  // calls that another server was asked before
  ServerStats::Recently recent;
  int num_parts = 0;                // of the graph
  std::map<int, StateStats> state;  // by part
  // Of AddFigures (server_metrics.h).
  MetricsSnapshot metrics;           // empty, as the lists: they were not asked for
  std::vector<SlowCall> slow_calls;  // the newest first
  std::vector<ClientTable::Client> latest_clients;
  double unix_seconds = 0;
  std::string address;  // HOST:PORT that others call
  int pid = 0;
  std::string host_name;
  int64_t request_memory_bytes = 0;
  int64_t request_memory_limit_bytes = 0;
  int64_t reply_memory_bytes = 0;
  int64_t reply_memory_limit_bytes = 0;
};
[[nodiscard]] ServerSnapshot TakeSnapshot(const ServedGraph& graph, const ServerStats& stats,
                                          const Dispatcher& dispatcher, int64_t clients,
                                          const PartStates* states = nullptr);

}  // namespace halograph::server
