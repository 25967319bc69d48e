#include <algorithm>
#include <memory>
#include <utility>

#include "halograph/v1/kv.grpc.pb.h"
#include "proto/wire/snapshot_page.h"
#include "server/convert.h"
#include "server/handlers/push.h"
#include "server/services.h"
#include "server/wire.h"

namespace halograph::server {
namespace {

template <template <typename> class... Raw>
struct Over;
template <template <typename> class First, template <typename> class... Rest>
struct Over<First, Rest...> {
  using type = First<typename Over<Rest...>::type>;
};
template <>
struct Over<> {
  using type = v1::KVService::Service;
};

using KvRpcs = Over<
    v1::KVService::WithRawCallbackMethod_Pull, v1::KVService::WithRawCallbackMethod_ReadTaskSet,
    v1::KVService::WithRawCallbackMethod_Push, v1::KVService::WithRawCallbackMethod_CreateTensor,
    v1::KVService::WithRawCallbackMethod_DropTensor,
    v1::KVService::WithRawCallbackMethod_ListTensors,
    v1::KVService::WithRawCallbackMethod_SnapshotTensors,
    v1::KVService::WithRawCallbackMethod_ListSnapshots,
    v1::KVService::WithRawCallbackMethod_ReadSnapshot,
    v1::KVService::WithRawCallbackMethod_DeleteSnapshot,
    v1::KVService::WithRawCallbackMethod_RestoreSnapshot>::type;

// One method: how it is admitted, and which function answers it.
#define HALOGRAPH_KV_METHOD(name, admission)                                                    \
  grpc::ServerUnaryReactor* name(grpc::CallbackServerContext* context,                          \
                                 const grpc::ByteBuffer* request, grpc::ByteBuffer* reply)      \
      override {                                                                                \
    return StartCall(context_.calls, Method::k##name, Admission::admission, context, request,   \
                     reply,                                                                     \
                     [this](grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* out) { \
                       return Do##name(bytes, scope, out);                                      \
                     });                                                                        \
  }

class KvServiceImpl final : public KvRpcs {
 public:
  explicit KvServiceImpl(const ServiceContext& context)
      : context_(context),
        pull_(context.graph.get(), context.max_message_bytes, context.states),
        push_(context.graph.get(), context.states) {}

  HALOGRAPH_KV_METHOD(Pull, kWork)
  HALOGRAPH_KV_METHOD(ReadTaskSet, kWork)
  HALOGRAPH_KV_METHOD(Push, kState)
  HALOGRAPH_KV_METHOD(CreateTensor, kSlow)
  HALOGRAPH_KV_METHOD(DropTensor, kSlow)
  HALOGRAPH_KV_METHOD(ListTensors, kWork)
  HALOGRAPH_KV_METHOD(SnapshotTensors, kSlow)
  HALOGRAPH_KV_METHOD(ListSnapshots, kWork)
  HALOGRAPH_KV_METHOD(ReadSnapshot, kSlow)
  HALOGRAPH_KV_METHOD(DeleteSnapshot, kSlow)
  HALOGRAPH_KV_METHOD(RestoreSnapshot, kSlow)

