// The smallest cache of rows over any store: it keeps all rows of the graph's features that it ever
// pulled. It shows how little a store over another one has to be; what it lacks is a bound.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/stores.h"
#include "common/base/mutex.h"
#include "tests/conformance/store_conformance.h"

namespace halograph {

class ToyRowCache final : public RowStore {
 public:
  explicit ToyRowCache(const Stores& over)
      : graph_(over.graph),
        rest_(over.rows),
        features_(MakeSchemaCatalog(&graph_->info().schema, &graph_->info().book, nullptr)) {}

  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    std::vector<RowRequest> rest(requests.begin(), requests.end());
    std::vector<Missing> missing(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      const auto tensor = features_->Find(requests[i].tensor);
      if (!tensor.ok()) continue;  // it may change: all of it is the rest's
      const auto checked = CheckPull(*features_, requests.subspan(i, 1));
      if (!checked.ok()) {
        return requests.size() == 1 ? checked.status()
                                    : Annotate(checked.status(), fmt::format("request {}", i));
      }
      missing[i] = FindMissing(requests[i], (*tensor)->resolved.spec.row_bytes());
      rest[i] = {.tensor = requests[i].tensor, .ids = missing[i].ids, .out = missing[i].rows};
    }
    HG_RETURN_IF_ERROR(rest_->Pull(rest, context));
    for (size_t i = 0; i < requests.size(); ++i) {
      if (missing[i].row_bytes > 0) Give(requests[i], missing[i], &context);
    }
    return OkStatus();
  }
  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                       CallContext& context) override {
    return rest_->Push(pushes, context);
  }

 private:
  struct Missing {
    size_t row_bytes = 0;
    std::vector<int64_t> ids;
    std::vector<std::byte> rows;
  };

  Missing FindMissing(const RowRequest& request, size_t row_bytes) {
    const MutexLock lock(mutex_);
    const auto& kept = kept_[request.tensor.ToString()];
    std::set<int64_t> ids;
    for (const int64_t id : request.ids) {
      if (!kept.contains(id)) ids.insert(id);
    }
    return {row_bytes, {ids.begin(), ids.end()}, std::vector<std::byte>(ids.size() * row_bytes)};
  }
  void Give(const RowRequest& request, const Missing& missing, CallContext* context) {
    const MutexLock lock(mutex_);
    auto& kept = kept_[request.tensor.ToString()];
    const std::byte* row = missing.rows.data();
    for (const int64_t id : missing.ids) {
      kept[id].assign(row, row + missing.row_bytes);
      row += missing.row_bytes;
    }
    for (size_t i = 0; i < request.ids.size(); ++i) {
      const auto to = request.positions.empty() ? i : static_cast<size_t>(request.positions[i]);
      std::memcpy(request.out.data() + to * missing.row_bytes, kept.at(request.ids[i]).data(),
                  missing.row_bytes);
    }
    const size_t had = request.ids.size() - missing.ids.size();
    context->stats.local_bytes += static_cast<int64_t>(had * missing.row_bytes);
    context->Pulled(request.tensor, PulledFrom::kCache, had, missing.row_bytes);
  }

  const std::shared_ptr<GraphStore> graph_;
  const std::shared_ptr<RowStore> rest_;
  const std::unique_ptr<TensorCatalog> features_;
  Mutex mutex_;
  std::map<std::string, std::map<int64_t, std::vector<std::byte>>> kept_ HG_GUARDED_BY(mutex_);
};

// The stores that `kind` opens, behind a cache that has some rows of every feature.
inline StoreKind ToyCacheOf(const StoreKind& kind) {
  return {"ToyCacheOf" + kind.name,
          [kind](const std::filesystem::path& graph) -> StatusOr<OpenedStores> {
            HG_ASSIGN_OR_RETURN(OpenedStores opened, kind.open(graph));
            opened.stores.rows = std::make_shared<ToyRowCache>(opened.stores);
            for (const NodeType& type : opened.stores.graph->info().schema.node_types) {
              for (const TensorSpec& spec : type.features) {
                std::vector<int64_t> ids;
                for (int64_t id = 0; id < type.count; id += 3) ids.push_back(id);
                std::vector<std::byte> rows(ids.size() * spec.row_bytes());
                CallContext context;
                HG_RETURN_IF_ERROR(opened.stores.rows->Pull(
                    {.tensor = {false, type.name, spec.name}, .ids = ids, .out = rows}, context));
              }
            }
            return opened;
          },
          /*in_place=*/false, /*opened_anew=*/true};
}

}  // namespace halograph
