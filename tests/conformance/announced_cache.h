// The cache of rows (client/cached) over any store, with every pull announced just before it: what
// a pull without a ticket does is the store's below, which has its own cases.
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/cached/cached_rows.h"
#include "client/stores.h"
#include "common/base/mutex.h"
#include "tests/conformance/store_conformance.h"

namespace halograph {

class AnnouncedCache final : public RowStore {
 public:
  AnnouncedCache(const GraphInfo& info, std::unique_ptr<CachedRows> cache)
      : schema_(info.schema), cache_(std::move(cache)) {}

  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    CallContext inner = InnerContext(context);
    inner.ticket = Announce(requests);
    const Status status = cache_->Pull(requests, inner);
    context.stats += inner.stats;
    return status;
  }
  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                       CallContext& context) override {
    return cache_->Push(pushes, context);
  }

 private:
  // Of each node type the ids of its first request, if they can be announced: each once.
  std::optional<int64_t> Announce(std::span<const RowRequest> requests) {
    std::vector<std::vector<int64_t>> nodes(schema_.node_types.size());
    for (const RowRequest& request : requests) {
      const auto type = schema_.NodeTypeIndex(request.tensor.type);
      if (request.tensor.edge || !type.ok() || !nodes[*type].empty()) continue;
      nodes[*type].assign(request.ids.begin(), request.ids.end());
    }
    const MutexLock lock(mutex_);
    if (!cache_->Announce(next_, nodes).ok()) return std::nullopt;
    return next_++;
  }

  const Schema schema_;
  const std::unique_ptr<CachedRows> cache_;
  Mutex mutex_;
  int64_t next_ HG_GUARDED_BY(mutex_) = 0;
};

// The stores that `kind` opens, behind a cache of 20 rows of all features of nodes.
inline StoreKind CacheOf(const StoreKind& kind) {
  return {"CacheOf" + kind.name,
          [kind](const std::filesystem::path& graph) -> StatusOr<OpenedStores> {
            HG_ASSIGN_OR_RETURN(OpenedStores opened, kind.open(graph));
            const GraphInfo& info = opened.stores.graph->info();
            CachedRowsOptions options{.own_parts = {0}};
            size_t row_bytes = sizeof(uint32_t) + kPlanBytesASlot;
            for (const NodeType& type : info.schema.node_types) {
              for (const TensorSpec& spec : type.features) {
                options.tensors.push_back({false, type.name, spec.name});
                row_bytes += spec.row_bytes();
              }
            }
            options.memory_bytes = 20 * row_bytes;
            if (options.tensors.empty()) return opened;
            HG_ASSIGN_OR_RETURN(auto cache, CachedRows::Create(opened.stores.rows, info, options));
            opened.stores.rows = std::make_shared<AnnouncedCache>(info, std::move(cache));
            return opened;
          },
          /*in_place=*/false, /*opened_anew=*/true};
}

}  // namespace halograph
