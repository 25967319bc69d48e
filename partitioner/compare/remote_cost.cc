#include "partitioner/compare/remote_cost.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/base/progress.h"
#include "common/base/rng.h"
#include "common/sampling/inclusion.h"
#include "common/sampling/kernel/fused_sampler.h"
#include "common/storage/file.h"
#include "partitioner/compare/cache_forecast.h"
#include "partitioner/methods/task_columns.h"
#include "partitioner/write/graph_writer.h"

namespace halograph {
namespace {

// The edges of a data set and nothing else.
Dataset WithoutData(const Dataset& dataset) {
  Dataset bare = dataset;
  for (InputNodeType& type : bare.node_types) type.features.clear();
  for (InputRelation& relation : bare.relations) relation.features.clear();
  bare.tasks.clear();
  return bare;
}

struct Seeds {
  int type = 0;
  std::vector<std::vector<int64_t>> of_part;
  // Before any are left out: those of each partition, and how often each node of the type is one.
  std::vector<int64_t> rows_of_part;
  std::vector<int32_t> times;
};

int LargestType(const Dataset& dataset) {
  const auto fewer = [](const InputNodeType& a, const InputNodeType& b) {
    return a.count < b.count;
  };
  return static_cast<int>(
      std::max_element(dataset.node_types.begin(), dataset.node_types.end(), fewer) -
      dataset.node_types.begin());
}

// The training set with the most rows; no rows if there is none.
StatusOr<TaskColumns> LargestTrainingSet(const Dataset& dataset) {
  TaskColumns largest;
  for (const InputTask& task : dataset.tasks) {
    for (const InputTaskSet& set : task.sets) {
      if (set.set != "train") continue;
      HG_ASSIGN_OR_RETURN(TaskColumns columns, ResolveTaskColumns(dataset, set));
      if (columns.rows > largest.rows) largest = std::move(columns);
    }
  }
  return largest;
}

// Keeps of each partition's seeds what its minibatches take, at random.
void Draw(const SamplingPlan& plan, std::vector<std::vector<int64_t>>* of_part) {
  CounterRng rng(Mix(plan.seed));
  for (std::vector<int64_t>& seeds : *of_part) {
    const size_t wanted = std::min(
        seeds.size(), static_cast<size_t>(plan.batch_size) * static_cast<size_t>(plan.batches));
    for (size_t i = 0; i < wanted; ++i) {
      std::swap(seeds[i], seeds[i + rng.NextBounded(seeds.size() - i)]);
    }
    seeds.resize(wanted);
  }
}

StatusOr<Seeds> ChooseSeeds(const Dataset& dataset, const Assignment& assignment, int parts,
                            const SamplingPlan& plan) {
  Seeds seeds;
  seeds.of_part.resize(static_cast<size_t>(parts));
  HG_ASSIGN_OR_RETURN(const TaskColumns training, LargestTrainingSet(dataset));
  seeds.type = training.rows > 0 ? training.owner_type() : LargestType(dataset);
  const std::vector<uint16_t>& owners = assignment.owners[static_cast<size_t>(seeds.type)];
  const int64_t count = training.rows > 0 ? training.rows : static_cast<int64_t>(owners.size());
  seeds.times.resize(owners.size());
  for (int64_t row = 0; row < count; ++row) {
    const int64_t node = training.rows > 0 ? training.OwnerId(row) : row;
    seeds.of_part[owners[static_cast<size_t>(node)]].push_back(node);
    ++seeds.times[static_cast<size_t>(node)];
  }
  for (const auto& of_part : seeds.of_part) seeds.rows_of_part.push_back(std::ssize(of_part));
  Draw(plan, &seeds.of_part);
  return seeds;
}

int64_t RowBytes(const InputNodeType& type) {
  int64_t bytes = 0;
  for (const InputTensor& feature : type.features) {
    bytes += static_cast<int64_t>(feature.spec.row_bytes());
  }
  return bytes;
}

// Sums over minibatches.
struct Sums {
  int64_t batches = 0, input_nodes = 0, remote_nodes = 0, remote_bytes = 0;

