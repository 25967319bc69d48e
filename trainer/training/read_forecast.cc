#include "trainer/training/read_forecast.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "trainer/pipeline/batch_schedule.h"

namespace halograph {
namespace {

NodeChances NoChances(const Schema& schema) {
  NodeChances chances;
  for (const NodeType& type : schema.node_types) {
    chances.emplace_back(static_cast<size_t>(type.count), 0.0F);
  }
  return chances;
}

// The seeds of a step of this rank's first epoch: of all rows in order, or in those of `order`.
Status CollectSeeds(const Session& session, int64_t step, const std::vector<int64_t>* order,
                    StepSeeds* seeds) {
  const TrainOptions& options = session.options;
  const SeedSource& train = *session.task->source(BatchPurpose::kTrain);
  const SeedShards shards = session.Shards(train);
  const IdRange batch = shards.Batch(options.rank, options.batch_size, step);
  std::vector<int64_t> rows(static_cast<size_t>(batch.size()));
  std::iota(rows.begin(), rows.end(), batch.begin);
  const int64_t first = shards.of_rank[options.rank].begin;
  for (int64_t& row : rows) row = first + (order != nullptr ? (*order)[row] : row);
  const uint64_t key =
      SubKey(StepKey(options.seed, TrainerStream::kTask, 0, static_cast<uint64_t>(step),
                     static_cast<uint64_t>(options.rank)),
             static_cast<uint64_t>(BatchPurpose::kTrain));
  return train.Collect(rows, key, seeds);
}

int64_t OwnRows(const Session& session) {
  const SeedSource& train = *session.task->source(BatchPurpose::kTrain);
  return session.Shards(train).of_rank[session.options.rank].size();
}

int64_t StepsOfAll(const Session& session) {
  return session.Shards(*session.task->source(BatchPurpose::kTrain))
      .Steps(session.options.batch_size);
}

// The chance of each node to be a seed of one step of this rank, where `share` is that of a row.
// What a task draws (negatives) is drawn once.
StatusOr<NodeChances> SeedChances(const Session& session, double share, const CancelToken& cancel) {
  NodeChances chances = NoChances(session.stores.graph->info().schema);
  StepSeeds seeds;
  for (int64_t step = 0; step < StepsOfAll(session); ++step) {
    if (cancel.cancelled()) return Cancelled("cancelled while rows were ranked");
    HG_RETURN_IF_ERROR(CollectSeeds(session, step, nullptr, &seeds));
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

}  // namespace

bool CanForecastReads(const Session& session) {
  return session.stores.graph->whole_topology() != nullptr &&
         IsNodeWise(session.train_maker->recipe().sampling.kind());
}

StatusOr<ReadForecast> ForecastReads(const Session& session, const CancelToken& cancel) {
  const GraphStore& graph = *session.stores.graph;
  const int64_t own = OwnRows(session);
  if (own == 0 || !CanForecastReads(session)) return ReadForecast();
  // Of a row, to be of a certain step.
  const double share =
      std::min(1.0, static_cast<double>(session.options.batch_size) / static_cast<double>(own));
  HG_ASSIGN_OR_RETURN(const NodeChances seeds, SeedChances(session, share, cancel));
  return ReadForecast{InclusionChances(graph.info().schema, *graph.whole_topology(),
                                       session.train_maker->recipe().sampling, seeds),
                      1 / share};
}

StatusOr<ReadForecast> CountReads(const Session& session, const CancelToken& cancel) {
  const TrainOptions& options = session.options;
  const int64_t own = OwnRows(session);
  if (own == 0) return ReadForecast();
  EpochOrders orders(own, options.seed, options.rank, 1);
  const auto order = orders.Of(0);
  const int64_t steps = (own + options.batch_size - 1) / options.batch_size;
  const int64_t counted = std::min(steps, kCountedSteps);
  ReadForecast found{NoChances(session.stores.graph->info().schema), static_cast<double>(steps)};
  for (int64_t i = 0; i < counted; ++i) {
    const int64_t at = i * steps / counted;
    StepSeeds seeds;
    HG_RETURN_IF_ERROR(CollectSeeds(session, at, order.get(), &seeds));
    Step step;
    step.rows = 1;
    const uint64_t batch_seed =
        BatchSeed(options.seed, BatchPurpose::kTrain, 0, static_cast<uint64_t>(at),
                  static_cast<uint64_t>(options.world_size), static_cast<uint64_t>(options.rank));
    HG_RETURN_IF_ERROR(session.train_maker->Sample(seeds, batch_seed, {.cancel = &cancel}, &step));
    for (size_t type = 0; type < step.minibatch.nodes.size(); ++type) {
      for (const int64_t id : step.minibatch.nodes[type]) {
        found.of_step[type][static_cast<size_t>(id)] += 1.0F / static_cast<float>(counted);
      }
    }
  }
  return found;
}

}  // namespace halograph
