#include "trainer/run/row_cache.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "client/own_part/own_parts.h"
#include "common/base/log.h"
#include "common/base/rng.h"
#include "common/base/units.h"
#include "common/sampling/inclusion.h"
#include "trainer/distributed/wait_together.h"
#include "trainer/pipeline/batch_schedule.h"

namespace halograph {
namespace {

// The chance of each node to be a seed of one step of this rank. What a task draws (negatives) is
// drawn once.
StatusOr<NodeChances> SeedChances(const Session& session, double share, const CancelToken& cancel) {
  const TrainOptions& options = session.options;
  const SeedSource& train = *session.task->source(BatchPurpose::kTrain);
  const SeedShards shards = session.Shards(train);
  NodeChances chances;
  for (const NodeType& type : session.stores.graph->info().schema.node_types) {
    chances.emplace_back(static_cast<size_t>(type.count), 0.0F);
  }
  StepSeeds seeds;
  for (int64_t step = 0; step < shards.Steps(options.batch_size); ++step) {
    if (cancel.cancelled()) return Cancelled("cancelled while the cache was opened");
    const IdRange batch = shards.Batch(options.rank, options.batch_size, step);
    std::vector<int64_t> rows(static_cast<size_t>(batch.size()));
    std::iota(rows.begin(), rows.end(), shards.of_rank[options.rank].begin + batch.begin);
    const uint64_t key = StepKey(options.seed, TrainerStream::kTask, 0, static_cast<uint64_t>(step),
                                 static_cast<uint64_t>(options.rank));
    HG_RETURN_IF_ERROR(train.Collect(rows, key, &seeds));
    for (const StepSeeds::List& list : seeds.seeds) {
      std::vector<float>& of_type = chances[static_cast<size_t>(list.type)];
      for (const int64_t id : list.ids) {
        float& chance = of_type[static_cast<size_t>(id)];
        chance = std::min(1.0F, chance + static_cast<float>(share));
      }
    }
  }
  return chances;
}

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
  const TrainOptions& options = session.options;
  const GraphInfo& info = session.stores.graph->info();
  const Topology* const topology = session.stores.graph->whole_topology();
  const SeedShards shards = session.Shards(*session.task->source(BatchPurpose::kTrain));
  const int64_t own = shards.of_rank[options.rank].size();
  cache->count_reads = topology == nullptr;
  if (topology == nullptr || own == 0) return OkStatus();
  // Of a row, to be of a certain step.
  const double share =
      std::min(1.0, static_cast<double>(options.batch_size) / static_cast<double>(own));
  HG_ASSIGN_OR_RETURN(const NodeChances seeds, SeedChances(session, share, cancel));
  cache->weights =
      InclusionChances(info.schema, *topology, session.train_maker->recipe().sampling, seeds);
  session.row_forecast = RowsOfAStep(info, *cache) / share;
  return OkStatus();
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
  return WorkTogether(*session.ranks, &session.cancel, caches ? open : nullptr,
                      "waiting for ranks to open their caches");
}

}  // namespace halograph
