// The calls about mutable tensors as a whole: to the servers that keep those of all partitions,
// side by side. Errors of a server are named after it (RpcClient::Run).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/remote/cluster.h"
#include "client/row_store.h"
#include "client/tensor_admin.h"
#include "common/state/state_store.h"

namespace halograph {

// TensorAdmin::Create, Drop and List.
[[nodiscard]] Status CreateRemotely(Cluster* cluster, const MutableTensorSpec& spec,
                                    CallContext& context);
[[nodiscard]] Status DropRemotely(Cluster* cluster, const TensorRef& ref, CallContext& context);
[[nodiscard]] StatusOr<std::vector<MutableTensorState>> ListRemotely(Cluster* cluster,
                                                                     CallContext& context);

// What every partition has of every tensor.
[[nodiscard]] StatusOr<std::map<int, StateStats>> ReadStates(Cluster* cluster,
                                                             CallContext& context);
// Makes the cluster know the mutable tensors among `requests`, which another client may have
// created: asks the servers if one is neither a feature nor known. Without servers that keep
// tensors it does nothing.
[[nodiscard]] Status FindTensors(Cluster* cluster, std::span<const RowRequest> requests,
                                 CallContext& context);
// After an error that another specification than the one known may be the cause of: makes the
// cluster forget it.
void ForgetTensors(Cluster* cluster, std::span<const RowRequest> requests, const Status& error);

// TensorAdmin::Snapshot; and what there is of it, by partition.
[[nodiscard]] Status SnapshotRemotely(Cluster* cluster, const std::string& name,
                                      std::optional<int64_t> step, CallContext& context);
[[nodiscard]] StatusOr<std::map<int, std::vector<SnapshotInfo>>> ReadSnapshots(
    Cluster* cluster, CallContext& context);
// TensorAdmin::ReadSnapshot. FailedPrecondition: a server cannot read snapshots yet.
[[nodiscard]] StatusOr<int64_t> ReadSnapshotRemotely(Cluster* cluster, const std::string& name,
                                                     const MutableTensorSpec& spec,
                                                     const TakeImages& take, CallContext& context);
// TensorAdmin::DeleteSnapshot and RestoreSnapshot; the message of NotFound has the partitions.
[[nodiscard]] Status DeleteSnapshotRemotely(Cluster* cluster, const std::string& name,
                                            CallContext& context);
[[nodiscard]] Status RestoreSnapshotRemotely(Cluster* cluster, const std::string& name,
                                             CallContext& context);

}  // namespace halograph
