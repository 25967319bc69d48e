#include "server/call.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <grpcpp/server_context.h>

#include "common/base/call_metadata.h"
#include "common/base/printable.h"
#include "server/caller.h"
#include "server/methods.h"
#include "server/proxied_identity.h"
#include "server/rpc_status.h"

namespace halograph::server {
namespace {

constexpr char kPushbackKey[] = "grpc-retry-pushback-ms";
constexpr char kPushbackBusyMs[] = "20";
constexpr char kPushbackDrainingMs[] = "1000";
// How long a call waits for memory that replies before it hold.
constexpr std::chrono::milliseconds kMemoryPatience{200};
// How long before its client gives up a call stops to wait for others, to say what it waited for:
// the lesser of this and a tenth of its time.
constexpr std::chrono::milliseconds kLastWords{500};

// Not by the system's clock, which may be set between two readings.
std::chrono::steady_clock::time_point DeadlineOf(const grpc::CallbackServerContext& context,
                                                 std::chrono::steady_clock::time_point start) {
  const gpr_timespec deadline = gpr_convert_clock_type(context.raw_deadline(), GPR_CLOCK_MONOTONIC);
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(GPR_CLOCK_MONOTONIC));
  // Also where there is none.
  if (left.tv_sec >= std::chrono::seconds(kLongestCall).count()) return start + kLongestCall;
  return start + std::chrono::seconds(left.tv_sec) + std::chrono::nanoseconds(left.tv_nsec);
}

class Call final : public grpc::ServerUnaryReactor {
 public:
  Call(const CallEnvironment& environment, Method method, grpc::CallbackServerContext* context,
       const grpc::ByteBuffer* request, grpc::ByteBuffer* reply, const CallWork& work)
      : environment_(environment),
        context_(context),
        logged_(environment.log->Begin(*context, method)),
        // gRPC keeps the request until the reply is sent, this only until it is answered.
        request_(const_cast<grpc::ByteBuffer*>(request)),
        request_bytes_(static_cast<int64_t>(request->Length())),
        of_connection_(BeginCounted(environment.connections, *context, request_bytes_)),
        reply_(reply),
        work_(work),
        memory_(environment.buffers, logged_.peer),
        scope_{.memory = memory_,
               .limits = {.cancel = environment.ending, .deadline = DeadlineOf(*context, start_)}} {
    logged_.identity = ProxiedIdentity(*context, of_connection_, environment.connections);
    environment_.metrics->Begin(method);
    if (WaitsLong(method)) {
      own_end_.emplace(environment.ending);
      scope_.limits.cancel = &own_end_->token;
    }
    if (context->client_metadata().count(kFailedOverKey) > 0) environment_.stats->CountFailover();
  }

  void Start() {
    if (of_connection_.shut()) {
      return End(Unavailable("the connection was shut down: it took more than it may"));
    }
    if (Status status = FindCaller(); !status.ok()) return End(status);
    if (Status status = CheckSize(); !status.ok()) return End(status);
    if (Status status = CheckGraph(); !status.ok()) return End(status);
    const ServedMethodRow& row = ServedRowOf(logged_.method);
    if (row.admission != Admission::kAlways) {
      scope_.lane = row.pool;
      StatusOr<Ticket> ticket = environment_.dispatcher->Enter(request_bytes_, scope_.lane);
      if (!ticket.ok()) return EndRefused(Refusal::kRequestMemory, ticket.status());
      ticket_ = std::move(ticket).value();
    }
    if (row.admission != Admission::kQueued) return Execute();
    RunOnLane();
  }

  void OnCancel() override {
    if (own_end_.has_value()) own_end_->token.Cancel();
  }

