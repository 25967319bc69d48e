#include <atomic>
#include <new>
#include <utility>

#include "client/own_part/own_part_store.h"
#include "client/own_part/owned_split.h"
#include "client/pull_check.h"

namespace halograph {
namespace {

class OwnPartKVStore final : public KVStore {
 public:
  OwnPartKVStore(std::shared_ptr<const MappedGraph> own, std::unique_ptr<ScatteringKVStore> rest)
      : own_(std::move(own)), rest_(std::move(rest)), targets_(OwnTargets(*own_->parts)) {}

  const GraphInfo& info() const override { return rest_->info(); }

  Status Pull(const TensorRef& ref, std::span<const int64_t> ids, std::span<std::byte> destination,
              CallStats* stats) override {
    HG_ASSIGN_OR_RETURN(const CatalogTensor* const tensor,
                        CheckPull(*own_->tensors, ref, ids, destination));
    try {
      return PullSplit(ref, *tensor, ids, destination.data(), stats);
    } catch (const std::bad_alloc&) {
      return ResourceExhausted("{}: no memory to pull {} rows", ref.ToString(), ids.size());
    }
  }

  StatusOr<TaskSet> ReadTaskSet(const std::string& task, const std::string& set,
                                const std::string& type) override {
    return rest_->ReadTaskSet(task, set, type);
  }

  void Shutdown() override {
    stopped_.store(true, std::memory_order_relaxed);
    rest_->Shutdown();
  }

 private:
  Status PullSplit(const TensorRef& ref, const CatalogTensor& tensor, std::span<const int64_t> ids,
                   std::byte* destination, CallStats* stats) {
    OwnerSplit split;
    (void)split.Split(tensor.boundaries, targets_, 2, ids);  // every part has one
    const IdShare& own = split.share(kOwn);
    const IdShare& rest = split.share(kRest);
    const std::function<Status()> check = [this] {
      return stopped_.load(std::memory_order_relaxed) ? StoreIsShutDown() : OkStatus();
    };
    Status gathered;
    std::exception_ptr failure;  // waits until the rest's calls have ended
    const auto gather_own = [&] {
      try {
        gathered = GatherRowsOf(tensor, own.ids, own.positions, destination,
                                {.pool = own_->pool.get(), .check = &check});
      } catch (...) {
        failure = std::current_exception();
      }
    };
    HG_RETURN_IF_ERROR(
        rest_->PullTo(ref, rest.ids, rest.positions, destination, gather_own, stats));
    if (failure != nullptr) std::rethrow_exception(failure);
    HG_RETURN_IF_ERROR(gathered);
    HG_RETURN_IF_ERROR(check());
    if (stats != nullptr) {
      stats->local_bytes += static_cast<int64_t>(own.ids.size() * tensor.resolved.spec.row_bytes());
    }
    return OkStatus();
  }

  const std::shared_ptr<const MappedGraph> own_;
  const std::unique_ptr<ScatteringKVStore> rest_;
  const std::vector<int> targets_;  // per part
  std::atomic<bool> stopped_ = false;
};

}  // namespace

std::unique_ptr<KVStore> MakeOwnPartKVStore(std::shared_ptr<const MappedGraph> own,
                                            std::unique_ptr<ScatteringKVStore> rest) {
  return std::make_unique<OwnPartKVStore>(std::move(own), std::move(rest));
}

}  // namespace halograph
