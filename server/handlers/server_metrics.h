// What a server tells of itself beside its calls, as metrics that are read at each scrape: pools,
// memory, partitions, the state of the mutable tensors, and whether it is ready.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/metrics/registry.h"
#include "common/state/parts/part_states.h"
#include "server/handlers/describe.h"
#include "server/handlers/served_graph.h"
#include "server/runtime/buffer_pool.h"
#include "server/runtime/client_table.h"
#include "server/runtime/dispatcher.h"
#include "server/runtime/slow_calls.h"
#include "server/runtime/stats.h"
#include "server/runtime/waiting_calls.h"

namespace halograph::server {

// All outlive the readers.
struct ServerParts {
  const Dispatcher* dispatcher = nullptr;
  const BufferPool* buffers = nullptr;
  const WaitingCalls* waiting = nullptr;
  const ServerStats* stats = nullptr;
  const ClientTable* clients = nullptr;
  const SlowCalls* slow_calls = nullptr;
  const MetricRegistry* metrics = nullptr;
  std::function<bool()> ready;
  std::function<std::string()> address;  // that others call; empty: it is not known yet
};

// From the start on.
[[nodiscard]] std::vector<MetricReader> AddServerMetrics(MetricRegistry* metrics,
                                                         const ServerParts& server);

// The mutable tensors that are kept.
struct ServedState {
  const PartStates* states = nullptr;  // null: none
  std::filesystem::path folder = {};   // has a folder for each part
  int64_t log_limit_bytes = 0;         // of a part's log
};
// Once the graph is open. `state.states` outlives the readers. What is in RAM, and the room on the
// disk, are read on threads of their own, at most every ten seconds, if somebody asks: a scrape
// shows what was read last, and the first one nothing of it.
[[nodiscard]] std::vector<MetricReader> AddGraphMetrics(
    MetricRegistry* metrics, const std::shared_ptr<const ServedGraph>& graph,
    const ServedState& state);

// Puts into a snapshot what the server tells of its process; metrics, slow calls and clients if
// they are `wanted`.
void AddFigures(const ServerParts& server, bool wanted, ServerSnapshot* snapshot);

}  // namespace halograph::server
