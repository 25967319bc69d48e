#include "server/handlers/describe.h"

#include <fmt/format.h>

#include "common/base/build_info.h"
#include "common/sampling/request.h"
#include "proto/wire/capabilities.h"

namespace halograph::server {
namespace {

std::vector<std::string> Serving(const PartContents& contents, bool state) {
  std::vector<std::string> serving;
  if (contents.topology) serving.emplace_back("topology");
  if (contents.features) {
    serving.emplace_back("features");
    serving.emplace_back("tasks");
  }
  if (state) serving.emplace_back("state");
  return serving;
}

}  // namespace

Description Describe(const ServedGraph& graph, int64_t max_message_bytes,
                     const PartStates* states) {
  Description description;
  description.identity = graph.identity();
  description.format_version = kFormatVersion;
  description.build_version = BuildVersion();
  description.sampling_contract = kSamplingContract;
  description.schema = &graph.schema();
  description.book = &graph.book();
  description.parts = graph.part_numbers();
  description.max_message_bytes = max_message_bytes;
  description.serving = Serving(graph.contents(), states != nullptr);
  for (const std::string_view capability :
       {wire::kSampleGroupKeys, wire::kSampleEdgeIds, wire::kSampleWeights, wire::kSampleEdgePieces,
        wire::kSampleRule, wire::kSampleDegrees, wire::kSampleColumns, wire::kSampleDeltaIds,
        wire::kTaskSetRows, wire::kMutableTensors, wire::kReadSnapshot, wire::kPushBits,
        wire::kListPages, wire::kRegisteredClients}) {
    description.capabilities.emplace_back(capability);
  }
  description.task_rows = RowsOfTaskSets(graph);
  description.cluster_bounds = graph.set().ClusterBounds();
  return description;
}

ServerSnapshot TakeSnapshot(const ServedGraph& graph, const ServerStats& stats,
                            const Dispatcher& dispatcher, int64_t clients,
                            const PartStates* states) {
  ServerSnapshot snapshot;
  snapshot.identity = graph.identity();
  snapshot.graph_name = graph.schema().graph_name;
  snapshot.build_version = BuildVersion();
  snapshot.parts = graph.part_numbers();
  snapshot.serving =
      fmt::format("{}", fmt::join(Serving(graph.contents(), states != nullptr), ","));
  snapshot.uptime_seconds = stats.UptimeSeconds();
  snapshot.pool_threads = static_cast<int64_t>(dispatcher.pool().threads());
  snapshot.pool_queued = static_cast<int64_t>(dispatcher.pool().queued());
  snapshot.pool_queue_capacity = static_cast<int64_t>(dispatcher.pool().queue_capacity());
  if (states != nullptr) {
    const ThreadPool& pool = dispatcher.pool(Lane::kState);
    snapshot.state_threads = static_cast<int64_t>(pool.threads());
    snapshot.state_queued = static_cast<int64_t>(pool.queued());
    snapshot.state_queue_capacity = static_cast<int64_t>(pool.queue_capacity());
  }
  snapshot.draining = dispatcher.draining();
  snapshot.methods = stats.Take();
  snapshot.clients = clients;
  snapshot.failovers = stats.failovers();
  snapshot.recent = stats.Recent(ServerStats::Clock::now(), snapshot.methods);
  snapshot.num_parts = graph.book().num_parts();
  if (states != nullptr) snapshot.state = states->Stats();
  return snapshot;
}

}  // namespace halograph::server