  void Add(const Dataset& dataset, const Assignment& assignment, const Minibatch& minibatch,
           int part) {
    ++batches;
    for (size_t type = 0; type < minibatch.nodes.size(); ++type) {
      const int64_t row_bytes = RowBytes(dataset.node_types[type]);
      const std::vector<uint16_t>& owners = assignment.owners[type];
      int64_t remote = 0;
      for (const int64_t node : minibatch.nodes[type]) {
        remote += owners[static_cast<size_t>(node)] != part ? 1 : 0;
      }
      input_nodes += static_cast<int64_t>(minibatch.nodes[type].size());
      remote_nodes += remote;
      remote_bytes += remote * row_bytes;
    }
  }
  void Add(const Sums& other) {
    batches += other.batches;
    input_nodes += other.input_nodes;
    remote_nodes += other.remote_nodes;
    remote_bytes += other.remote_bytes;
  }
  [[nodiscard]] double Mean(int64_t sum) const {
    return batches == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(batches);
  }
};

// The chance of each node to be a seed of a minibatch of this partition: a minibatch takes
// batch_size of the partition's rows.
NodeChances SeedChances(const Seeds& seeds, const Assignment& assignment, int part,
                        int64_t batch_size) {
  NodeChances chances;
  for (const auto& owners : assignment.owners) chances.emplace_back(owners.size(), 0.0F);
  const int64_t rows = seeds.rows_of_part[static_cast<size_t>(part)];
  const auto type = static_cast<size_t>(seeds.type);
  for (size_t node = 0; node < seeds.times.size(); ++node) {
    if (assignment.owners[type][node] != part || seeds.times[node] == 0) continue;
    chances[type][node] = static_cast<float>(
        std::min(1.0, static_cast<double>(batch_size) / static_cast<double>(rows) *
                          static_cast<double>(seeds.times[node])));
  }
  return chances;
}

// What the plan's cache leaves of the bytes that a partition's minibatches ask others for.
double ShareLeft(const WholeTopology& topology, const Dataset& dataset, const Seeds& seeds,
                 const Assignment& assignment, int part, const SamplingSpec& spec,
                 const SamplingPlan& plan) {
  if (plan.cache_memory == 0) return 1;
  const NodeChances chances =
      InclusionChances(topology.set().schema(), topology.set().topology(), spec,
                       SeedChances(seeds, assignment, part, plan.batch_size));
  std::vector<int64_t> row_bytes;
  for (const InputNodeType& type : dataset.node_types) row_bytes.push_back(RowBytes(type));
  return RemoteShareLeft(chances, assignment, part, row_bytes, plan.cache_memory);
}

}  // namespace

Status SamplingPlan::Validate() const {
  if (fanouts.empty()) return InvalidArgument("sampling needs at least one fanout");
  for (const int32_t fanout : fanouts) HG_RETURN_IF_ERROR(ValidateFanout(fanout));
  if (batch_size < 1 || batches < 1) {
    return InvalidArgument("{} batches of {} seeds: both must be at least 1", batches, batch_size);
  }
  if (cache_memory < 0) return InvalidArgument("a cache of {} bytes", cache_memory);
  return OkStatus();
}

StatusOr<WholeTopology> WholeTopology::Create(const Dataset& dataset,
                                              const std::filesystem::path& folder, int64_t memory) {
  const Dataset bare = WithoutData(dataset);
  HG_ASSIGN_OR_RETURN(const Renumbering numbering,
                      Renumbering::Create(bare, AllInOnePart(bare), 1));
  WriteOptions options;
  options.memory = memory;
  HG_RETURN_IF_ERROR(WriteGraph({bare, numbering, folder, options}, Json::object()).status());
  WholeTopology topology;
  HG_ASSIGN_OR_RETURN(topology.set_, PartitionSet::Open(folder, {}, VerifyLevel::kHeaders,
                                                        {.topology = true, .features = false}));
  return topology;
}

StatusOr<RemoteCost> MeasureRemoteCost(const WholeTopology& topology, const Dataset& dataset,
                                       const Assignment& assignment, int parts,
                                       const SamplingPlan& plan) {
  HG_RETURN_IF_ERROR(plan.Validate());
  HG_ASSIGN_OR_RETURN(const Seeds seeds, ChooseSeeds(dataset, assignment, parts, plan));
  const Schema& schema = topology.set().schema();
  const SamplingSpec spec = SamplingSpec::Uniform(schema, plan.fanouts);
  const FusedSampler sampler(&schema, &topology.set().topology());
  FusedWorkspace workspace(schema);
  Minibatch minibatch;
  Progress progress("sampling minibatches", int64_t{parts} * plan.batches);
  Sums all;
  RemoteCost cost;
  for (int part = 0; part < parts; ++part) {
    const std::vector<int64_t>& own = seeds.of_part[static_cast<size_t>(part)];
    Sums sums;
    for (size_t begin = 0; begin < own.size(); begin += static_cast<size_t>(plan.batch_size)) {
      const size_t size = std::min(own.size() - begin, static_cast<size_t>(plan.batch_size));
      const SampleRequest request{
          .seeds = {{.type = seeds.type, .ids = std::span(own).subspan(begin, size)}},
          .batch_seed =
              BatchSeed(plan.seed, BatchPurpose::kTrain, 0, static_cast<uint64_t>(sums.batches),
                        static_cast<uint64_t>(parts), static_cast<uint64_t>(part)),
          .spec = &spec};
      HG_RETURN_IF_ERROR(sampler.Sample(request, &workspace, &minibatch));
      sums.Add(dataset, assignment, minibatch, part);
      progress.Advance(1);
    }
    cost.worst_remote_bytes = std::max(cost.worst_remote_bytes, sums.Mean(sums.remote_bytes));
    const int64_t rows = seeds.rows_of_part[static_cast<size_t>(part)];
    const int64_t batches = (rows + plan.batch_size - 1) / plan.batch_size;
    const double bytes = sums.Mean(sums.remote_bytes) * static_cast<double>(batches);
    cost.epoch_batches += batches;
    cost.epoch_remote_bytes += bytes;
    if (bytes > 0) {
      cost.epoch_bytes_with_cache +=
          bytes * ShareLeft(topology, dataset, seeds, assignment, part, spec, plan);
    }
    all.Add(sums);
  }
  cost.batches = all.batches;
  cost.input_nodes = all.Mean(all.input_nodes);
  cost.remote_nodes = all.Mean(all.remote_nodes);
  cost.remote_bytes = all.Mean(all.remote_bytes);
  return cost;
}

}  // namespace halograph
