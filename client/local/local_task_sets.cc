#include "client/local/mapped_graph.h"
#include "client/task_sets.h"

namespace halograph {
namespace {

class LocalTaskSets final : public TaskSets {
 public:
  explicit LocalTaskSets(std::shared_ptr<const MappedGraph> graph) : graph_(std::move(graph)) {}

  StatusOr<TaskSet> Read(const TaskSetRef& set, IdRange rows, CallContext& context) override {
    HG_RETURN_IF_ERROR(context.Check());
    HG_ASSIGN_OR_RETURN(const TaskSetIndex index, CheckTaskSet(graph_->info, set, rows));
    TaskSet result{
        .spec = graph_->info.schema.tasks[index.task].sets[index.set], .rows = rows, .arrays = {}};
    for (int a = 0; a < static_cast<int>(result.spec.arrays.size()); ++a) {
      TaskArray array{.spec = result.spec.arrays[a], .data = {}};
      const size_t row_bytes = array.spec.row_bytes();
      array.data.reserve(static_cast<size_t>(rows.size()) * row_bytes);
      HG_RETURN_IF_ERROR(ForEachPart(
          graph_->info.task_rows[index.task][index.set], rows, [&](int part, IdRange of_part) {
            const auto data = graph_->parts->Find(part)
                                  ->TaskArray(index.task, index.set, a)
                                  .data()
                                  .subspan(static_cast<size_t>(of_part.begin) * row_bytes,
                                           static_cast<size_t>(of_part.size()) * row_bytes);
            array.data.insert(array.data.end(), data.begin(), data.end());
            return context.Check();
          }));
      result.arrays.push_back(std::move(array));
    }
    return result;
  }

 private:
  const std::shared_ptr<const MappedGraph> graph_;
};

}  // namespace

std::unique_ptr<TaskSets> MakeLocalTaskSets(std::shared_ptr<const MappedGraph> graph) {
  return std::make_unique<LocalTaskSets>(std::move(graph));
}

}  // namespace halograph
