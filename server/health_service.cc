#include "server/health_service.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "common/base/mutex.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "grpc/health/v1/health.pb.h"
#include "proto/methods/methods.h"
#include "server/caller.h"
#include "server/listener/connection_table.h"
#include "server/messages.h"
#include "server/rpc_status.h"

namespace halograph::server {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using ServingStatus = HealthCheckResponse::ServingStatus;

constexpr char kCheckPath[] = "/grpc.health.v1.Health/Check";
constexpr char kWatchPath[] = "/grpc.health.v1.Health/Watch";

// The service asked about. InvalidArgument, ResourceExhausted: the request is none, or too large.
StatusOr<std::string> ServiceAskedAbout(const grpc::ByteBuffer& request) {
  if (request.Length() > kSmallRequestBytes) {
    return ResourceExhausted("a request of {} bytes; health takes at most {}", request.Length(),
                             kSmallRequestBytes);
  }
  grpc::ByteBuffer bytes = request;  // shares them
  HealthCheckRequest message;
  HG_RETURN_IF_ERROR(Parse(&bytes, &message));
  return message.service();
}

StatusOr<grpc::ByteBuffer> ToResponse(ServingStatus status) {
  HealthCheckResponse message;
  message.set_status(status);
  return Serialize(message);
}

}  // namespace

class HealthService::Impl final : public grpc::Service {
 public:
  Impl(std::span<const std::string_view> services, ConnectionTable* connections)
      : services_(services.begin(), services.end()), connections_(connections) {
    using grpc::internal::RpcServiceMethod;
    AddMethod(new RpcServiceMethod(kCheckPath, RpcServiceMethod::NORMAL_RPC, nullptr));
    MarkMethodRawCallback(
        0, new grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
               [this](grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                      grpc::ByteBuffer* reply) { return Answer(*context, *request, reply); }));
    AddMethod(new RpcServiceMethod(kWatchPath, RpcServiceMethod::SERVER_STREAMING, nullptr));
    MarkMethodRawCallback(
        1, new grpc::internal::CallbackServerStreamingHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
               [this](grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
                 return Begin(*context, *request);
               }));
  }

  void AskFirst(HealthService::MayAsk may) { may_ = std::move(may); }
  void SetServing(bool serving) {
    TellAll([&]() HG_REQUIRES(mutex_) {
      serving_ = serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
    });
  }
  void EndWatches() {
    TellAll([&]() HG_REQUIRES(mutex_) { ended_ = true; });
  }
  size_t watches() const {
    const MutexLock lock(mutex_);
    return watches_.size();
  }

 private:
  class Checked;
  class Watch;
  // What a watch does next, outside the lock.
  enum class Step { kNone, kWrite, kFinish };

  [[nodiscard]] bool Has(const std::string& service) const {
    return service.empty() ||
           std::find(services_.begin(), services_.end(), service) != services_.end();
  }
  [[nodiscard]] ConnectionTable::Call CountedCall(const grpc::CallbackServerContext& context,
                                                  const grpc::ByteBuffer& request) const {
    if (connections_ == nullptr) return {};
    return BeginCounted(connections_, context, static_cast<int64_t>(request.Length()));
  }
  // The service asked about, of who may ask; else as ServiceAskedAbout and `may_`.
  [[nodiscard]] StatusOr<std::string> Admit(const grpc::CallbackServerContext& context,
                                            const ConnectionTable::Call& call,
                                            const grpc::ByteBuffer& request) const {
    if (may_) HG_RETURN_IF_ERROR(may_(context, call));
    return ServiceAskedAbout(request);
  }
  // Of a Check; it deletes itself.
  [[nodiscard]] grpc::ServerUnaryReactor* Answer(const grpc::CallbackServerContext& context,
                                                 const grpc::ByteBuffer& request,
                                                 grpc::ByteBuffer* reply) const;
  [[nodiscard]] Status Check(const grpc::CallbackServerContext& context,
                             const ConnectionTable::Call& call, const grpc::ByteBuffer& request,
                             grpc::ByteBuffer* reply) const;
  // A watch, which deletes itself.
  [[nodiscard]] grpc::ServerWriteReactor<grpc::ByteBuffer>* Begin(
      const grpc::CallbackServerContext& context, const grpc::ByteBuffer& request);
  template <typename Change>
  void TellAll(const Change& change);

  const std::vector<std::string_view> services_;
  ConnectionTable* const connections_;
  HealthService::MayAsk may_;  // none: everybody may
  mutable Mutex mutex_;
  ServingStatus serving_ HG_GUARDED_BY(mutex_) = HealthCheckResponse::NOT_SERVING;
  bool ended_ HG_GUARDED_BY(mutex_) = false;
  std::set<Watch*> watches_ HG_GUARDED_BY(mutex_);
};

// One answer.
class HealthService::Impl::Checked final : public grpc::ServerUnaryReactor {
 public:
  Checked(ConnectionTable::Call call, const Status& status) : call_(std::move(call)) {
    Finish(ToGrpc(status));
  }
  void OnDone() override { delete this; }

 private:
  const ConnectionTable::Call call_;
};

