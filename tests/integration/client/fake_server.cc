#include "tests/integration/client/fake_server.h"

#include <atomic>
#include <utility>

#include <grpc/support/time.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

namespace halograph {

namespace {

using Answer = std::function<FakeAnswer(const FakeCall&)>;

class Reactor final : public grpc::ServerGenericBidiReactor {
 public:
  Reactor(grpc::GenericCallbackServerContext* context, const Answer& answer)
      : context_(context), answer_(answer) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return FinishOnce(grpc::Status(grpc::StatusCode::INTERNAL, "no request"));
    const FakeAnswer answer = answer_(ToCall());
    if (answer.never) return;
    if (answer.gate == nullptr) return Send(answer);
    gate_ = answer.gate;
    answer.gate->Hold(this, [this, answer] { Send(answer); });
  }
  void OnWriteDone(bool) override { FinishOnce(grpc::Status::OK); }
  void OnCancel() override {
    if (FakeGate* const gate = gate_) gate->Forget(this);
    FinishOnce(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    if (FakeGate* const gate = gate_) gate->Forget(this);
    delete this;
  }

 private:
  void Send(const FakeAnswer& answer) {
    {
      const std::lock_guard lock(mutex_);
      if (finished_) return;
    }
    if (answer.pushback_ms.has_value()) {
      context_->AddTrailingMetadata("grpc-retry-pushback-ms", std::to_string(*answer.pushback_ms));
    }
    if (!answer.status.ok()) {
      return FinishOnce(grpc::Status(static_cast<grpc::StatusCode>(answer.status.raw_code()),
                                     Message(answer.status)));
    }
    grpc::Slice slice(answer.bytes);
    reply_ = grpc::ByteBuffer(&slice, 1);
    StartWrite(&reply_);
  }
  FakeCall ToCall() const {
    FakeCall call;
    constexpr size_t kPrefix = sizeof("/halograph.v1.") - 1;
    call.method = context_->method().substr(kPrefix);
    std::vector<grpc::Slice> slices;
    if (request_.Dump(&slices).ok()) {
      for (const grpc::Slice& slice : slices) {
        call.request.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
      }
    }
    for (const auto& [key, value] : context_->client_metadata()) {
      call.metadata[std::string(key.data(), key.size())] = std::string(value.data(), value.size());
    }
    const gpr_timespec deadline =
        gpr_convert_clock_type(context_->raw_deadline(), GPR_CLOCK_MONOTONIC);
    const gpr_timespec left = gpr_time_sub(deadline, gpr_now(GPR_CLOCK_MONOTONIC));
    call.time_left = std::chrono::seconds(left.tv_sec) + std::chrono::nanoseconds(left.tv_nsec);
    return call;
  }

  void FinishOnce(const grpc::Status& status) {
    std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
    Finish(status);
  }

  grpc::GenericCallbackServerContext* const context_;
  const Answer& answer_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer reply_;
  std::atomic<FakeGate*> gate_ = nullptr;
  std::mutex mutex_;
  bool finished_ = false;
};

class Service final : public grpc::CallbackGenericService {
 public:
  explicit Service(Answer answer) : answer_(std::move(answer)) {}
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Reactor(context, answer_);
  }

 private:
  const Answer answer_;
};

}  // namespace

void FakeGate::AwaitHeld(size_t answers) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return held_.size() >= answers; });
}

void FakeGate::LetHeld() {
  const std::lock_guard lock(mutex_);  // held: nobody goes who is to send
  for (const auto& [who, send] : held_) send();
  held_.clear();
}

void FakeGate::Open() {
  {
    const std::lock_guard lock(mutex_);
    open_ = true;
  }
  LetHeld();
}

void FakeGate::Hold(const void* who, std::function<void()> send) {
  const std::lock_guard lock(mutex_);
  if (open_) return send();
  held_.emplace(who, std::move(send));
  changed_.notify_all();
}

void FakeGate::Forget(const void* who) {
  const std::lock_guard lock(mutex_);
  held_.erase(who);
}

struct FakeServer::State {
  explicit State(Answer answer) : service(std::move(answer)) {}
  Service service;
  std::unique_ptr<grpc::Server> server;
  std::string address;
};

FakeServer::FakeServer(Answer answer) : state_(std::make_unique<State>(std::move(answer))) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&state_->service);
  state_->server = builder.BuildAndStart();
  state_->address = "127.0.0.1:" + std::to_string(port);
}

FakeServer::~FakeServer() { state_->server->Shutdown(gpr_inf_past(GPR_CLOCK_MONOTONIC)); }

const std::string& FakeServer::address() const { return state_->address; }

}  // namespace halograph
