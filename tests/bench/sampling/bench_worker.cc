#include "tests/bench/sampling/bench_worker.h"

#include <chrono>

#include "common/base/rng.h"
#include "tests/bench/measure.h"

namespace halograph {
Worker::Worker(const RmatCsc* graph, int split, uint64_t key)
    : graph_(graph),
      key_(key),
      pool_(split > 1 ? std::make_unique<ThreadPool>("split", static_cast<size_t>(split - 1), 16)
                      : nullptr),
      sampler_(&graph->schema, &graph->topology),
      split_(&graph->schema, &graph->topology, pool_.get()),
      workspace_(graph->schema),
      baseline_(MakeTwoStepBaseline(graph, nullptr)),
      tuned_(MakeTwoStepTuned(graph)),
      replay_(graph, false),
      replay_packed_(graph, true) {}

void Worker::Run(Variant variant, const Config& config, uint64_t index, Cost* cost) {
  MakeSeeds(config, index);
  // Every variant finds the caches as this left them, whichever was measured before.
  static_cast<void>(Fused(sampler_, config, index));
  if (variant == kReplay || variant == kReplayPacked) {
    (variant == kReplay ? replay_ : replay_packed_).Record(minibatch_, config.fanouts, index);
  }
  if (variant == kFusedExcluding) ChooseExcluded();
  // A split minibatch is the only one under way: its threads are the process's.
  const clockid_t clock =
      variant == kFusedSplit ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID;
  const double cpu = ClockSeconds(clock);
  const double wall = ClockSeconds(CLOCK_MONOTONIC);
  cost->edges += Sample(variant, config, index);
  cost->cpu += ClockSeconds(clock) - cpu;
  cost->wall += ClockSeconds(CLOCK_MONOTONIC) - wall;
  if (variant == kFused) cost->unique_nodes += std::ssize(minibatch_.nodes[0]);
}

bool Worker::Agree(const Config& config, uint64_t index) {
  MakeSeeds(config, index);
  if (Fused(sampler_, config, index) < 0) return false;
  const Minibatch expected = minibatch_;
  const auto agrees = [&](const Rival& rival, int64_t edges) {
    return edges == expected.sampled_edges && rival.unique_nodes() == std::ssize(expected.nodes[0]);
  };
  return Fused(split_, config, index) >= 0 && minibatch_ == expected &&
         agrees(*baseline_, Sample(kBaseline, config, index)) &&
         agrees(*tuned_, Sample(kTuned, config, index));
}

void Worker::MakeSeeds(const Config& config, uint64_t index) {
  CounterRng rng(SubKey(key_, index));
  seeds_.resize(static_cast<size_t>(config.batch));
  for (int64_t& seed : seeds_) {
    seed = static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(graph_->nodes)));
  }
}

int64_t Worker::Sample(Variant variant, const Config& config, uint64_t index) {
  switch (variant) {
    case kFused:
    case kFusedAlone:
      return Fused(sampler_, config, index);
    case kFusedEdgeIds:
    case kFusedExcluding:
      return Fused(sampler_, config, index, variant);
    case kFusedSplit:
      return Fused(split_, config, index);
    case kBaseline:
      return baseline_->Sample(seeds_, config.fanouts, index);
    case kTuned:
      return tuned_->Sample(seeds_, config.fanouts, index);
    case kReplay:
      return replay_.Run();
    default:
      return replay_packed_.Run();
  }
}

int64_t Worker::Fused(const FusedSampler& sampler, const Config& config, uint64_t index,
                      Variant variant) {
  const SamplingSpec spec = SamplingSpec::Uniform(graph_->schema, config.fanouts);
  SampleRequest request{.seeds = {{.ids = seeds_}}, .batch_seed = index, .spec = &spec};
  request.edge_ids = variant == kFusedEdgeIds;
  if (variant == kFusedExcluding) {
    request.exclude = {
        {.relation = 0, .sources = excluded_sources_, .destinations = excluded_destinations_}};
  }
  const Status status = sampler.Sample(request, &workspace_, &minibatch_);
  return status.ok() ? minibatch_.sampled_edges : -1;
}

void Worker::ChooseExcluded() {
  excluded_sources_.clear();
  excluded_destinations_.clear();
  const Block& block = minibatch_.layers.front().blocks.front();
  const std::vector<int64_t>& nodes = minibatch_.nodes.front();
  for (size_t i = 0; i + 1 < block.indptr.size(); ++i) {
    if (block.indptr[i] == block.indptr[i + 1]) continue;
    const int64_t source = nodes[static_cast<size_t>(block.indices[block.indptr[i]])];
    excluded_sources_.insert(excluded_sources_.end(), {source, nodes[i]});
    excluded_destinations_.insert(excluded_destinations_.end(), {nodes[i], source});
  }
}

}  // namespace halograph
