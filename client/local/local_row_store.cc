#include <new>

#include "client/local/local_push.h"
#include "client/local/local_state.h"
#include "client/local/mapped_graph.h"
#include "client/row_store.h"

namespace halograph {
namespace {

class LocalRowStore final : public RowStore {
 public:
  // `state`: null if there are no mutable tensors.
  LocalRowStore(std::shared_ptr<const MappedGraph> graph, std::shared_ptr<LocalState> state)
      : graph_(std::move(graph)),
        state_(std::move(state)),
        clients_(graph_->info.book.num_parts()) {}

  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    HG_RETURN_IF_ERROR(context.Check());
    HG_ASSIGN_OR_RETURN(const auto tensors, CheckPull(Catalog(), requests));
    const std::function<Status()> check = [&context] { return context.Check(); };
    for (size_t i = 0; i < requests.size(); ++i) {
      const RowRequest& request = requests[i];
      const MutableTensor* const changing = MutableCatalog::AsMutable(tensors[i]);
      HG_RETURN_IF_ERROR(changing == nullptr
                             ? GatherRows(*tensors[i], request, check)
                             : state_->states->Pull(*changing, request.ids, request.positions,
                                                    request.after, request.out.data(),
                                                    context.limits()));
      const size_t row_bytes = tensors[i]->resolved.spec.row_bytes();
      context.stats.local_bytes += static_cast<int64_t>(request.ids.size() * row_bytes);
      context.Pulled(request.tensor, PulledFrom::kLocal, request.ids.size(), row_bytes);
    }
    return OkStatus();
  }

  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                       CallContext& context) override {
    if (state_ == nullptr) return RefusePushes(pushes);
    return PushLocally(*state_->states, &clients_, pushes, context);
  }

  std::optional<RowsInPlace> InPlace(const TensorRef& tensor) const override;

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

std::optional<RowsInPlace> LocalRowStore::InPlace(const TensorRef& tensor) const {
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

}  // namespace

std::unique_ptr<RowStore> MakeLocalRowStore(std::shared_ptr<const MappedGraph> graph) {
  return std::make_unique<LocalRowStore>(std::move(graph), nullptr);
}

std::unique_ptr<RowStore> MakeLocalRowStore(std::shared_ptr<LocalState> state) {
  auto graph = state->graph;
  return std::make_unique<LocalRowStore>(std::move(graph), std::move(state));
}

}  // namespace halograph
