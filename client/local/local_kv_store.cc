#include <algorithm>
#include <atomic>

#include "client/kv_store.h"
#include "client/local/mapped_graph.h"
#include "common/storage/row_gather.h"

namespace halograph {
namespace {

constexpr int64_t kPullGrain = 2048;  // rows a task

// The ids of one chunk, those of each owner together, beside their rows in the destination.
struct OwnerGroups {
  std::vector<size_t> starts;  // parts + 1
  std::vector<int64_t> ids;
  std::vector<int64_t> positions;
};

OwnerGroups GroupByOwner(std::span<const int64_t> boundaries, std::span<const int64_t> ids,
                         int64_t first_position) {
  OwnerGroups groups;
  std::vector<int32_t> owners(ids.size());
  groups.starts.assign(boundaries.size(), 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    owners[i] = FindRange(boundaries, ids[i]);
    ++groups.starts[owners[i] + 1];
  }
  for (size_t p = 1; p < groups.starts.size(); ++p) groups.starts[p] += groups.starts[p - 1];
  groups.ids.resize(ids.size());
  groups.positions.resize(ids.size());
  std::vector<size_t> next(groups.starts.begin(), groups.starts.end() - 1);
  for (size_t i = 0; i < ids.size(); ++i) {
    const size_t slot = next[owners[i]]++;
    groups.ids[slot] = ids[i];
    groups.positions[slot] = first_position + static_cast<int64_t>(i);
  }
  return groups;
}

Status CheckIds(const TensorRef& ref, const ResolvedTensor& tensor, std::span<const int64_t> ids) {
  const auto outside =
      std::find_if(ids.begin(), ids.end(), [&](int64_t id) { return id < 0 || id >= tensor.rows; });
  if (outside == ids.end()) return OkStatus();
  return OutOfRange("{}: id {} at position {} is outside its {} rows", ref.ToString(), *outside,
                    outside - ids.begin(), tensor.rows);
}

class LocalKVStore final : public KVStore {
 public:
  explicit LocalKVStore(std::shared_ptr<const MappedGraph> graph) : graph_(std::move(graph)) {}

  const GraphInfo& info() const override { return graph_->info; }

  Status Pull(const TensorRef& ref, std::span<const int64_t> ids, std::span<std::byte> destination,
              PullStats* stats) override {
    if (stopped()) return StoreIsShutDown();
    HG_ASSIGN_OR_RETURN(const ResolvedTensor tensor, ResolveTensor(graph_->info.schema, ref));
    const size_t bytes = ids.size() * tensor.spec.row_bytes();
    if (destination.size() != bytes) {
      return InvalidArgument("{}: the destination has {} bytes, {} rows of {} bytes need {}",
                             ref.ToString(), destination.size(), ids.size(),
                             tensor.spec.row_bytes(), bytes);
    }
    HG_RETURN_IF_ERROR(CheckIds(ref, tensor, ids));
    ParallelFor(graph_->pool.get(), static_cast<int64_t>(ids.size()), kPullGrain,
                [&](int64_t begin, int64_t end) {
                  if (!stopped()) GatherChunk(tensor, ids, begin, end, destination.data());
                });
    if (stopped()) return StoreIsShutDown();
    if (stats != nullptr) stats->local_bytes += static_cast<int64_t>(bytes);
    return OkStatus();
  }

  StatusOr<TaskSet> ReadTaskSet(const std::string& task, const std::string& set,
                                const std::string& type) override;

  void Shutdown() override { stopped_.store(true, std::memory_order_relaxed); }

 private:
  [[nodiscard]] bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

  void GatherChunk(const ResolvedTensor& tensor, std::span<const int64_t> ids, int64_t begin,
                   int64_t end, std::byte* destination) const {
    const std::span<const int64_t> chunk = ids.subspan(begin, end - begin);
    const size_t row_bytes = tensor.spec.row_bytes();
    const std::span<const std::unique_ptr<Partition>> parts = graph_->parts->parts();
    if (parts.size() == 1) {
      const TensorRows rows = RowsOf(*parts[0], tensor);
      GatherRows(rows.bytes, row_bytes, rows.ids.begin, chunk,
                 destination + static_cast<size_t>(begin) * row_bytes);
      return;
    }
    const OwnerGroups groups = GroupByOwner(Boundaries(graph_->info.book, tensor), chunk, begin);
    for (size_t p = 0; p < parts.size(); ++p) {
      const size_t first = groups.starts[p];
      const size_t count = groups.starts[p + 1] - first;
      if (count == 0) continue;
      const TensorRows rows = RowsOf(*parts[p], tensor);
      GatherRowsTo(rows.bytes, row_bytes, rows.ids.begin,
                   std::span(groups.ids).subspan(first, count),
                   std::span(groups.positions).subspan(first, count), destination);
    }
  }

  std::shared_ptr<const MappedGraph> graph_;
  std::atomic<bool> stopped_ = false;
};

// Where a task set stands in the schema.
struct SetIndex {
  int task = 0;
  int set = 0;
};

StatusOr<SetIndex> FindSet(const Schema& schema, const std::string& task, const std::string& set,
                           const std::string& type) {
  std::string exists;
  for (int t = 0; t < static_cast<int>(schema.tasks.size()); ++t) {
    for (int s = 0; s < static_cast<int>(schema.tasks[t].sets.size()); ++s) {
      const TaskSetSpec& spec = schema.tasks[t].sets[s];
      if (schema.tasks[t].name == task && spec.set == set && spec.type == type) {
        return SetIndex{t, s};
      }
      exists += (exists.empty() ? "" : ", ") + schema.tasks[t].name + " / " + spec.set + " / " +
                spec.type;
    }
  }
  return NotFound("no task set '{} / {} / {}' in this graph; it has {}", task, set, type,
                  exists.empty() ? "none" : exists);
}

StatusOr<TaskSet> LocalKVStore::ReadTaskSet(const std::string& task, const std::string& set,
                                            const std::string& type) {
  if (stopped()) return StoreIsShutDown();
  const Schema& schema = graph_->info.schema;
  HG_ASSIGN_OR_RETURN(const SetIndex index, FindSet(schema, task, set, type));
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
