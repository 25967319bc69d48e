// What stores over mapped files share: the mapped parts, the threads that work on a call besides
// the caller, and what the stores say about themselves. Immutable; thread-safe.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "client/stores.h"
#include "common/base/cancel.h"
#include "common/base/idle_pool.h"
#include "common/base/thread_pool.h"
#include "common/graph/partition.h"
#include "common/graph/row_source.h"
#include "common/sampling/kernel/column_workspace.h"
#include "common/sampling/kernel/frontier_stack.h"
#include "common/sampling/kernel/sampler_plan.h"
#include "common/sampling/topology_source.h"

namespace halograph {

struct MappedGraph {
  GraphInfo info;  // task_rows: empty unless all parts are mapped, or own_task_rows
  std::unique_ptr<PartitionSet> parts;                 // all of them, or those that are mapped here
  std::unique_ptr<TensorCatalog> tensors;              // of info's schema; rows of `parts`
  std::unique_ptr<ThreadPool> pool;                    // null: the caller works alone
  std::unique_ptr<IdlePool<ColumnWorkspace>> columns;  // of calls that draw layer-wise
  std::unique_ptr<StackMemory> stacks;                 // of calls with several such minibatches
  int minibatches = 0;                                 // sampled at once at most; 0: one a core
  // In the making at once at most, of those that are made by what they ask; 0: as minibatches.
  int built = 0;
};

struct MapOptions {
  std::vector<int> parts = {};  // empty: all
  VerifyLevel verify = VerifyLevel::kContents;
  int threads = 0;  // that work on one call besides the caller
  // With threads of its own, instead of the above: PlanSampler says how many minibatches are
  // sampled at once and how many threads help; where their memory leaves room for it,
  // minibatches of one call are made together and share scans. No threads: one minibatch a core,
  // whatever its memory.
  SamplerThreads sampling = {.threads = 0};
  PartContents contents = {};
  // info.task_rows count the rows of the parts that are mapped, as if others had none.
  bool own_task_rows = false;
};

// Errors as PartitionSet::Open; InvalidArgument: threads, of either kind, below 0 or above 1024.
[[nodiscard]] StatusOr<std::shared_ptr<const MappedGraph>> MapGraph(
    const std::filesystem::path& graph, const MapOptions& options);

// Answers questions about destinations and parts that are mapped. ResourceExhausted: no memory;
// else as LocalSource.
[[nodiscard]] Status AskMapped(const MappedGraph& graph, const TopologyQuestions& questions,
                               const WorkLimits& limits, TopologyAnswers* answers);

// The first requires the topology of all parts, the others everything else of them. The second
// answers a pull of rows of several parts out of all of them, on the graph's threads. The third
// reads what info.task_rows count.
[[nodiscard]] std::unique_ptr<GraphStore> MakeLocalGraphStore(
    std::shared_ptr<const MappedGraph> graph);
[[nodiscard]] std::unique_ptr<RowStore> MakeLocalRowStore(std::shared_ptr<const MappedGraph> graph);
[[nodiscard]] std::unique_ptr<TaskSets> MakeLocalTaskSets(std::shared_ptr<const MappedGraph> graph);
// The three of them.
[[nodiscard]] Stores MakeLocalStores(const std::shared_ptr<const MappedGraph>& graph);

}  // namespace halograph
