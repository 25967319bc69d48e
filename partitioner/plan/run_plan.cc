#include "partitioner/plan/run_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/base/progress.h"
#include "partitioner/methods/registry/auto_method.h"
#include "partitioner/methods/registry/registry.h"
#include "partitioner/plan/parts_choice.h"
#include "partitioner/plan/time_model.h"
#include "partitioner/plan/trial.h"
#include "partitioner/write/renumbering.h"
#include "partitioner/write/writing_plan.h"

namespace halograph {
namespace {

// As if the edges that fold into another were not there.
GraphCounts Folded(GraphCounts counts, double reciprocity) {
  for (RelationCounts& relation : counts.relations) {
    relation.edges =
        static_cast<int64_t>(static_cast<double>(relation.edges) * (1 - reciprocity / 2));
  }
  return counts;
}

// While it lives, phases show no progress: those of a trial are not the graph's.
class NoProgress {
 public:
  NoProgress() : before_(Progress::Enable(false)) {}
  ~NoProgress() { Progress::Enable(before_); }
  NoProgress(const NoProgress&) = delete;
  NoProgress& operator=(const NoProgress&) = delete;

 private:
  const bool before_;
};

// Trials and speeds that all methods share.
class Trials {
 public:
  Trials(const GraphSizes& sizes, const EdgeSample& sample, const PlanOptions& options,
         std::filesystem::path scratch)
      : sizes_(sizes),
        sample_(sample),
        options_(options),
        scratch_(std::move(scratch)),
        size_(TrialSize::For(sizes.counts, sample.reciprocity)) {}

  // First, and once: the rest goes by the speeds that it finds.
  [[nodiscard]] Status Writing(RunPlan* plan) {
    TrialSize small = size_;
    small.nodes = std::max<int64_t>(size_.nodes / 4, 1);
    small.edges = size_.edges / 4;
    const int parts = PartsOf(small.nodes);
    WritingTrials writing;
    writing.small_edges = small.edges;
    writing.large_edges = size_.edges;
    HG_ASSIGN_OR_RETURN(writing.small_seconds, TryWriting(parts, small, scratch_));
    HG_ASSIGN_OR_RETURN(writing.large_seconds, TryWriting(parts, size_, scratch_));
    HG_ASSIGN_OR_RETURN(plan->write_bytes_per_second, WriteSpeed(scratch_));
    cost_ = {.at_once = CostOf(Access::kAtOnce),
             .asked_ahead = CostOf(Access::kAskedAhead),
             .read_ns = sample_.read_ns};
    plan->random_access_ns = cost_.at_once.large_ns;
    write_seconds_ = PredictWriting(writing, sizes_.counts.num_edges(),
                                    sizes_.node_feature_bytes() + sizes_.edge_feature_bytes(),
                                    plan->write_bytes_per_second, cost_);
    return OkStatus();
  }

  [[nodiscard]] Status Method(MethodPlan* row) const {
    const GraphCounts& counts = sizes_.counts;
    HG_ASSIGN_OR_RETURN(row->memory,
                        PlanRunMemory(row->method, counts, sample_.reciprocity, options_.method));
    row->memory_bytes = kProgramBytes + row->memory.peak_bytes();
    HG_ASSIGN_OR_RETURN(const MemoryPlan most,
                        PlanRunMemory(row->method, counts, 0, options_.method));
    row->most_bytes = kProgramBytes + most.peak_bytes();
    HG_ASSIGN_OR_RETURN(const auto made, MakeMethod(row->method));
    const MethodProfile profile = made->Profile(counts, options_.method);
    row->temporary_bytes = sizes_.decoded_bytes + std::max(profile.scratch_bytes, WritingBytes());
    MethodOptions trial_options = made->ForTrial(counts, size_.nodes, options_.method);
    trial_options.memory = std::numeric_limits<int64_t>::max();
    trial_options.parts = PartsOf(size_.nodes);
    HG_ASSIGN_OR_RETURN(const MethodTrial trial,
                        TryMethod(row->method, trial_options, size_, scratch_));
    row->assign_seconds = PredictAssign(trial, counts, profile, cost_);
    row->write_seconds = write_seconds_;
    return OkStatus();
  }

 private:
  [[nodiscard]] int PartsOf(int64_t nodes) const {
    return static_cast<int>(std::clamp<int64_t>(options_.method.parts, 1, nodes));
  }
  [[nodiscard]] AccessCost CostOf(Access access) const {
    return {.small_ns = RandomAccessNs(kId * size_.nodes, access),
            .large_ns = RandomAccessNs(kId * sizes_.counts.num_nodes(), access)};
  }
  // What waits on disk until it is written.
  [[nodiscard]] int64_t WritingBytes() const {
    return BucketFileBytes(
        sizes_.counts, BudgetWriting(sizes_.counts, options_.method.memory, options_.method.parts));
  }

  const GraphSizes& sizes_;
  const EdgeSample& sample_;
  const PlanOptions& options_;
  const std::filesystem::path scratch_;
  const TrialSize size_;
  MachineCost cost_;
  double write_seconds_ = 0;
};

}  // namespace

int64_t PlanOutputBytes(const GraphSizes& sizes, int parts) {
  int64_t bytes = sizes.node_feature_bytes() + sizes.edge_feature_bytes() + sizes.task_bytes;
  bytes += kId * sizes.counts.num_nodes();
  bytes += kId * NeedsOfPart(sizes, parts).halo_nodes * parts;
  for (const RelationCounts& relation : sizes.counts.relations) {
    const auto source = static_cast<size_t>(relation.source_type);
    const auto destination = static_cast<size_t>(relation.destination_type);
    const int64_t id = FitsUint32(sizes.counts.nodes[source]) ? sizeof(uint32_t) : kId;
    bytes += relation.edges * (kId + id);
    bytes += kId * (sizes.counts.nodes[destination] + parts);
  }
  return bytes;
}

StatusOr<MemoryPlan> PlanRunMemory(const std::string& method, const GraphCounts& counts,
                                   double reciprocity, const MethodOptions& options) {
  HG_ASSIGN_OR_RETURN(const auto made, MakeMethod(method));
  HG_RETURN_IF_ERROR(CheckOrder(*made, options.order));
  const bool folds = made->Profile(counts, options).folds_edges;
  MemoryPlan plan = made->PlanMemory(folds ? Folded(counts, reciprocity) : counts, options);
  plan.Append(PlanWriting(counts, options.memory, options.parts, options.order));
  return plan;
}

StatusOr<RunPlan> PlanRun(const GraphSizes& sizes, const EdgeSample& sample,
                          const PlanOptions& options, const std::filesystem::path& scratch) {
  RunPlan plan;
  plan.sizes = sizes;
  plan.sample = sample;
  plan.parts = options.method.parts;
  plan.memory_limit = options.method.memory;
  plan.output_bytes = PlanOutputBytes(sizes, plan.parts);
  const MethodChoice choice = ChooseMethod(sizes.counts, options.method);
  plan.chosen = choice.method;
  plan.why = choice.why;
  const NoProgress quiet;
  Trials trials(sizes, sample, options, scratch);
  HG_RETURN_IF_ERROR(trials.Writing(&plan));
  for (const std::string& method : options.methods) {
    MethodPlan& row = plan.methods.emplace_back();
    row.method = method;
    const Status status = trials.Method(&row);
    if (!status.ok()) row.failure = ToString(status);
  }
  return plan;
}

}  // namespace halograph
