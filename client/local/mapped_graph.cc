#include "client/local/mapped_graph.h"

#include <algorithm>

#include "common/sampling/request.h"
#include "common/sampling/samplers/local_source.h"
#include "common/sampling/samplers/minibatch_builder.h"

namespace halograph {
namespace {

constexpr int kMaxThreads = 1024;
constexpr size_t kQueuedPerThread = 64;  // chunks that callers may leave to the pool at once

// Of the parts that are there, as if others had none.
std::vector<std::vector<std::vector<int64_t>>> TaskRows(const PartitionSet& set) {
  std::vector<std::vector<std::vector<int64_t>>> rows;
  size_t next = 0;  // of the manifests' counts
  for (const Task& task : set.schema().tasks) {
    auto& of_task = rows.emplace_back();
    for (size_t s = 0; s < task.sets.size(); ++s, ++next) {
      std::vector<int64_t>& boundaries = of_task.emplace_back(1, 0);
      for (int p = 0; p < set.book().num_parts(); ++p) {
        const Partition* const part = set.Find(p);
        boundaries.push_back(boundaries.back() +
                             (part == nullptr ? 0 : part->manifest().task_rows[next]));
      }
    }
  }
  return rows;
}

// What a minibatch that is made beside others of its call may hold until they are done: the tables
// of its builder, and the column sums of one layer.
int64_t BytesOfBuilt(const Schema& schema) {
  constexpr int64_t kSum = sizeof(int64_t) + sizeof(uint64_t);  // a source, and its sum
  int64_t tables = 0, most = 0;
  for (const NodeType& type : schema.node_types) {
    most = std::max(most, type.count);
    if (type.count > BuilderWorkspaces::kTableNodes) continue;
    tables += type.count * static_cast<int64_t>(sizeof(int32_t));
  }
  return tables + kSum * most;
}

// Of what the tables of minibatches leave of `memory`, half is for those that are made together in
// each thread that samples, as many as fit; all else is for stacks.
void PlanStacks(int64_t memory, const SamplerPlan& plan, MappedGraph* mapped) {
  int64_t left = std::max<int64_t>(memory - plan.minibatches * plan.table_bytes, 0);
  const int64_t each = std::max<int64_t>(BytesOfBuilt(mapped->info.schema), 1);
  const int64_t together =
      std::min<int64_t>(left / 2 / each / plan.minibatches, kMinibatchesTogether);
  if (together > 1) {
    mapped->built = static_cast<int>(together * plan.minibatches);
    left -= mapped->built * each;
  }
  mapped->stacks = std::make_unique<StackMemory>(left);
}

}  // namespace

StatusOr<std::shared_ptr<const MappedGraph>> MapGraph(const std::filesystem::path& graph,
                                                      const MapOptions& options) {
  for (const int threads : {options.threads, options.sampling.threads}) {
    if (threads >= 0 && threads <= kMaxThreads) continue;
    return InvalidArgument("threads {} is outside [0, {}]", threads, kMaxThreads);
  }
  auto mapped = std::make_shared<MappedGraph>();
  mapped->columns = std::make_unique<IdlePool<ColumnWorkspace>>();
  HG_ASSIGN_OR_RETURN(mapped->parts,
                      PartitionSet::Open(graph, options.parts, options.verify, options.contents));
  mapped->info = {.identity = mapped->parts->identity(),
                  .schema = mapped->parts->schema(),
                  .book = mapped->parts->book(),
                  .task_rows = {},
                  .clusters = mapped->parts->ClusterBounds()};
  const bool all = std::ssize(mapped->parts->parts()) == mapped->info.book.num_parts();
  if (all || options.own_task_rows) mapped->info.task_rows = TaskRows(*mapped->parts);
  mapped->tensors =
      MakeSchemaCatalog(&mapped->info.schema, &mapped->info.book, mapped->parts.get());
  int helpers = options.threads;
  if (options.sampling.threads > 0) {
    const SamplerPlan plan = PlanSampler(mapped->info.schema, options.sampling);
    mapped->minibatches = plan.minibatches;
    helpers = plan.helpers;
    PlanStacks(options.sampling.memory, plan, mapped.get());
  }
  if (helpers > 0) {
    const auto count = static_cast<size_t>(helpers);
    mapped->pool = std::make_unique<ThreadPool>("hg-local", count, count * kQueuedPerThread);
  }
  return mapped;
}

Status AskMapped(const MappedGraph& graph, const TopologyQuestions& questions,
                 const WorkLimits& limits, TopologyAnswers* answers) {
  return CatchNoMemory(static_cast<int64_t>(questions.size()), "groups", [&] {
    LocalSource source(&graph.info.schema, &graph.parts->topology(), graph.pool.get(),
                       graph.columns.get(), limits, graph.stacks.get());
    return source.Ask(questions, answers);
  });
}

Stores MakeLocalStores(const std::shared_ptr<const MappedGraph>& graph) {
  return {.graph = MakeLocalGraphStore(graph),
          .rows = MakeLocalRowStore(graph),
          .tasks = MakeLocalTaskSets(graph)};
}

}  // namespace halograph
