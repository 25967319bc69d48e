#include "server/grpc_stats_caller.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <grpc/support/time.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/channel_arguments.h>

#include "common/base/host_port.h"
#include "common/base/printable.h"
#include "halograph/v1/admin.pb.h"
#include "proto/credentials/credentials.h"
#include "proto/methods/methods.h"

namespace halograph::server {
namespace {

std::shared_ptr<grpc::GenericStub> Connect(
    const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a new channel is a new connection
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);          // which is meant for the web
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kMostStatsBytes));
  return std::make_shared<grpc::GenericStub>(
      grpc::CreateCustomChannel(address, credentials, arguments));
}

// Not by the system's clock, which may be set between two readings.
gpr_timespec ToGrpcDeadline(std::chrono::steady_clock::time_point when) {
  const std::chrono::nanoseconds left = when - std::chrono::steady_clock::now();
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
}

grpc::ByteBuffer StatsWithMetrics() {
  v1::StatsRequest request;
  request.set_max_bytes(kMostStatsBytes);
  request.set_metrics(true);
  const grpc::Slice slice(request.SerializeAsString());
  return {&slice, 1};
}

StatusOr<std::string> BytesOf(const grpc::ByteBuffer& reply) {
  std::vector<grpc::Slice> slices;
  if (!reply.Dump(&slices).ok()) return DataLoss("the reply cannot be read");
  std::string bytes;
  bytes.reserve(reply.Length());
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

struct StatsCall {
  std::string address;
  std::shared_ptr<grpc::GenericStub> stub;
  grpc::ClientContext context;
  grpc::ByteBuffer request = StatsWithMetrics();
  grpc::ByteBuffer reply;
  StatsCaller::Done done;
};

class GrpcStatsCaller final : public StatsCaller {
 public:
  explicit GrpcStatsCaller(const TlsFiles* tls)
      : tls_(tls), credentials_(MakeChannelCredentials(tls)) {}
  ~GrpcStatsCaller() override {
    std::unordered_set<std::shared_ptr<StatsCall>> left;
    {
      const MutexLock lock(mutex_);
      left = calls_;
    }
    for (const auto& call : left) call->context.TryCancel();  // which may come back by Finish
    const MutexLock lock(mutex_);
    changed_.Wait(mutex_, [this]() HG_REQUIRES(mutex_) { return calls_.empty(); });
  }

  void Ask(const std::string& address, std::chrono::steady_clock::time_point deadline,
           Done done) override {
    auto call = std::make_shared<StatsCall>();
    call->address = address;
    call->done = std::move(done);
    call->context.set_deadline(ToGrpcDeadline(deadline));
    {
      const MutexLock lock(mutex_);
      std::shared_ptr<grpc::GenericStub>& stub = stubs_[address];
      if (stub == nullptr) stub = Connect(address, credentials_);
      call->stub = stub;
      calls_.insert(call);
    }
    call->stub->UnaryCall(&call->context, std::string(PathOf(Method::kStats)), grpc::StubOptions(),
                          &call->request, &call->reply,
                          [this, call](const grpc::Status& status) { Finish(call, status); });
  }

  void Disconnect() override {
    std::unordered_map<std::string, std::shared_ptr<grpc::GenericStub>> closed;
    const MutexLock lock(mutex_);
    closed.swap(stubs_);
  }

 private:
  void Finish(const std::shared_ptr<StatsCall>& call, const grpc::Status& status) {
    call->done(status.ok() ? BytesOf(call->reply) : ErrorOf(status, call->address));
    const MutexLock lock(mutex_);
    if (const auto stub = stubs_.find(call->address); !status.ok() && stub != stubs_.end()) {
      if (stub->second == call->stub) stubs_.erase(stub);
    }
    calls_.erase(call);
    changed_.NotifyAll();
  }

  // Of a call to this address that failed.
  [[nodiscard]] Status ErrorOf(const grpc::Status& status, const std::string& address) const {
    const auto called = ParseServerAddress(address);
    return ExplainRefusal(MakeStatus(static_cast<absl::StatusCode>(status.error_code()),
                                     Printable(status.error_message(), kMessageShown)),
                          tls_, called.ok() ? called->host : address);
  }

  const TlsFiles* const tls_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  Mutex mutex_;
  CondVar changed_;
  std::unordered_map<std::string, std::shared_ptr<grpc::GenericStub>> stubs_ HG_GUARDED_BY(mutex_);
  std::unordered_set<std::shared_ptr<StatsCall>> calls_ HG_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<StatsCaller> MakeGrpcStatsCaller(const TlsFiles* tls) {
  return std::make_unique<GrpcStatsCaller>(tls);
}

}  // namespace halograph::server
