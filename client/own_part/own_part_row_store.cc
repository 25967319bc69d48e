#include <functional>
#include <memory>
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
    return StartAndWait<Status>(context, [&](CallContext& inner, StatusDone done) {
      StartPull(requests, inner, std::move(done));
    });
  }

  // The calls of the rest are under way while own rows are gathered.
  void StartPull(std::span<const RowRequest> requests, CallContext& context,
                 StatusDone done) override {
    const auto pull = std::make_shared<SplitPull>();
    const Status split = Caught(requests, [&] {
      HG_ASSIGN_OR_RETURN(pull->tensors, CheckOwn(requests));
      return Split(requests, pull.get());
    });
    if (!split.ok()) return done(split);
    pull->rest_context = InnerContext(context);
    const auto halves =
        std::make_shared<TwoHalves>([pull, &context, done = std::move(done)](Status status) {
          context.stats += pull->rest_context.stats;
          context.stats.local_bytes += pull->own_bytes;
          done(std::move(status));
        });
    rest_->StartPull(pull->rest, pull->rest_context,
                     [halves](Status status) { halves->EndRest(std::move(status)); });
    halves->DoOwn(
        [&] { return Caught(requests, [&] { return GatherOwn(requests, context, pull.get()); }); });
  }

  // Mutable tensors have their owners with the other store, also those of the partitions here.
  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                       CallContext& context) override {
    return rest_->Push(pushes, context);
  }
  void StartPush(std::span<const RowPush> pushes, CallContext& context, PushDone done) override {
    rest_->StartPush(pushes, context, std::move(done));
  }

 private:
  struct SplitPull {
    std::vector<const CatalogTensor*> tensors;
    std::vector<OwnerSplit> splits;
    std::vector<RowRequest> rest;
    CallContext rest_context;
    int64_t own_bytes = 0;  // gathered
  };

  static Status Caught(std::span<const RowRequest> requests, const std::function<Status()>& work) {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      size_t rows = 0;
      for (const RowRequest& request : requests) rows += request.ids.size();
      return ResourceExhausted("no memory to pull {} rows of {} tensors", rows, requests.size());
    }
  }

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

  Status Split(std::span<const RowRequest> requests, SplitPull* pull) const {
    pull->splits.resize(requests.size());
    pull->rest.assign(requests.begin(), requests.end());
    for (size_t i = 0; i < requests.size(); ++i) {
      const CatalogTensor* const tensor = pull->tensors[i];
      if (tensor == nullptr) continue;  // all of it
      const int without = pull->splits[i].Split(tensor->boundaries, targets_, kOwnOrRest,
                                                requests[i].ids, requests[i].positions);
      if (without >= 0) return Internal("partition {} is neither here nor elsewhere", without);
      const IdShare& share = pull->splits[i].share(kRest);
      pull->rest[i].ids = share.ids;
      pull->rest[i].positions = share.positions;
      // Nothing to ask for: positions, of which there are none, would not say so.
      if (share.ids.empty()) pull->rest[i].out = {};
    }
    return OkStatus();
  }

  Status GatherOwn(std::span<const RowRequest> requests, const CallContext& context,
                   SplitPull* pull) const {
    const std::function<Status()> check = [&context] { return context.Check(); };
    for (size_t i = 0; i < requests.size(); ++i) {
      const CatalogTensor* const tensor = pull->tensors[i];
      if (tensor == nullptr) continue;
      const IdShare& own = pull->splits[i].share(kOwn);
      HG_RETURN_IF_ERROR(GatherRowsOf(*tensor, own.ids, own.positions, requests[i].out.data(),
                                      {.pool = own_->pool.get(), .check = &check}));
      const size_t row_bytes = tensor->resolved.spec.row_bytes();
      pull->own_bytes += static_cast<int64_t>(own.ids.size() * row_bytes);
      context.Pulled(requests[i].tensor, PulledFrom::kLocal, own.ids.size(), row_bytes);
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
