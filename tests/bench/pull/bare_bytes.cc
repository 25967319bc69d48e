#include "tests/bench/pull/bare_bytes.h"

#include <algorithm>
#include <climits>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "halograph/v1/kv.grpc.pb.h"

namespace halograph {

namespace {

constexpr size_t kLargestReply = size_t{8} << 20;

// The length of the reply is the request's first 8 bytes.
class BareService final : public v1::KVService::WithRawCallbackMethod_Pull<v1::KVService::Service> {
 public:
  grpc::ServerUnaryReactor* Pull(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* reply) override {
    std::vector<grpc::Slice> slices;
    uint64_t bytes = 0;
    if (request->Dump(&slices).ok() && !slices.empty() && slices[0].size() >= sizeof(bytes)) {
      std::memcpy(&bytes, slices[0].begin(), sizeof(bytes));
    }
    grpc::Slice slice(bytes_.data(), std::min<size_t>(bytes, bytes_.size()),
                      grpc::Slice::STATIC_SLICE);
    *reply = grpc::ByteBuffer(&slice, 1);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  const std::string bytes_ = std::string(kLargestReply, 'x');
};

struct Attempt {
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer reply;
};

}  // namespace

int ServeBareBytes() {
  BareService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(INT_MAX);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::printf("listening on 127.0.0.1:%d\n", port);
  std::fflush(stdout);
  server->Wait();
  return 1;
}

struct BareClient::State {
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
  size_t calls_in_flight = 1;
  const std::vector<BareCall>* calls = nullptr;
  std::mutex mutex;
  std::condition_variable done;
  size_t next = 0;
  size_t outstanding = 0;
  bool failed = false;

  void StartLocked();
  void Finish(Attempt* attempt, const grpc::Status& status);
};

void BareClient::State::StartLocked() {
  const BareCall& call = (*calls)[next];
  grpc::Slice slice(static_cast<size_t>(call.request_bytes));
  std::memset(const_cast<uint8_t*>(slice.begin()), 0, slice.size());
  std::memcpy(const_cast<uint8_t*>(slice.begin()), &call.reply_bytes, sizeof(call.reply_bytes));
  auto* attempt = new Attempt;
  attempt->request = grpc::ByteBuffer(&slice, 1);
  grpc::GenericStub& stub = *stubs[next % stubs.size()];
  ++next;
  ++outstanding;
  stub.UnaryCall(&attempt->context, "/halograph.v1.KVService/Pull", {}, &attempt->request,
                 &attempt->reply,
                 [this, attempt](const grpc::Status& status) { Finish(attempt, status); });
}

void BareClient::State::Finish(Attempt* attempt, const grpc::Status& status) {
  delete attempt;
  std::lock_guard lock(mutex);
  if (!status.ok()) failed = true;
  --outstanding;
  if (next < calls->size() && !failed) StartLocked();
  if (outstanding == 0) done.notify_one();
}

BareClient::BareClient(const std::string& address, int channels, int calls_in_flight)
    : state_(std::make_unique<State>()) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(INT_MAX);
  for (int i = 0; i < channels; ++i) {
    state_->stubs.push_back(std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments)));
  }
  state_->calls_in_flight = static_cast<size_t>(calls_in_flight);
}

BareClient::~BareClient() = default;

bool BareClient::Run(const std::vector<BareCall>& calls) {
  std::unique_lock lock(state_->mutex);
  state_->calls = &calls;
  state_->next = 0;
  state_->failed = false;
  while (state_->next < calls.size() && state_->outstanding < state_->calls_in_flight) {
    state_->StartLocked();
  }
  state_->done.wait(lock, [this] { return state_->outstanding == 0; });
  return !state_->failed;
}

}  // namespace halograph
