#include "client/part_alone/part_view.h"

#include <utility>

namespace halograph {
namespace {

GraphInfo InfoOfPart(GraphInfo info, int part) {
  for (auto& task : info.task_rows) {
    for (std::vector<int64_t>& boundaries : task) {
      const auto p = static_cast<size_t>(part);
      const int64_t rows = boundaries[p + 1] - boundaries[p];
      for (size_t i = 0; i < boundaries.size(); ++i) boundaries[i] = i <= p ? 0 : rows;
    }
  }
  for (size_t p = 0; p < info.clusters.size(); ++p) {
    if (p != static_cast<size_t>(part)) info.clusters[p].clear();
  }
  return info;
}

class GraphView final : public GraphStore {
 public:
  GraphView(std::shared_ptr<GraphStore> whole, int part)
      : whole_(std::move(whole)), info_(InfoOfPart(whole_->info(), part)) {}

  const GraphInfo& info() const override { return info_; }
  Status Sample(std::span<const SampleRequest> requests, CallContext& context,
                std::span<Minibatch> minibatches) override {
    return whole_->Sample(requests, context, minibatches);
  }
  void StartSample(std::span<const SampleRequest> requests, CallContext& context,
                   std::span<Minibatch> minibatches, StatusDone done) override {
    whole_->StartSample(requests, context, minibatches, std::move(done));
  }
  Status Ask(const TopologyQuestions& questions, CallContext& context,
             TopologyAnswers* answers) override {
    return whole_->Ask(questions, context, answers);
  }
  void StartAsk(const TopologyQuestions& questions, CallContext& context, TopologyAnswers* answers,
                StatusDone done) override {
    whole_->StartAsk(questions, context, answers, std::move(done));
  }

 private:
  const std::shared_ptr<GraphStore> whole_;
  const GraphInfo info_;
};

class TaskSetsView final : public TaskSets {
 public:
  TaskSetsView(const Stores& whole, int part)
      : graph_(whole.graph), whole_(whole.tasks), part_(static_cast<size_t>(part)) {}

  StatusOr<TaskSet> Read(const TaskSetRef& set, IdRange rows, CallContext& context) override {
    HG_ASSIGN_OR_RETURN(const TaskSetIndex index,
                        FindTaskSet(graph_->info().schema, set.task, set.set, set.type));
    const std::vector<int64_t>& boundaries =
        graph_->info().task_rows[static_cast<size_t>(index.task)][static_cast<size_t>(index.set)];
    const int64_t first = boundaries[part_];
    const int64_t count = boundaries[part_ + 1] - first;
    if (rows.begin < 0 || rows.end < rows.begin || rows.end > count) {
      return OutOfRange(
          "rows [{}, {}) of task set '{} / {} / {}' are asked for; part {} has {} of them",
          rows.begin, rows.end, set.task, set.set, set.type, part_, count);
    }
    HG_ASSIGN_OR_RETURN(TaskSet read,
                        whole_->Read(set, {first + rows.begin, first + rows.end}, context));
    read.rows = rows;
    return read;
  }

 private:
  const std::shared_ptr<GraphStore> graph_;
  const std::shared_ptr<TaskSets> whole_;
  const size_t part_;
};

}  // namespace

Stores MakePartView(const Stores& whole, int part) {
  return {.graph = std::make_shared<GraphView>(whole.graph, part),
          .rows = whole.rows,
          .tasks = std::make_shared<TaskSetsView>(whole, part)};
}

}  // namespace halograph