// One stream. It has one write under way at most: what changes meanwhile is read after it, so that
// a client that does not read costs one message. It is finished while no write is under way, and
// lives until then: who has found a step for it may do it without the lock.
class HealthService::Impl::Watch final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  // `known`: the server has the service.
  Watch(Impl* health, ConnectionTable::Call call, bool known)
      : health_(*health), call_(std::move(call)), known_(known) {}

  // With `status`, once no write is under way.
  void End(Status status) HG_REQUIRES(health_.mutex_) {
    if (!end_.has_value()) end_ = std::move(status);
  }
  [[nodiscard]] Step Next() HG_REQUIRES(health_.mutex_) {
    if (writing_ || finished_) return Step::kNone;
    if (end_.has_value()) {
      finished_ = true;
      return Step::kFinish;
    }
    const ServingStatus now = known_ ? health_.serving_ : HealthCheckResponse::SERVICE_UNKNOWN;
    if (sent_ == now) return Step::kNone;
    StatusOr<grpc::ByteBuffer> message = ToResponse(now);
    if (!message.ok()) {
      end_ = message.status();
      finished_ = true;
      return Step::kFinish;
    }
    sent_ = now;
    message_ = std::move(message).value();
    writing_ = true;
    return Step::kWrite;
  }
  // What Next said. Not under the lock: gRPC may call back at once.
  void Do(Step step) {
    if (step == Step::kWrite) StartWrite(&message_);
    if (step == Step::kFinish) Finish(ToGrpc(*end_));
  }

  void OnWriteDone(bool ok) override {
    Step step = Step::kNone;
    {
      const MutexLock lock(health_.mutex_);
      writing_ = false;
      if (!ok) End(Cancelled("the client does not read"));
      step = Next();
    }
    Do(step);
  }
  void OnCancel() override {
    Step step = Step::kNone;
    {
      const MutexLock lock(health_.mutex_);
      End(Cancelled("the client cancelled the watch"));
      step = Next();
    }
    Do(step);
  }
  void OnDone() override {
    {
      const MutexLock lock(health_.mutex_);
      health_.watches_.erase(this);
    }
    delete this;
  }

 private:
  Impl& health_;
  const ConnectionTable::Call call_;
  const bool known_;
  bool writing_ HG_GUARDED_BY(health_.mutex_) = false;
  bool finished_ HG_GUARDED_BY(health_.mutex_) = false;
  std::optional<ServingStatus> sent_ HG_GUARDED_BY(health_.mutex_);
  grpc::ByteBuffer message_;   // of the write under way
  std::optional<Status> end_;  // changed under the lock, and not once finished_ is set
};

grpc::ServerUnaryReactor* HealthService::Impl::Answer(const grpc::CallbackServerContext& context,
                                                      const grpc::ByteBuffer& request,
                                                      grpc::ByteBuffer* reply) const {
  ConnectionTable::Call call = CountedCall(context, request);
  const Status status = Check(context, call, request, reply);
  return new Checked(std::move(call), status);
}

Status HealthService::Impl::Check(const grpc::CallbackServerContext& context,
                                  const ConnectionTable::Call& call,
                                  const grpc::ByteBuffer& request, grpc::ByteBuffer* reply) const {
  HG_ASSIGN_OR_RETURN(const std::string service, Admit(context, call, request));
  if (!Has(service)) {
    return NotFound("this server has no service '{}'", Printable(service, kNameShown));
  }
  const MutexLock lock(mutex_);
  HG_ASSIGN_OR_RETURN(*reply, ToResponse(serving_));
  return OkStatus();
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* HealthService::Impl::Begin(
    const grpc::CallbackServerContext& context, const grpc::ByteBuffer& request) {
  ConnectionTable::Call call = CountedCall(context, request);
  const StatusOr<std::string> service = Admit(context, call, request);
  auto* watch = new Watch(this, std::move(call), service.ok() && Has(*service));
  Step step = Step::kNone;
  {
    const MutexLock lock(mutex_);
    if (!service.ok()) {
      watch->End(service.status());
    } else if (ended_) {
      watch->End(Unavailable("the server ends"));
    } else if (watches_.size() >= kMostWatches) {
      watch->End(ResourceExhausted(
          "{} watches of health are open, as many as there may be at a time: call Check instead",
          kMostWatches));
    } else {
      watches_.insert(watch);
    }
    step = watch->Next();
  }
  watch->Do(step);
  return watch;
}

template <typename Change>
void HealthService::Impl::TellAll(const Change& change) {
  std::vector<std::pair<Watch*, Step>> steps;
  {
    const MutexLock lock(mutex_);
    change();
    for (Watch* const watch : watches_) {
      if (ended_) watch->End(Unavailable("the server ends"));
      if (const Step step = watch->Next(); step != Step::kNone) steps.emplace_back(watch, step);
    }
  }
  for (const auto& [watch, step] : steps) watch->Do(step);
}

HealthService::HealthService(std::span<const std::string_view> services,
                             ConnectionTable* connections)
    : impl_(std::make_unique<Impl>(services, connections)) {}
HealthService::~HealthService() = default;
grpc::Service* HealthService::service() { return impl_.get(); }
void HealthService::AskFirst(HealthService::MayAsk may) { impl_->AskFirst(std::move(may)); }
void HealthService::SetServing(bool serving) { impl_->SetServing(serving); }
void HealthService::EndWatches() { impl_->EndWatches(); }
size_t HealthService::watches() const { return impl_->watches(); }

}  // namespace halograph::server
