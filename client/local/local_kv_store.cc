#include <atomic>

#include "client/kv_store.h"
#include "client/local/mapped_graph.h"
#include "client/pull_check.h"

namespace halograph {
namespace {

class LocalKVStore final : public KVStore {
 public:
  explicit LocalKVStore(std::shared_ptr<const MappedGraph> graph) : graph_(std::move(graph)) {}

  const GraphInfo& info() const override { return graph_->info; }

  Status Pull(const TensorRef& ref, std::span<const int64_t> ids, std::span<std::byte> destination,
              CallStats* stats) override {
    if (stopped()) return StoreIsShutDown();
    HG_ASSIGN_OR_RETURN(const CatalogTensor* const tensor,
                        CheckPull(*graph_->tensors, ref, ids, destination));
    const std::function<Status()> check = [this] {
      return stopped() ? StoreIsShutDown() : OkStatus();
    };
    HG_RETURN_IF_ERROR(GatherRowsOf(*tensor, ids, {}, destination.data(),
                                    {.pool = graph_->pool.get(), .check = &check}));
    if (stats != nullptr) stats->local_bytes += static_cast<int64_t>(destination.size());
    return OkStatus();
  }

  StatusOr<TaskSet> ReadTaskSet(const std::string& task, const std::string& set,
                                const std::string& type) override;

  void Shutdown() override { stopped_.store(true, std::memory_order_relaxed); }

 private:
  [[nodiscard]] bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

  std::shared_ptr<const MappedGraph> graph_;
  std::atomic<bool> stopped_ = false;
};

StatusOr<TaskSet> LocalKVStore::ReadTaskSet(const std::string& task, const std::string& set,
                                            const std::string& type) {
  if (stopped()) return StoreIsShutDown();
  const Schema& schema = graph_->info.schema;
  HG_ASSIGN_OR_RETURN(const TaskSetIndex index, FindTaskSet(schema, task, set, type));
  TaskSet result;
  result.spec = schema.tasks[index.task].sets[index.set];
  result.part_boundaries = {0};
  for (const auto& part : graph_->parts->parts()) {
    result.part_boundaries.push_back(result.part_boundaries.back() +
                                     part->TaskArray(index.task, index.set, 0).rows());
  }
  for (int a = 0; a < static_cast<int>(result.spec.arrays.size()); ++a) {
    TaskArray array{.spec = result.spec.arrays[a], .data = {}};
    array.data.reserve(static_cast<size_t>(result.spec.rows) * array.spec.row_bytes());
    for (const auto& part : graph_->parts->parts()) {
      const std::span<const std::byte> rows = part->TaskArray(index.task, index.set, a).data();
      array.data.insert(array.data.end(), rows.begin(), rows.end());
    }
    result.arrays.push_back(std::move(array));
  }
  return result;
}

}  // namespace

std::unique_ptr<KVStore> MakeLocalKVStore(std::shared_ptr<const MappedGraph> graph) {
  return std::make_unique<LocalKVStore>(std::move(graph));
}

}  // namespace halograph
