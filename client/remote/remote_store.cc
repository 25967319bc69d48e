#include "client/remote/remote_store.h"

#include <utility>

#include "client/remote/ask_call.h"
#include "client/remote/cluster.h"
#include "client/remote/pull_call.h"
#include "client/remote/push_call.h"
#include "client/remote/remote_tensor_admin.h"
#include "client/remote/task_set_call.h"

namespace halograph {
namespace {

class RemoteGraphStore final : public GraphStore {
 public:
  explicit RemoteGraphStore(std::shared_ptr<Cluster> cluster)
      : cluster_(std::move(cluster)),
        workspaces_(&cluster_->info().schema, cluster_->info().book.num_parts(),
                    cluster_->info().clusters) {}

  const GraphInfo& info() const override { return cluster_->info(); }

  Status Sample(std::span<const SampleRequest> requests, CallContext& context,
                std::span<Minibatch> minibatches) override {
    return SampleByAsking(*this, &workspaces_, requests, context, minibatches);
  }

  Status Ask(const TopologyQuestions& questions, CallContext& context,
             TopologyAnswers* answers) override {
    return StartAndWait<Status>(context, [&](CallContext& inner, StatusDone done) {
      StartAsk(questions, inner, answers, std::move(done));
    });
  }

  void StartSample(std::span<const SampleRequest> requests, CallContext& context,
                   std::span<Minibatch> minibatches, StatusDone done) override {
    StartSampleByAsking(*this, &workspaces_, requests, context, minibatches, std::move(done));
  }

  void StartAsk(const TopologyQuestions& questions, CallContext& context, TopologyAnswers* answers,
                StatusDone done) override {
    StartAskRemotely(cluster_.get(), questions, context, answers, std::move(done));
  }

 private:
  const std::shared_ptr<Cluster> cluster_;
  BuilderWorkspaces workspaces_;
};

class RemoteRowStore final : public RowStore, public TaskSets {
 public:
  explicit RemoteRowStore(std::shared_ptr<Cluster> cluster) : cluster_(std::move(cluster)) {}

  Status Pull(std::span<const RowRequest> requests, CallContext& context) override {
    return StartAndWait<Status>(context, [&](CallContext& inner, StatusDone done) {
      StartPull(requests, inner, std::move(done));
    });
  }
  void StartPull(std::span<const RowRequest> requests, CallContext& context,
                 StatusDone done) override {
    StartPullRemotely(cluster_.get(), requests, context, std::move(done));
  }
  StatusOr<std::vector<PushMark>> Push(std::span<const RowPush> pushes,
                                       CallContext& context) override {
    return StartAndWait<StatusOr<std::vector<PushMark>>>(
        context,
        [&](CallContext& inner, PushDone done) { StartPush(pushes, inner, std::move(done)); });
  }
  void StartPush(std::span<const RowPush> pushes, CallContext& context, PushDone done) override {
    StartPushRemotely(cluster_.get(), pushes, context, std::move(done));
  }
  StatusOr<TaskSet> Read(const TaskSetRef& set, IdRange rows, CallContext& context) override {
    return ReadTaskSetRemotely(cluster_.get(), set, rows, context);
  }

 private:
  const std::shared_ptr<Cluster> cluster_;
};

}  // namespace

StatusOr<Stores> OpenRemoteStores(const RemoteOptions& options, const CancelToken* cancel) {
  HG_ASSIGN_OR_RETURN(std::shared_ptr<Cluster> cluster, Cluster::Connect(options, cancel));
  const auto rows = std::make_shared<RemoteRowStore>(cluster);
  return Stores{std::make_shared<RemoteGraphStore>(cluster), rows, rows,
                MakeRemoteTensorAdmin(cluster), cluster->rpc().addresses()};
}

}  // namespace halograph
