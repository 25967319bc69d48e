#include <algorithm>
#include <memory>
#include <utility>

#include "common/state/import_mark.h"
#include "proto/wire/snapshot_page.h"
#include "server/convert.h"
#include "server/handlers/push.h"
#include "server/raw_service.h"
#include "server/seen.h"
#include "server/services.h"
#include "server/wire.h"

namespace halograph::server {
namespace {

// To create or drop a tensor. A mark of an import keeps others from a tensor that it does not name.
Status CheckMayCreate(const TensorRef& ref, Access* access) {
  return IsImportMark(ref) ? access->ToEverything(Right::kAdmin)
                           : access->ToTensor(Right::kCreate, ref);
}

// Rows that are set bit by bit put aside what others pushed.
Right RightToPush(uint32_t kind) {
  return kind == static_cast<uint32_t>(PushKind::kImage) ||
                 kind == static_cast<uint32_t>(PushKind::kBits)
             ? Right::kAdmin
             : Right::kPush;
}

class KvCalls {
 public:
  explicit KvCalls(const ServiceContext& context)
      : context_(context),
        pull_(context.graph.get(), context.max_message_bytes, context.states, context.counters),
        push_(context.graph.get(), context.states) {}

  Status Pull(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const;
  Status Push(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const;
  Status RegisterClient(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    HG_ASSIGN_OR_RETURN(const uint32_t part, ParseRegisterClientRequest(bytes));
    HG_RETURN_IF_ERROR(scope.access.ToAnything(Right::kPush));
    HG_ASSIGN_OR_RETURN(const RegisteredClient client, push_.Register(part, scope.limits));
    HG_ASSIGN_OR_RETURN(*reply, ToRegisterClientReply(client.client, client.lsn));
    return OkStatus();
  }
  Status ReadTaskSet(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    return AnswerReadTaskSet(context_, bytes, scope, reply);
  }

  Status CreateTensor(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    *reply = EmptyReply();
    HG_ASSIGN_OR_RETURN(const MutableTensorSpec spec, ParseCreateTensorRequest(bytes));
    HG_RETURN_IF_ERROR(CheckMayCreate(spec.ref, &scope.access));
    HG_ASSIGN_OR_RETURN(PartStates* const states, States(spec.ref.ToString()));
    return states->Create(spec, scope.limits);
  }
  Status DropTensor(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    *reply = EmptyReply();
    HG_ASSIGN_OR_RETURN(const TensorRef ref, ParseDropTensorRequest(bytes));
    HG_RETURN_IF_ERROR(CheckMayCreate(ref, &scope.access));
    HG_ASSIGN_OR_RETURN(PartStates* const states, States(ref.ToString()));
    HG_RETURN_IF_ERROR(states->Drop(ref, scope.limits));
    WakeWaiting();
    return OkStatus();
  }
  Status ListTensors(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    HG_ASSIGN_OR_RETURN(const PageRequest request, ParseListTensorsRequest(bytes));
    HG_ASSIGN_OR_RETURN(const PartStates* const states, States("the list of tensors"));
    HG_ASSIGN_OR_RETURN(TensorPage page,
                        PageOfTensors(*states, request, context_.max_message_bytes, entry_bytes_));
    LeaveWhatIsSeen(scope.access, &page);
    return WriteListTensorsReply(page, context_.max_message_bytes, scope.memory, reply);
  }

  Status SnapshotTensors(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    HG_ASSIGN_OR_RETURN(const SnapshotRequest request, ParseSnapshotTensorsRequest(bytes));
    HG_RETURN_IF_ERROR(scope.access.ToEverything(Right::kSnapshot));
    HG_ASSIGN_OR_RETURN(PartStates* const states, States("snapshot " + request.name));
    HG_ASSIGN_OR_RETURN(const auto made,
                        states->Snapshot(request.name, request.step, scope.limits));
    HG_ASSIGN_OR_RETURN(*reply, ToSnapshotTensorsReply(made));
    return OkStatus();
  }
  Status ListSnapshots(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    HG_ASSIGN_OR_RETURN(const SnapshotsRequest request, ParseListSnapshotsRequest(bytes));
    HG_RETURN_IF_ERROR(scope.access.ToAnything(Right::kSnapshot));
    HG_ASSIGN_OR_RETURN(const PartStates* const states, States("the list of snapshots"));
    HG_ASSIGN_OR_RETURN(
        SnapshotsPage page,
        PageOfSnapshots(*states, request, context_.max_message_bytes, entry_bytes_));
    LeaveWhatIsSeen(scope.access, &page);
    return WriteListSnapshotsReply(page, context_.max_message_bytes, scope.memory, reply);
  }
  Status ReadSnapshot(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const;
  Status DeleteSnapshot(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    *reply = EmptyReply();
    HG_ASSIGN_OR_RETURN(const std::string name, ParseSnapshotName(bytes));
    HG_RETURN_IF_ERROR(scope.access.ToEverything(Right::kSnapshot));
    HG_ASSIGN_OR_RETURN(PartStates* const states, States("snapshot " + name));
    return states->DeleteSnapshot(name, scope.limits);
  }
  Status RestoreSnapshot(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
    *reply = EmptyReply();
    HG_ASSIGN_OR_RETURN(const std::string name, ParseSnapshotName(bytes));
    HG_RETURN_IF_ERROR(scope.access.ToEverything(Right::kAdmin));
    HG_ASSIGN_OR_RETURN(PartStates* const states, States("snapshot " + name));
    HG_RETURN_IF_ERROR(states->RestoreSnapshot(name, scope.limits));
    WakeWaiting();
    return OkStatus();
  }

 private:
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
  const EntryBytes entry_bytes_ = BytesOfEntries();
};

Status KvCalls::Pull(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
  HG_ASSIGN_OR_RETURN(const PullRequest request, ParsePullRequest(*bytes));
  HG_RETURN_IF_ERROR(scope.access.ToTensor(Right::kPull, request.tensor));
  HG_ASSIGN_OR_RETURN(const PullPlan plan, pull_.Plan(request));
  if (scope.lane == Lane::kWork && pull_.MayWaitForDisk(plan)) {
    scope.lane = Lane::kState;
    return Unavailable("may wait for the disk");
  }
  if (!scope.waited && !pull_.Ready(plan) && pull_.MayBecomeReady(plan)) {
    scope.wait_for = [this, plan] { return pull_.Ready(plan); };
    return Unavailable("waits for pushes");
  }
  WorkLimits limits = scope.limits;
  // Its time is up: the store says what it waited for, and waits no more on a thread of the pool.
  if (scope.waited && !pull_.Ready(plan)) limits.deadline = std::chrono::steady_clock::now();
  return WritePullReply(pull_, plan, request.ids, scope.memory, limits, reply);
}

Status KvCalls::Push(grpc::ByteBuffer* bytes, CallScope& scope, grpc::ByteBuffer* reply) const {
  HG_ASSIGN_OR_RETURN(auto request, ParsePushRequest(*bytes));
  bytes->Clear();  // it was copied
  const wire::PushHeader& header = request.header;
  HG_RETURN_IF_ERROR(
      scope.access.ToTensor(RightToPush(header.kind), {header.edge, header.type, header.name}));
  HG_ASSIGN_OR_RETURN(const PushReceipt receipt, push_.Push(std::move(request), scope.limits));
  *reply = WritePushReply(receipt);
  WakeWaiting();
  return OkStatus();
}

Status KvCalls::ReadSnapshot(grpc::ByteBuffer* bytes, CallScope& scope,
                             grpc::ByteBuffer* reply) const {
  HG_ASSIGN_OR_RETURN(const ReadSnapshotRequest request, ParseReadSnapshotRequest(bytes));
  HG_RETURN_IF_ERROR(scope.access.ToTensor(Right::kSnapshot, request.tensor));
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

constexpr auto kKvHandlers = std::to_array<MethodHandler<KvCalls>>({
    {Method::kPull, &KvCalls::Pull},
    {Method::kReadTaskSet, &KvCalls::ReadTaskSet},
    {Method::kPush, &KvCalls::Push},
    {Method::kRegisterClient, &KvCalls::RegisterClient},
    {Method::kCreateTensor, &KvCalls::CreateTensor},
    {Method::kDropTensor, &KvCalls::DropTensor},
    {Method::kListTensors, &KvCalls::ListTensors},
    {Method::kSnapshotTensors, &KvCalls::SnapshotTensors},
    {Method::kListSnapshots, &KvCalls::ListSnapshots},
    {Method::kReadSnapshot, &KvCalls::ReadSnapshot},
    {Method::kDeleteSnapshot, &KvCalls::DeleteSnapshot},
    {Method::kRestoreSnapshot, &KvCalls::RestoreSnapshot},
});
static_assert(ServesEachOnce(kKvService, kKvHandlers),
              "each method of KVService in the table needs a handler here, once");

}  // namespace

Status AnswerReadTaskSet(const ServiceContext& context, grpc::ByteBuffer* request, CallScope& scope,
                         grpc::ByteBuffer* reply) {
  HG_ASSIGN_OR_RETURN(const TaskSetRequest asked, ParseTaskSetRequest(request));
  HG_RETURN_IF_ERROR(scope.access.ToTask(Right::kPull, asked.task));
  const TaskSetHandler handler(context.graph.get(), context.max_message_bytes);
  HG_ASSIGN_OR_RETURN(const TaskSetPage page, handler.Read(asked));
  *reply = WriteTaskSetReply(page, context.graph);
  return OkStatus();
}

StatusOr<std::unique_ptr<grpc::Service>> MakeKvService(const ServiceContext& context) {
  return MakeRawService(context.calls, std::make_shared<const KvCalls>(context), kKvHandlers);
}

}  // namespace halograph::server
