#include "client/remote/remote_store.h"

#include <utility>

#include "client/remote/cluster.h"
#include "client/remote/pull_call.h"
#include "client/remote/push_call.h"
#include "client/remote/sample_layer_call.h"
#include "client/remote/state_call.h"
#include "client/remote/task_set_call.h"

namespace halograph {

namespace {

class RemoteGraphStore final : public GraphStore {
 public:
  explicit RemoteGraphStore(std::shared_ptr<Cluster> cluster)
      : cluster_(std::move(cluster)), workspaces_(&cluster_->info().schema) {}

  const GraphInfo& info() const override { return cluster_->info(); }

  Status Sample(std::span<const SampleRequest> requests, CallContext& context,
                std::span<Minibatch> minibatches) override {
    return SampleByLayers(*this, &workspaces_, requests, context, minibatches);
  }

  Status SampleLayer(std::span<const LayerGroup> groups, CallContext& context,
                     std::vector<NeighborPicks>* picks) override {
    return SampleLayerRemotely(cluster_.get(), groups, context, picks);
  }

 private:
  const std::shared_ptr<Cluster> cluster_;
  BuilderWorkspaces workspaces_;
};

// The rest of the interfaces: what it pushes, drops and restores belongs together (PushClients).
class RemoteRowStore final : public RowStore, public TaskSets, public TensorAdmin {
 public:
  explicit RemoteRowStore(std::shared_ptr<Cluster> cluster)
      : cluster_(std::move(cluster)), clients_(cluster_->info().book.num_parts()) {}

  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    for (const RowRequest& request : requests) HG_RETURN_IF_ERROR(clients_.Check(request.after));
    return PullRows(cluster_.get(), requests, context);
  }
  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                       CallContext& context) override {
    return PushRemotely(cluster_.get(), &clients_, pushes, context);
  }

  StatusOr<TaskSet> Read(const TaskSetRef& set, IdRange rows, CallContext& context) override {
    return ReadTaskSetRemotely(cluster_.get(), set, rows, context);
  }

  Status Create(const MutableTensorSpec& spec, CallContext& context) override {
    return CreateRemotely(cluster_.get(), spec, context);
  }
  Status Drop(const TensorRef& ref, CallContext& context) override {
    const Status dropped = DropRemotely(cluster_.get(), ref, context);
    if (dropped.ok() || absl::IsNotFound(dropped)) clients_.Forget(ref);
    return dropped;
  }
  StatusOr<std::vector<MutableTensorState>> List(CallContext& context) override {
    return ListRemotely(cluster_.get(), context);
  }
  Status Snapshot(const std::string& name, std::optional<int64_t> step,
                  CallContext& context) override {
    return SnapshotRemotely(cluster_.get(), name, step, context);
  }
  StatusOr<std::map<int, std::vector<SnapshotInfo>>> ListSnapshots(CallContext& context) override {
    return ReadSnapshots(cluster_.get(), context);
  }
  StatusOr<int64_t> ReadSnapshot(const std::string& name, const MutableTensorSpec& spec,
                                 const TakeImages& take, CallContext& context) override {
    return ReadSnapshotRemotely(cluster_.get(), name, spec, take, context);
  }
  Status DeleteSnapshot(const std::string& name, CallContext& context) override {
    return DeleteSnapshotRemotely(cluster_.get(), name, context);
  }
  Status RestoreSnapshot(const std::string& name, CallContext& context) override {
    HG_RETURN_IF_ERROR(RestoreSnapshotRemotely(cluster_.get(), name, context));
    clients_.ForgetAll();
    return OkStatus();
  }

 private:
  const std::shared_ptr<Cluster> cluster_;
  PushClients clients_;
};

}  // namespace

StatusOr<Stores> OpenRemoteStores(const RemoteOptions& options, const CancelToken* cancel) {
  HG_ASSIGN_OR_RETURN(std::shared_ptr<Cluster> cluster, Cluster::Connect(options, cancel));
  const auto rows = std::make_shared<RemoteRowStore>(cluster);
  return Stores{std::make_shared<RemoteGraphStore>(cluster), rows, rows, rows};
}

}  // namespace halograph
