#include "client/local/local_state.h"
#include "client/snapshot_reader.h"
#include "client/tensor_admin.h"

namespace halograph {
namespace {

constexpr size_t kSnapshotPageBytes = size_t{4} << 20;

class LocalTensorAdmin final : public TensorAdmin {
 public:
  explicit LocalTensorAdmin(std::shared_ptr<LocalState> state) : state_(std::move(state)) {}

  Status Create(const MutableTensorSpec& spec, CallContext& context) override {
    HG_RETURN_IF_ERROR(context.Check());
    return state_->states->Create(spec, context.limits());
  }
  Status Drop(const TensorRef& ref, CallContext& context) override {
    HG_RETURN_IF_ERROR(context.Check());
    return state_->states->Drop(ref, context.limits());
  }
  StatusOr<std::vector<MutableTensorState>> List(CallContext& context) override {
    HG_RETURN_IF_ERROR(context.Check());
    return MergeTensors(state_->states->Stats());
  }
  Status Snapshot(const std::string& name, std::optional<int64_t> step,
                  CallContext& context) override {
    return state_->states->Snapshot(name, step, context.limits()).status();
  }
  StatusOr<std::map<int, std::vector<SnapshotInfo>>> ListSnapshots(CallContext& context) override {
    HG_RETURN_IF_ERROR(context.Check());
    return state_->states->Snapshots({.tensors = false});
  }
  StatusOr<std::map<int, SnapshotInfo>> DescribeSnapshot(const std::string& name,
                                                         CallContext& context) override {
    HG_RETURN_IF_ERROR(context.Check());
    std::map<int, SnapshotInfo> told;
    for (auto& [part, kept] : state_->states->Snapshots({.name = name})) {
      if (!kept.empty()) told.emplace(part, std::move(kept.front()));
    }
    return told;
  }
  StatusOr<int64_t> ReadSnapshot(const std::string& name, const MutableTensorSpec& spec,
                                 const TakeImages& take, CallContext& context) override {
    HG_ASSIGN_OR_RETURN(
        const std::unique_ptr<SnapshotReader> reader,
        SnapshotReader::Make(spec, state_->graph->info.schema, state_->graph->info.book, &take));
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
  Status DeleteSnapshot(const std::string& name, CallContext& context) override {
    HG_RETURN_IF_ERROR(context.Check());
    return state_->states->DeleteSnapshot(name, context.limits());
  }
  Status RestoreSnapshot(const std::string& name, CallContext& context) override {
    HG_RETURN_IF_ERROR(context.Check());
    return state_->states->RestoreSnapshot(name, context.limits());
  }

 private:
  const std::shared_ptr<LocalState> state_;
};

}  // namespace

std::unique_ptr<TensorAdmin> MakeLocalTensorAdmin(std::shared_ptr<LocalState> state) {
  return std::make_unique<LocalTensorAdmin>(std::move(state));
}

}  // namespace halograph