  void OnDone() override {
    const Clock::duration took = Clock::now() - start_;
    const bool given_up = environment_.replies->Remove(place_);
    // Whether the reply went out, not whether its work was cancelled: that has ended.
    if (context_->IsCancelled()) {
      if (given_up) environment_.metrics->Unread();
      if (ok()) {
        code_ = absl::StatusCode::kCancelled;
        reply_bytes_ = 0;  // they did not get out
      }
    }
    const std::string status = absl::StatusCodeToString(code_);
    if (ok()) environment_.metrics->Sent(logged_.method, took - answering_);
    environment_.metrics->End(logged_.method, status, request_bytes_, reply_bytes_, took);
    environment_.log->End(*context_, logged_, status, request_bytes_, reply_bytes_, answering_,
                          took - answering_);
    delete this;
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Cancelled by the client, or with all calls.
  struct OwnEnd {
    explicit OwnEnd(const CancelToken* all) : with_all(all, [this] { token.Cancel(); }) {}
    CancelToken token;
    const CancelToken::Registration with_all;
  };

  [[nodiscard]] Status FindCaller() {
    if (environment_.rights == nullptr) return OkStatus();
    HG_ASSIGN_OR_RETURN(
        scope_.access,
        environment_.rights->Of(FactsOf(*context_, of_connection_.from_proxy(), logged_.identity)));
    logged_.principal = scope_.access.name();
    return OkStatus();
  }

  [[nodiscard]] Status CheckSize() const {
    if (RowOf(logged_.method).request == RequestBound::kMessage) return OkStatus();
    if (static_cast<size_t>(request_bytes_) <= kSmallRequestBytes) return OkStatus();
    return ResourceExhausted("a request of {} bytes; {} takes at most {}", request_bytes_,
                             MethodName(logged_.method), kSmallRequestBytes);
  }

  // A client that was connected to another server at this address would get rows of other ids.
  [[nodiscard]] Status CheckGraph() const {
    const auto found = context_->client_metadata().find(kGraphKey);
    if (found == context_->client_metadata().end()) return OkStatus();
    const std::string_view expected(found->second.data(), found->second.size());
    if (expected == environment_.identity) return OkStatus();
    return FailedPrecondition(
        "this server serves graph {}, the call is for graph {}: restart the trainer, or give this "
        "server the folder it had",
        environment_.identity, Printable(expected, kNameShown));
  }

  void RunOnLane() {
    // The task may end this call, and with it this object, before Run returns.
    queued_ = Clock::now();
    const auto task = [this] {
      environment_.metrics->Waited(scope_.lane, Clock::now() - queued_);
      Execute();
    };
    if (Status status = environment_.dispatcher->Run(task, scope_.lane); !status.ok()) {
      EndRefused(Refusal::kQueueFull, status);
    }
  }

  void Execute() {
    if (context_->IsCancelled()) {
      return End(Cancelled("the client cancelled the call before it was answered"));
    }
    const Lane lane = scope_.lane;
    Status status = Guarded();
    if (status.ok() && LetThroughByMistake()) {
      status = Internal("{} was answered, but no right of {} was looked at: this is a bug",
                        MethodName(logged_.method), logged_.principal);
    }
    if (!status.ok() && scope_.lane != lane) return Move();
    if (!status.ok() && scope_.wait_for && !scope_.waited) return WaitForOthers();
    if (!status.ok() && memory_.missing_bytes() > 0) {
      return waited_ ? EndRefused(Refusal::kReplyMemory, status) : WaitForMemory();
    }
    End(status);
    // Nothing here: this may be gone.
  }

  // Goes on, on the lane that the work has chosen.
  void Move() {
    if (Status status = ticket_.MoveTo(scope_.lane); !status.ok()) {
      return EndRefused(Refusal::kRequestMemory, status);
    }
    RunOnLane();
  }

  // Goes on, on its lane, when there is memory; ends if there is none in time.
  void WaitForMemory() {
    waited_ = true;
    const Status waits = environment_.buffers->AcquireLater(
        memory_.missing_bytes(), memory_.peer(), Clock::now() + kMemoryPatience,
        [this, began = Clock::now()](StatusOr<PooledBuffer> buffer) {
          environment_.metrics->WaitedForMemory(Clock::now() - began);
          if (!buffer.ok()) return EndRefused(Refusal::kReplyMemory, buffer.status());
          memory_.Give(std::move(buffer).value());
          RunOnLane();
        });
    if (!waits.ok()) EndRefused(Refusal::kReplyMemory, waits);
  }

  // Goes on, on its lane, when others have done what this waits for, or its time is nearly up.
  void WaitForOthers() {
    scope_.waited = true;
    const Clock::time_point deadline = *scope_.limits.deadline;
    const auto last_words = std::min<Clock::duration>(kLastWords, (deadline - start_) / 10);
    auto ready = [this, done = std::exchange(scope_.wait_for, nullptr)] {
      return context_->IsCancelled() || done();
    };
    const Status waits = environment_.waiting->Add(
        std::move(ready), deadline - last_words,
        [this](Status status) {
          if (!status.ok()) return EndRefused(Refusal::kWaitingFull, status);
          RunOnLane();
        },
        logged_.peer);
    if (!waits.ok()) EndRefused(Refusal::kWaitingFull, waits);
  }

  [[nodiscard]] bool LetThroughByMistake() const {
    return environment_.rights != nullptr && RowOf(logged_.method).right != Right::kAny &&
           !scope_.access.decided();
  }

  Status Guarded() {
    try {
      return work_(request_, scope_, reply_);
    } catch (const std::bad_alloc&) {
      return Unavailable("busy: out of memory: try again");
    } catch (const std::exception& error) {
      return Internal("{}", error.what());
    }
  }

  [[nodiscard]] bool ok() const { return code_ == absl::StatusCode::kOk; }

  // Of what a server that drains refuses, that is the reason.
  void EndRefused(Refusal why, const Status& status) {
    refusal_ = environment_.dispatcher->draining() ? Refusal::kDraining : why;
    End(status);
  }

  void End(const Status& status) {
    const Clock::time_point now = Clock::now();
    answering_ = now - start_;
    code_ = status.code();
    if (absl::IsUnavailable(status)) environment_.metrics->Refused(refusal_);
    if (absl::IsPermissionDenied(status) && environment_.rights != nullptr) {
      environment_.rights->CountDenied(logged_.principal, RowOf(logged_.method).right);
    }
    if (!ok()) reply_->Clear();
    reply_bytes_ = ok() ? static_cast<int64_t>(reply_->Length()) : 0;
    memory_.Give({});  // what it did not take
    request_->Clear();
    ticket_.ReleaseRequest();
    environment_.log->Answered(*context_, logged_, status, request_bytes_, reply_bytes_,
                               answering_);
    const std::string reason = ReasonOf(status);
    // Who hears when to try again may do so: nothing was done.
    if (absl::IsUnavailable(status) && reason != kMaybeDone) {
      context_->AddTrailingMetadata(kPushbackKey, environment_.dispatcher->draining()
                                                      ? kPushbackDrainingMs
                                                      : kPushbackBusyMs);
    }
    if (!reason.empty()) context_->AddTrailingMetadata(kReasonKey, reason);
    place_ = environment_.replies->Add(context_->c_call(), logged_.peer, now);
    Finish(ToGrpc(status));
  }

  const CallEnvironment environment_;
  grpc::CallbackServerContext* const context_;
  LoggedCall logged_;
  grpc::ByteBuffer* const request_;
  const int64_t request_bytes_;
  const ConnectionTable::Call of_connection_;
  grpc::ByteBuffer* const reply_;
  const CallWork& work_;
  const Clock::time_point start_ = Clock::now();
  ReplyMemory memory_;
  CallScope scope_;
  std::optional<OwnEnd> own_end_;  // of calls that wait long
  Ticket ticket_;
  ReplyWatch::Place place_;
  Clock::time_point queued_;
  Clock::duration answering_{};
  bool waited_ = false;
  Refusal refusal_ = Refusal::kState;
  absl::StatusCode code_ = absl::StatusCode::kOk;
  int64_t reply_bytes_ = 0;
};

void HoldCall(void* call) { grpc_call_ref(static_cast<grpc_call*>(call)); }

void GiveUpCall(void* call) {
  grpc_call_cancel(static_cast<grpc_call*>(call), nullptr);
  grpc_call_unref(static_cast<grpc_call*>(call));
}

}  // namespace

ReplyWatch::Hooks GrpcCallHooks() { return {&HoldCall, &GiveUpCall}; }

grpc::ServerUnaryReactor* StartCall(const CallEnvironment& environment, Method method,
                                    grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* reply,
                                    const CallWork& work) {
  auto* call = new Call(environment, method, context, request, reply, work);
  call->Start();
  return call;
}

}  // namespace halograph::server
