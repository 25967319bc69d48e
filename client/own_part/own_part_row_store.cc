#include <exception>
#include <new>
#include <utility>

#include "client/own_part/own_part_store.h"
#include "client/own_part/own_parts.h"
#include "common/graph/owner_split.h"

namespace halograph {
namespace {

class OwnPartRowStore final : public RowStore {
 public:
  OwnPartRowStore(std::shared_ptr<const MappedGraph> own, std::shared_ptr<RowStore> rest)
      : own_(std::move(own)), rest_(std::move(rest)), targets_(OwnTargets(*own_->parts)) {}

  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    HG_ASSIGN_OR_RETURN(const auto tensors, CheckOwn(requests));
    try {
      return PullSplit(requests, tensors, context);
    } catch (const std::bad_alloc&) {
      size_t rows = 0;
      for (const RowRequest& request : requests) rows += request.ids.size();
      return ResourceExhausted("no memory to pull {} rows of {} tensors", rows, requests.size());
    }
  }

  // Mutable tensors have their owners with the other store, also those of the partitions here.
  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                       CallContext& context) override {
    return rest_->Push(pushes, context);
  }

 private:
  // As CheckPull; null for what only the other store can know, which checks it.
  StatusOr<std::vector<const CatalogTensor*>> CheckOwn(std::span<const RowRequest> requests) const {
    std::vector<const CatalogTensor*> tensors;
    for (size_t i = 0; i < requests.size(); ++i) {
      tensors.push_back(nullptr);
      if (!own_->tensors->Find(requests[i].tensor).ok()) continue;
      const auto checked = CheckPull(*own_->tensors, requests.subspan(i, 1));
      if (!checked.ok()) {
        return requests.size() == 1 ? checked.status()
                                    : Annotate(checked.status(), fmt::format("request {}", i));
      }
      tensors.back() = checked->front();
    }
    return tensors;
  }

  Status PullSplit(std::span<const RowRequest> requests,
                   std::span<const CatalogTensor* const> tensors, CallContext& context) {
    std::vector<OwnerSplit> splits(requests.size());
    std::vector<RowRequest> rest(requests.begin(), requests.end());
    for (size_t i = 0; i < requests.size(); ++i) {
      if (tensors[i] == nullptr) continue;  // all of it
      const int without = splits[i].Split(tensors[i]->boundaries, targets_, kOwnOrRest,
                                          requests[i].ids, requests[i].positions);
      if (without >= 0) return Internal("partition {} is neither here nor elsewhere", without);
      const IdShare& share = splits[i].share(kRest);
      rest[i].ids = share.ids;
      rest[i].positions = share.positions;
      // Nothing to ask for: positions, of which there are none, would not say so.
      if (share.ids.empty()) rest[i].out = {};
    }
    Status own_status;
    std::exception_ptr own_failure;  // waits until the rest's calls have ended
    const auto gather_own = [&] {
      try {
        own_status = GatherOwn(requests, tensors, splits, context);
      } catch (...) {
        own_failure = std::current_exception();
      }
      if (context.meanwhile) context.meanwhile();
    };
    CallContext inner = InnerContext(context, gather_own);
    const Status status = rest_->Pull(rest, inner);
    context.stats += inner.stats;
    HG_RETURN_IF_ERROR(status);
    if (own_failure != nullptr) std::rethrow_exception(own_failure);
    return own_status;
  }

  Status GatherOwn(std::span<const RowRequest> requests,
                   std::span<const CatalogTensor* const> tensors,
                   std::span<const OwnerSplit> splits, CallContext& context) const {
    const std::function<Status()> check = [&context] { return context.Check(); };
    for (size_t i = 0; i < requests.size(); ++i) {
      if (tensors[i] == nullptr) continue;
      const IdShare& own = splits[i].share(kOwn);
      HG_RETURN_IF_ERROR(GatherRowsOf(*tensors[i], own.ids, own.positions, requests[i].out.data(),
                                      {.pool = own_->pool.get(), .check = &check}));
      context.stats.local_bytes +=
          static_cast<int64_t>(own.ids.size() * tensors[i]->resolved.spec.row_bytes());
    }
    return OkStatus();
  }

  const std::shared_ptr<const MappedGraph> own_;
  const std::shared_ptr<RowStore> rest_;
  const std::vector<int> targets_;  // per part
};

}  // namespace

std::unique_ptr<RowStore> MakeOwnPartRowStore(std::shared_ptr<const MappedGraph> own,
                                              std::shared_ptr<RowStore> rest) {
  return std::make_unique<OwnPartRowStore>(std::move(own), std::move(rest));
}

}  // namespace halograph
