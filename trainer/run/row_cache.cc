#include "trainer/run/row_cache.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "client/own_part/own_parts.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "trainer/distributed/wait_together.h"
#include "trainer/training/device_cache.h"
#include "trainer/training/read_forecast.h"

namespace halograph {
namespace {

// Remote rows that a step reads, by the chance of each node.
double RowsOfAStep(const GraphInfo& info, const CachedRowsOptions& cache) {
  std::vector<bool> cached(info.schema.node_types.size());
  for (const TensorRef& tensor : cache.tensors) {
    cached[static_cast<size_t>(*info.schema.NodeTypeIndex(tensor.type))] = true;
  }
  double rows = 0;
  for (size_t type = 0; type < cached.size(); ++type) {
    if (!cached[type]) continue;
    const auto boundaries = info.book.NodeBoundaries(static_cast<int>(type));
    for (int part = 0; part < info.book.num_parts(); ++part) {
      if (std::ranges::count(cache.own_parts, part) > 0) continue;
      const auto first = cache.weights[type].begin();
      rows = std::accumulate(first + boundaries[static_cast<size_t>(part)],
                             first + boundaries[static_cast<size_t>(part) + 1], rows);
    }
  }
  return rows;
}

// Ranks rows, or has them counted.
Status Rank(Session& session, const CancelToken& cancel, CachedRowsOptions* cache) {
  const GraphStore& graph = *session.stores.graph;
  cache->count_reads = !CanForecastReads(session);
  HG_ASSIGN_OR_RETURN(ReadForecast reads, ForecastReads(session, cancel));
  if (reads.of_step.empty()) return OkStatus();
  if (session.device_rows != nullptr) LeaveOutHeld(*session.device_rows->held(), &reads.of_step);
  cache->weights = std::move(reads.of_step);
  session.row_forecast = RowsOfAStep(graph.info(), *cache) * reads.steps;
  return OkStatus();
}

// Without a cache nothing is. A cache that is cold fetches rows for the first time, one that is
// small fetches them again.
void CountFetched(Session& session) {
  // Parts that are averaged have no cache, and share their rank's metrics.
  if (session.metrics == nullptr || session.options.average_every > 0) return;
  const auto read = [cache = session.cache.get(), rank = std::to_string(session.options.rank)] {
    const CachedRowsFigures figures = cache == nullptr ? CachedRowsFigures{} : cache->figures();
    const auto again = static_cast<double>(figures.refetched);
    return std::vector<MetricSample>{
        {{rank, "first"}, static_cast<double>(figures.fetched) - again}, {{rank, "again"}, again}};
  };
  session.cache_fetches = session.metrics->registry()->ReadCounters(
      {"halograph_trainer_cache_fetched_rows_total", MetricUnit::kNone,
       "Rows that the cache did not have: first since rows were ranked, or again for want of room"},
      {"rank", "fetch"}, read);
}

Status OpenCacheHere(Session& session, const RunInputs& inputs, const CancelToken& cancel) {
  const TrainOptions& options = session.options;
  const GraphInfo& info = session.stores.graph->info();
  CachedRowsOptions cache;
  if (!options.local.empty()) {
    HG_ASSIGN_OR_RETURN(cache.own_parts, PartsPresent(options.local));
    if (std::ssize(cache.own_parts) == info.book.num_parts()) return OkStatus();
  }
  for (const NodeInput& input : inputs.features) cache.tensors.push_back(input.feature);
  cache.memory_bytes = static_cast<size_t>(options.MemoryOfCache());
  cache.look_ahead = options.cache == CacheKind::kLookAhead;
  HG_RETURN_IF_ERROR(Rank(session, cancel, &cache));
  HG_ASSIGN_OR_RETURN(session.cache, CachedRows::Create(session.stores.rows, info, cache));
  return OkStatus();
}

// What a default of the memory cannot do costs a cache, and not the run.
Status TellOrFail(const TrainOptions& options, const Status& status) {
  if (!absl::IsInvalidArgument(status) && !absl::IsResourceExhausted(status)) return status;
  if (options.cache_memory > 0) {
    return Annotate(status, fmt::format("--cache-memory {} (or give --cache off)",
                                        FormatBytes(options.cache_memory)));
  }
  spdlog::warn(
      "rank {}: remote rows are not cached, and are fetched by each step: {}; give --cache-memory, "
      "by default an eighth of what is free, or --cache off",
      options.rank, Message(status));
  return OkStatus();
}

}  // namespace

Status OpenRowCache(Session& session, const RunInputs& inputs) {
  const TrainOptions& options = session.options;
  const bool caches = !options.remote.servers.empty() && options.average_every == 0 &&
                      options.cache != CacheKind::kOff && !inputs.features.empty();
  const RankWork open = [&](const CancelToken& cancel) {
    try {
      return TellOrFail(options, OpenCacheHere(session, inputs, cancel));
    } catch (const std::bad_alloc&) {
      return TellOrFail(options, ResourceExhausted("no memory to rank its rows"));
    }
  };
  HG_RETURN_IF_ERROR(WorkTogether(*session.ranks, &session.cancel, caches ? open : nullptr,
                                  "waiting for ranks to open their caches"));
  CountFetched(session);
  return OkStatus();
}

}  // namespace halograph
