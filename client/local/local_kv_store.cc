#include <new>

#include "client/kv_store.h"
#include "client/local/mapped_graph.h"

namespace halograph {
namespace {

class LocalKVStore final : public KVStore {
 public:
  explicit LocalKVStore(std::shared_ptr<const MappedGraph> graph) : graph_(std::move(graph)) {}

  const GraphInfo& info() const override { return graph_->info; }

  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    HG_RETURN_IF_ERROR(context.Check());
    HG_ASSIGN_OR_RETURN(const auto tensors, CheckPull(*graph_->tensors, requests));
    if (context.meanwhile) context.meanwhile();
    const std::function<Status()> check = [&context] { return context.Check(); };
    for (size_t i = 0; i < requests.size(); ++i) {
      const RowRequest& request = requests[i];
      HG_RETURN_IF_ERROR(GatherRows(*tensors[i], request, check));
      context.stats.local_bytes +=
          static_cast<int64_t>(request.ids.size() * tensors[i]->resolved.spec.row_bytes());
    }
    return OkStatus();
  }

  StatusOr<TaskSet> ReadTaskSet(const TaskSetRef& set, IdRange rows, CallContext& context) override;

 private:
  [[nodiscard]] Status GatherRows(const CatalogTensor& tensor, const RowRequest& request,
                                  const std::function<Status()>& check) const {
    try {
      return GatherRowsOf(tensor, request.ids, request.positions, request.out.data(),
                          {.pool = graph_->pool.get(), .check = &check});
    } catch (const std::bad_alloc&) {
      return ResourceExhausted("{}: no memory to pull {} rows", request.tensor.ToString(),
                               request.ids.size());
    }
  }

  std::shared_ptr<const MappedGraph> graph_;
};

StatusOr<TaskSet> LocalKVStore::ReadTaskSet(const TaskSetRef& set, IdRange rows,
                                            CallContext& context) {
  HG_RETURN_IF_ERROR(context.Check());
  HG_ASSIGN_OR_RETURN(const TaskSetIndex index, CheckTaskSet(graph_->info, set, rows));
  if (context.meanwhile) context.meanwhile();
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

}  // namespace

std::unique_ptr<KVStore> MakeLocalKVStore(std::shared_ptr<const MappedGraph> graph) {
  return std::make_unique<LocalKVStore>(std::move(graph));
}

}  // namespace halograph
