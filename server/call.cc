#include "server/call.h"

#include <chrono>
#include <new>
#include <utility>

#include <grpcpp/server_context.h>

#include "common/base/call_metadata.h"
#include "server/rpc_status.h"

namespace halograph::server {
namespace {

constexpr size_t kIdentityShown = 64;
constexpr char kPushbackKey[] = "grpc-retry-pushback-ms";
constexpr char kPushbackBusyMs[] = "20";
constexpr char kPushbackDrainingMs[] = "1000";

class Call final : public grpc::ServerUnaryReactor {
 public:
  Call(const CallEnvironment& environment, Method method, grpc::CallbackServerContext* context,
       const grpc::ByteBuffer* request, grpc::ByteBuffer* reply, CallWork work)
      : environment_(environment),
        method_(method),
        context_(context),
        request_(*request),
        request_bytes_(static_cast<int64_t>(request->Length())),
        reply_(reply),
        work_(std::move(work)) {
    environment_.stats->Of(method_).Begin();
  }

  void Start(Admission admission) {
    if (Status status = CheckGraph(); !status.ok()) return End(status);
    if (admission != Admission::kAlways) {
      StatusOr<Ticket> ticket = environment_.dispatcher->Enter(request_bytes_);
      if (!ticket.ok()) return End(ticket.status());
      ticket_ = std::move(ticket).value();
    }
    if (admission != Admission::kPool) return Execute();
    // The task may end this call, and with it this object, before Run returns.
    if (Status status = environment_.dispatcher->Run([this] { Execute(); }); !status.ok()) {
      End(status);
    }
  }

  void OnDone() override {
    environment_.stats->Of(method_).End(ok_, request_bytes_, reply_bytes_,
                                        std::chrono::steady_clock::now() - start_);
    delete this;
  }

 private:
  // A client that was connected to another server at this address would get rows of other ids.
  Status CheckGraph() const {
    const auto found = context_->client_metadata().find(kGraphKey);
    if (found == context_->client_metadata().end()) return OkStatus();
    const std::string_view expected(found->second.data(), found->second.size());
    if (expected == environment_.identity) return OkStatus();
    return FailedPrecondition(
        "this server serves graph {}, the call is for graph {}: restart the trainer, or give this "
        "server the folder it had",
        environment_.identity, Printable(expected, kIdentityShown));
  }

  void Execute() {
    if (context_->IsCancelled())
      return End(Cancelled("the client cancelled the call before it began"));
    End(Guarded());
    // Nothing here: this may be gone.
  }

  Status Guarded() {
    try {
      return work_(&request_, reply_);
    } catch (const std::bad_alloc&) {
      return Unavailable("busy: out of memory: try again");
    } catch (const std::exception& error) {
      return Internal("{}", error.what());
    }
  }

  void End(const Status& status) {
    ok_ = status.ok();
    if (!ok_) reply_->Clear();
    reply_bytes_ = ok_ ? static_cast<int64_t>(reply_->Length()) : 0;
    environment_.log->Write(*context_, method_, status, request_bytes_, reply_bytes_,
                            std::chrono::steady_clock::now() - start_);
    if (absl::IsUnavailable(status)) {
      context_->AddTrailingMetadata(kPushbackKey, environment_.dispatcher->draining()
                                                      ? kPushbackDrainingMs
                                                      : kPushbackBusyMs);
    }
    Finish(ToGrpc(status));
  }

  const CallEnvironment environment_;
  const Method method_;
  grpc::CallbackServerContext* const context_;
  grpc::ByteBuffer request_;  // a reference to gRPC's bytes, not a copy
  const int64_t request_bytes_;
  grpc::ByteBuffer* const reply_;
  const CallWork work_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Ticket ticket_;
  bool ok_ = false;
  int64_t reply_bytes_ = 0;
};

}  // namespace

grpc::ServerUnaryReactor* StartCall(const CallEnvironment& environment, Method method,
                                    Admission admission, grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* reply,
                                    CallWork work) {
  auto* call = new Call(environment, method, context, request, reply, std::move(work));
  call->Start(admission);
  return call;
}

}  // namespace halograph::server
