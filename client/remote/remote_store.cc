#include "client/remote/remote_store.h"

#include <climits>

#include "absl/container/flat_hash_set.h"
#include "client/pull_check.h"
#include "client/remote/cluster.h"
#include "client/remote/pull_call.h"
#include "client/remote/remote_neighbor_source.h"
#include "client/remote/task_set_call.h"
#include "common/base/host_port.h"

namespace halograph {

namespace {

Status CheckRange(std::string_view field, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return OkStatus();
  return InvalidArgument("{} is {}, must be {} to {}", field, value, least, most);
}

class RemoteGraphStore final : public LayeredGraphStore {
 public:
  explicit RemoteGraphStore(std::shared_ptr<Cluster> cluster)
      : cluster_(std::move(cluster)), workspaces_(&cluster_->info().schema) {}

  const GraphInfo& info() const override { return cluster_->info(); }

  StatusOr<Minibatch> Sample(const SampleRequest& request, CallStats* stats) override {
    HG_RETURN_IF_ERROR(scope_.Check());
    RemoteNeighborSource source(cluster_.get(), &scope_, {}, stats);
    Minibatch minibatch;
    HG_RETURN_IF_ERROR(BuildMinibatches(cluster_->info().schema, {&request, 1}, source,
                                        &workspaces_, {&minibatch, 1}));
    return minibatch;
  }

  std::unique_ptr<NeighborSource> NewSource(Meanwhile meanwhile, CallStats* stats) override {
    return std::make_unique<RemoteNeighborSource>(cluster_.get(), &scope_, std::move(meanwhile),
                                                  stats);
  }

  void Shutdown() override { scope_.Cancel(); }

 private:
  const std::shared_ptr<Cluster> cluster_;
  BuilderWorkspaces workspaces_;
  CallScope scope_;
};

class RemoteKVStore final : public ScatteringKVStore {
 public:
  explicit RemoteKVStore(std::shared_ptr<Cluster> cluster) : cluster_(std::move(cluster)) {}

  const GraphInfo& info() const override { return cluster_->info(); }

  Status Pull(const TensorRef& tensor, std::span<const int64_t> ids,
              std::span<std::byte> destination, CallStats* stats) override;

  Status PullTo(const TensorRef& tensor, std::span<const int64_t> ids,
                std::span<const int64_t> positions, std::byte* destination,
                const Meanwhile& meanwhile, CallStats* stats) override;

  StatusOr<TaskSet> ReadTaskSet(const std::string& task, const std::string& set,
                                const std::string& type) override {
    HG_RETURN_IF_ERROR(scope_.Check());
    return ReadTaskSetRemotely(cluster_.get(), &scope_, task, set, type);
  }

  void Shutdown() override { scope_.Cancel(); }

 private:
  const std::shared_ptr<Cluster> cluster_;
  CallScope scope_;
};

Status RemoteKVStore::Pull(const TensorRef& tensor, std::span<const int64_t> ids,
                           std::span<std::byte> destination, CallStats* stats) {
  HG_RETURN_IF_ERROR(scope_.Check());
  HG_ASSIGN_OR_RETURN(const CatalogTensor* const found,
                      CheckPull(cluster_->tensors(), tensor, ids, destination));
  return PullRows(cluster_.get(), &scope_, tensor, found->resolved, ids, {}, destination.data(), {},
                  stats);
}

Status RemoteKVStore::PullTo(const TensorRef& tensor, std::span<const int64_t> ids,
                             std::span<const int64_t> positions, std::byte* destination,
                             const Meanwhile& meanwhile, CallStats* stats) {
  HG_ASSIGN_OR_RETURN(const ResolvedTensor resolved,
                      ResolveTensor(cluster_->info().schema, tensor));
  return PullRows(cluster_.get(), &scope_, tensor, resolved, ids, positions, destination, meanwhile,
                  stats);
}

}  // namespace

Status RemoteOptions::Validate() const {
  if (servers.empty()) return InvalidArgument("no servers given");
  absl::flat_hash_set<std::string> seen;
  for (const std::string& server : servers) {
    HG_RETURN_IF_ERROR(Annotate(ParseServerAddress(server).status(), "servers"));
    if (!seen.insert(server).second) return InvalidArgument("server '{}' is listed twice", server);
  }
  if (timeout <= std::chrono::nanoseconds::zero() || timeout > std::chrono::hours(24 * 365)) {
    return InvalidArgument("timeout is {} s, must be above 0 and at most a year",
                           std::chrono::duration<double>(timeout).count());
  }
  // gRPC counts message sizes in int; below the smallest not even a schema comes through.
  HG_RETURN_IF_ERROR(CheckRange("max_message_bytes", max_message_bytes, 4096, INT_MAX));
  HG_RETURN_IF_ERROR(CheckRange("channels_per_server", channels_per_server, 1, 64));
  HG_RETURN_IF_ERROR(CheckRange("calls_in_flight", calls_in_flight, 1, 1024));
  return OkStatus();
}

StatusOr<RemoteStores> OpenRemoteStores(const RemoteOptions& options) {
  HG_ASSIGN_OR_RETURN(std::shared_ptr<Cluster> cluster, Cluster::Connect(options));
  return RemoteStores{.graph = std::make_unique<RemoteGraphStore>(cluster),
                      .kv = std::make_unique<RemoteKVStore>(cluster)};
}

}  // namespace halograph
