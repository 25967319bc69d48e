#include <new>

#include "client/kv_store.h"
#include "client/local/local_push.h"
#include "client/local/local_state.h"
#include "client/local/mapped_graph.h"
#include "client/snapshot_reader.h"

namespace halograph {
namespace {

constexpr size_t kSnapshotPageBytes = size_t{4} << 20;

class LocalKVStore final : public KVStore {
 public:
  // `state`: null if there are no mutable tensors.
  LocalKVStore(std::shared_ptr<const MappedGraph> graph, std::shared_ptr<LocalState> state)
      : graph_(std::move(graph)),
        state_(std::move(state)),
        clients_(graph_->info.book.num_parts()) {}

  const GraphInfo& info() const override { return graph_->info; }

  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    HG_RETURN_IF_ERROR(context.Check());
    HG_ASSIGN_OR_RETURN(const auto tensors, CheckPull(Catalog(), requests));
    if (context.meanwhile) context.meanwhile();
    const std::function<Status()> check = [&context] { return context.Check(); };
    for (size_t i = 0; i < requests.size(); ++i) {
      const RowRequest& request = requests[i];
      const MutableTensor* const changing = MutableCatalog::AsMutable(tensors[i]);
      HG_RETURN_IF_ERROR(changing == nullptr
                             ? GatherRows(*tensors[i], request, check)
                             : state_->states->Pull(*changing, request.ids, request.positions,
                                                    request.after, request.out.data(),
                                                    context.limits()));
      context.stats.local_bytes +=
          static_cast<int64_t>(request.ids.size() * tensors[i]->resolved.spec.row_bytes());
    }
    return OkStatus();
  }

  std::optional<RowsInPlace> InPlace(const TensorRef& tensor) const override;

  StatusOr<TaskSet> ReadTaskSet(const TaskSetRef& set, IdRange rows, CallContext& context) override;

  Status CreateTensor(const MutableTensorSpec& spec, CallContext& context) override {
    if (state_ == nullptr) return KVStore::CreateTensor(spec, context);
    HG_RETURN_IF_ERROR(context.Check());
    return state_->states->Create(spec, context.limits());
  }
  Status DropTensor(const TensorRef& ref, CallContext& context) override {
    if (state_ == nullptr) return KVStore::DropTensor(ref, context);
    HG_RETURN_IF_ERROR(context.Check());
    return state_->states->Drop(ref, context.limits());
  }
  StatusOr<std::vector<MutableTensorState>> ListTensors(CallContext& context) override {
    if (state_ == nullptr) return KVStore::ListTensors(context);
    HG_RETURN_IF_ERROR(context.Check());
    return MergeTensors(state_->states->Stats());
  }
  StatusOr<PushMark> Push(const RowPush& push, CallContext& context) override {
    if (state_ == nullptr) return KVStore::Push(push, context);
    return PushLocally(*state_->states, &clients_, push, context);
  }
  Status SnapshotTensors(const std::string& name, std::optional<int64_t> step,
                         CallContext& context) override {
    if (state_ == nullptr) return KVStore::SnapshotTensors(name, step, context);
    return state_->states->Snapshot(name, step, context.limits()).status();
  }
  StatusOr<std::map<int, std::vector<SnapshotInfo>>> ListSnapshots(CallContext& context) override {
    if (state_ == nullptr) return KVStore::ListSnapshots(context);
    HG_RETURN_IF_ERROR(context.Check());
    return state_->states->Snapshots();
  }
  StatusOr<int64_t> ReadSnapshot(const std::string& name, const MutableTensorSpec& spec,
                                 const TakeImages& take, CallContext& context) override;
  Status DeleteSnapshot(const std::string& name, CallContext& context) override {
    if (state_ == nullptr) return KVStore::DeleteSnapshot(name, context);
    HG_RETURN_IF_ERROR(context.Check());
    return state_->states->DeleteSnapshot(name, context.limits());
  }
  Status RestoreSnapshot(const std::string& name, CallContext& context) override {
    if (state_ == nullptr) return KVStore::RestoreSnapshot(name, context);
    HG_RETURN_IF_ERROR(context.Check());
    return state_->states->RestoreSnapshot(name, context.limits());
  }

 private:
  [[nodiscard]] const TensorCatalog& Catalog() const {
    if (state_ == nullptr) return *graph_->tensors;
    return state_->states->catalog();
  }
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
  std::shared_ptr<LocalState> state_;
  PushClients clients_;
};

StatusOr<int64_t> LocalKVStore::ReadSnapshot(const std::string& name, const MutableTensorSpec& spec,
                                             const TakeImages& take, CallContext& context) {
  if (state_ == nullptr) return KVStore::ReadSnapshot(name, spec, take, context);
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<SnapshotReader> reader,
                      SnapshotReader::Make(spec, graph_->info.schema, graph_->info.book, &take));
  for (const auto& [part, store] : state_->states->stores()) {
    std::optional<SnapshotPlace> place = SnapshotPlace{};
    while (place.has_value()) {
      HG_RETURN_IF_ERROR(context.Check());
      HG_ASSIGN_OR_RETURN(const SnapshotPage page,
                          store->ReadSnapshot(name, spec.ref, *place, kSnapshotPageBytes));
      HG_RETURN_IF_ERROR(reader->Take(part, page.rows, page.images, page.step));
      place = page.next;
    }
  }
  return reader->step();
}

std::optional<RowsInPlace> LocalKVStore::InPlace(const TensorRef& tensor) const {
  const auto found = graph_->tensors->Find(tensor);
  if (!found.ok()) return std::nullopt;
  RowsInPlace rows{.boundaries = (*found)->boundaries,
                   .by_part = {},
                   .row_bytes = (*found)->resolved.spec.row_bytes()};
  for (const RowSource* const source : (*found)->by_part) {
    if (source == nullptr) return std::nullopt;
    rows.by_part.push_back(source->in_place());
    if (rows.by_part.back() == nullptr && source->ids().size() > 0) return std::nullopt;
  }
  return rows;
}

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
  return std::make_unique<LocalKVStore>(std::move(graph), nullptr);
}

std::unique_ptr<KVStore> MakeLocalKVStore(std::shared_ptr<LocalState> state) {
  auto graph = state->graph;
  return std::make_unique<LocalKVStore>(std::move(graph), std::move(state));
}

}  // namespace halograph
