#include "trainer/launch/resolve.h"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/machine_memory.h"
#include "common/base/processors.h"
#include "common/sampling/kernel/sampler_plan.h"
#include "trainer/launch/auto_model.h"
#include "trainer/launch/option_checks.h"
#include "trainer/models/registry.h"

namespace halograph {
ModelWords RegisteredModels() {
  ModelWords words{{kAutoModel},
                   "auto: sage for a graph of one node type and one relation, else rgcn"};
  for (const ModelKind& kind : ModelKinds()) {
    words.names.emplace_back(kind.name);
    words.help += fmt::format("; {}: {}", kind.name, kind.help);
  }
  return words;
}

void Resolve(TrainOptions* o, const Environment& environment) {
  if (o->topology.empty() && !o->remote.servers.empty()) o->topology = kTopologyServers;
  if (o->model_options == nullptr) o->model_options = *OptionsOfModel(o->model);
  if (o->AllEvalFanouts().empty()) {
    if (o->sampler.reads_fanouts()) {
      o->eval_fanouts = o->fanouts;
      o->eval_relation_fanouts = o->relation_fanouts;
    } else {
      o->eval_fanouts.assign(static_cast<size_t>(o->layers), kFullNeighborhood);
    }
  }
  if (o->eval_batch_size == 0) o->eval_batch_size = o->batch_size;
  const int on_machine = RanksOnThisMachine(environment) * o->ranks_here();
  if (o->sampler_memory == 0) o->sampler_memory = DefaultSamplerMemory() / on_machine;
  if (o->prefetch_memory == 0) o->prefetch_memory = DefaultSamplerMemory() / on_machine;
  const bool caches = !o->remote.servers.empty() && o->average_every == 0;
  if (caches) o->cache_memory_default = FreeMemory() / kCacheShare / on_machine;
  o->local_rank = RankOnThisMachine(environment);
  if (o->threads == 0 || o->tune) o->threads = std::max(1, AvailableProcessors() / on_machine);
  if (o->tune) o->sample_threads = std::min(o->threads, kMostTunedThreads);
}

Status Validate(const TrainOptions& options) {
  TrainOptions copy = options;
  OptionTable rows;
  AddTrainRows(rows, &copy, RegisteredModels());
  HG_RETURN_IF_ERROR(rows.Validate());
  if (options.model_options != nullptr) HG_RETURN_IF_ERROR(options.model_options->Validate());
  return CheckTogether(options);
}

}  // namespace halograph