 private:
  Status DoPull(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const;
  Status DoPush(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const;
  Status DoReadTaskSet(grpc::ByteBuffer* bytes, CallScope&, grpc::ByteBuffer* reply) const {
    return AnswerReadTaskSet(context_, bytes, reply);
  }

  Status DoCreateTensor(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    *reply = EmptyReply();
    HG_ASSIGN_OR_RETURN(const MutableTensorSpec spec, ParseCreateTensorRequest(bytes));
    HG_ASSIGN_OR_RETURN(PartStates* const states, States(spec.ref.ToString()));
    return states->Create(spec, scope.limits);
  }
  Status DoDropTensor(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    *reply = EmptyReply();
    HG_ASSIGN_OR_RETURN(const TensorRef ref, ParseDropTensorRequest(bytes));
    HG_ASSIGN_OR_RETURN(PartStates* const states, States(ref.ToString()));
    HG_RETURN_IF_ERROR(states->Drop(ref, scope.limits));
    WakeWaiting();
    return OkStatus();
  }
  Status DoListTensors(grpc::ByteBuffer* bytes, CallScope&, grpc::ByteBuffer* reply) const {
    HG_RETURN_IF_ERROR(CheckListTensorsRequest(bytes));
    HG_ASSIGN_OR_RETURN(const PartStates* const states, States("the list of tensors"));
    HG_ASSIGN_OR_RETURN(*reply, ToListTensorsReply(states->Stats()));
    return OkStatus();
  }

  Status DoSnapshotTensors(grpc::ByteBuffer* bytes, CallScope& scope,
                           grpc::ByteBuffer* reply) const {
    HG_ASSIGN_OR_RETURN(const SnapshotRequest request, ParseSnapshotTensorsRequest(bytes));
    HG_ASSIGN_OR_RETURN(PartStates* const states, States("snapshot " + request.name));
    HG_ASSIGN_OR_RETURN(const auto made,
                        states->Snapshot(request.name, request.step, scope.limits));
    HG_ASSIGN_OR_RETURN(*reply, ToSnapshotTensorsReply(made));
    return OkStatus();
  }
  Status DoListSnapshots(grpc::ByteBuffer* bytes, CallScope&, grpc::ByteBuffer* reply) const {
    HG_RETURN_IF_ERROR(CheckListSnapshotsRequest(bytes));
    HG_ASSIGN_OR_RETURN(const PartStates* const states, States("the list of snapshots"));
    HG_ASSIGN_OR_RETURN(*reply, ToListSnapshotsReply(states->Snapshots()));
    return OkStatus();
  }
  Status DoReadSnapshot(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const;
  Status DoDeleteSnapshot(grpc::ByteBuffer* bytes, CallScope& scope,
                          grpc::ByteBuffer* reply) const {
    *reply = EmptyReply();
    HG_ASSIGN_OR_RETURN(const std::string name, ParseSnapshotName(bytes));
    HG_ASSIGN_OR_RETURN(PartStates* const states, States("snapshot " + name));
    return states->DeleteSnapshot(name, scope.limits);
  }
  Status DoRestoreSnapshot(grpc::ByteBuffer* bytes, CallScope& scope,
                           grpc::ByteBuffer* reply) const {
    *reply = EmptyReply();
    HG_ASSIGN_OR_RETURN(const std::string name, ParseSnapshotName(bytes));
    HG_ASSIGN_OR_RETURN(PartStates* const states, States("snapshot " + name));
    HG_RETURN_IF_ERROR(states->RestoreSnapshot(name, scope.limits));
    WakeWaiting();
    return OkStatus();
  }

  // FailedPrecondition: there are none.
  StatusOr<PartStates*> States(const std::string& what) const {
    if (context_.states == nullptr) return NoStateFolder(what);
    return context_.states;
  }
  // Pulls that wait may go on.
  void WakeWaiting() const {
    static_cast<void>(context_.calls.waiting->Serve(WaitingCalls::Clock::now()));
  }

  const ServiceContext context_;
  const PullHandler pull_;
  const PushHandler push_;
};

Status KvServiceImpl::DoPull(grpc::ByteBuffer* bytes, CallScope& scope,
                             grpc::ByteBuffer* reply) const {
  HG_ASSIGN_OR_RETURN(const PullRequest request, ParsePullRequest(*bytes));
  HG_ASSIGN_OR_RETURN(const PullPlan plan, pull_.Plan(request));
  if (scope.lane == Lane::kWork && pull_.MayWaitForDisk(plan)) {
    scope.lane = Lane::kState;
    return Unavailable("may wait for the disk");
  }
  if (!scope.waited && !pull_.Ready(plan)) {
    scope.wait_for = [this, plan] { return pull_.Ready(plan); };
    return Unavailable("waits for pushes");
  }
  WorkLimits limits = scope.limits;
  // Its time is up: the store says what it waited for, and waits no more on a thread of the pool.
  if (!pull_.Ready(plan)) limits.deadline = std::chrono::steady_clock::now();
  return WritePullReply(pull_, plan, request.ids, scope.memory, limits, reply);
}

Status KvServiceImpl::DoPush(grpc::ByteBuffer* bytes, CallScope& scope,
                             grpc::ByteBuffer* reply) const {
  HG_ASSIGN_OR_RETURN(auto request, ParsePushRequest(*bytes));
  bytes->Clear();  // it was copied
  HG_ASSIGN_OR_RETURN(const PushReceipt receipt, push_.Push(std::move(request), scope.limits));
  *reply = WritePushReply(receipt);
  WakeWaiting();
  return OkStatus();
}

Status KvServiceImpl::DoReadSnapshot(grpc::ByteBuffer* bytes, CallScope& scope,
                                     grpc::ByteBuffer* reply) const {
  HG_ASSIGN_OR_RETURN(const ReadSnapshotRequest request, ParseReadSnapshotRequest(bytes));
  HG_ASSIGN_OR_RETURN(const PartStates* const states, States("snapshot " + request.name));
  const int64_t most =
      context_.max_message_bytes - static_cast<int64_t>(wire::SnapshotPageBytes(0, 0));
  const int64_t asked = request.max_bytes > 0 ? std::min(request.max_bytes, most) : most;
  HG_ASSIGN_OR_RETURN(const SnapshotPage page,
                      states->ReadSnapshot(request.part, request.name, request.tensor,
                                           request.place, static_cast<size_t>(asked)));
  if (static_cast<int64_t>(page.images.size()) > most) {
    return ResourceExhausted(
        "{}: a row and its optimizer state have {} bytes, {} fit into a message: start the server "
        "with a larger --max-message-bytes",
        request.tensor.ToString(), page.images.size(), most);
  }
  return WriteSnapshotReply(page, scope.memory, reply);
}

}  // namespace

Status AnswerReadTaskSet(const ServiceContext& context, grpc::ByteBuffer* request,
                         grpc::ByteBuffer* reply) {
  HG_ASSIGN_OR_RETURN(const TaskSetRequest asked, ParseTaskSetRequest(request));
  const TaskSetHandler handler(context.graph.get(), context.max_message_bytes);
  HG_ASSIGN_OR_RETURN(const TaskSetPage page, handler.Read(asked));
  *reply = WriteTaskSetReply(page, context.graph);
  return OkStatus();
}

std::unique_ptr<grpc::Service> MakeKvService(const ServiceContext& context) {
  return std::make_unique<KvServiceImpl>(context);
}

}  // namespace halograph::server
