#include "client/remote/transport.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>

#include <grpc/support/time.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/channel_arguments.h>

#include "absl/strings/numbers.h"
#include "client/remote/client_metrics.h"
#include "client/remote_options.h"
#include "common/base/call_metadata.h"
#include "common/base/host_port.h"
#include "common/base/mutex.h"
#include "common/base/printable.h"
#include "common/http/token_file.h"
#include "common/tls/tls_files.h"
#include "proto/credentials/credentials.h"

namespace halograph {

namespace {

// What a server may ask for at most before the next try; no timeout is longer.
constexpr std::chrono::milliseconds kLongestPushback = std::chrono::hours(24);

grpc::ChannelArguments MakeArguments(const TransportOptions& options) {
  grpc::ChannelArguments arguments;
  // Channels to one address would share one connection; each is to have its own.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  arguments.SetMaxSendMessageSize(static_cast<int>(options.max_message_bytes));
  // A restarting server is found again soon: our retries come at most 2 s apart.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // A name may stand for another address when its server is found again.
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1000);
  // Servers are peers of the cluster; a proxy of the environment is meant for the web.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

// One slice that owns a reference to the request. Borrowing the caller's memory instead would
// not be safe: after a cancelled call gRPC may still be writing it to the socket.
grpc::ByteBuffer ToBuffer(const std::shared_ptr<const std::string>& request) {
  using Owner = std::shared_ptr<const std::string>;
  auto* owner = new Owner(request);
  grpc::Slice slice(
      const_cast<char*>((*owner)->data()), (*owner)->size(),
      [](void* data) { delete static_cast<Owner*>(data); }, owner);
  return {&slice, 1};
}

// Not by the system's clock, which may be set between two readings.
gpr_timespec ToGrpcTime(std::chrono::steady_clock::time_point when) {
  const std::chrono::nanoseconds left = when - std::chrono::steady_clock::now();
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
}

Status ToStatus(const grpc::Status& status) {
  return MakeStatus(static_cast<absl::StatusCode>(status.error_code()),
                    Printable(status.error_message(), kMessageShown));
}

Status HandleReply(const grpc::ByteBuffer& reply, const Transport::ReplyHandler& on_reply) {
  std::vector<grpc::Slice> slices;
  if (reply.Valid() && !reply.Dump(&slices).ok()) return DataLoss("the reply cannot be read");
  std::vector<std::span<const std::byte>> pieces;
  pieces.reserve(slices.size());
  for (const grpc::Slice& slice : slices) {
    pieces.push_back(std::as_bytes(std::span(slice.begin(), slice.size())));
  }
  return on_reply(pieces);
}

// What is told of one attempt; nothing, and no clock is read, if nobody is to be told.
class CountedAttempt {
 public:
  CountedAttempt(ClientMetrics* metrics, const AttemptSpec& spec)
      : metrics_(metrics), server_(spec.server), method_(spec.method), deadline_(spec.deadline) {}

  void Began() {
    if (metrics_ == nullptr) return;
    begin_ = Clock::now();
    metrics_->Began(server_, method_);
  }
  void Ended(grpc::StatusCode status) const {
    if (metrics_ == nullptr) return;
    const Clock::time_point now = Clock::now();
    // Who ends attempts whose time is over may be a little earlier than gRPC (rpc_batch.h).
    if (status == grpc::StatusCode::CANCELLED && now >= deadline_) {
      status = grpc::StatusCode::DEADLINE_EXCEEDED;
    }
    metrics_->Ended(server_, method_, static_cast<absl::StatusCode>(status), now - begin_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  ClientMetrics* const metrics_;
  const int server_;
  const Method method_;
  const Clock::time_point deadline_;
  Clock::time_point begin_;
};

class GrpcAttempt final : public Transport::Attempt {
 public:
  GrpcAttempt(ClientMetrics* metrics, const AttemptSpec& spec, const TlsFiles* tls)
      : counted(metrics, spec), tls_(tls) {}

  void Cancel() override { context.TryCancel(); }

  AttemptResult Finish(const grpc::Status& status, const Transport::ReplyHandler& on_reply) {
    counted.Ended(status.error_code());
    AttemptResult result;
    if (status.ok()) {
      result.status = HandleCaught(on_reply);
      return result;
    }
    const auto& trailers = context.GetServerTrailingMetadata();
    const auto reason = trailers.find(kReasonKey);
    result.status = ExplainRefusal(ToStatus(status), tls_, *host);
    if (reason != trailers.end()) {
      result.status = WithReason(
          result.status, Printable({reason->second.data(), reason->second.size()}, kNameShown));
    }
    const auto pushback = trailers.find("grpc-retry-pushback-ms");
    int64_t milliseconds = 0;
    if (pushback != trailers.end() &&
        absl::SimpleAtoi(absl::string_view(pushback->second.data(), pushback->second.size()),
                         &milliseconds) &&
        milliseconds >= 0) {
      result.pushback = std::min(std::chrono::milliseconds(milliseconds), kLongestPushback);
    }
    return result;
  }

  CountedAttempt counted;
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer reply;
  std::shared_ptr<const std::string> host;  // whom the server's certificate must be for

 private:
  // gRPC swallows what its callbacks throw: the call would never end.
  [[nodiscard]] Status HandleCaught(const Transport::ReplyHandler& on_reply) const {
    try {
      return HandleReply(reply, on_reply);
    } catch (const std::bad_alloc&) {
      return ResourceExhausted("no memory to read a reply of {} bytes", reply.Length());
    } catch (const std::exception& error) {
      return Internal("reading the reply: {}", error.what());
    }
  }

  const TlsFiles* const tls_;  // null: plain; outlives the attempt
};

}  // namespace

struct Transport::Server {
  // The connections to where it is.
  struct Place {
    std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
    // Whom its certificate must be for; shared with the attempts.
    std::shared_ptr<const std::string> host = std::make_shared<const std::string>();
    Status may_have_token;
  };

  [[nodiscard]] std::shared_ptr<const Place> place() const {
    const MutexLock lock(mutex);
    return now;
  }

  mutable Mutex mutex;
  std::shared_ptr<const Place> now HG_GUARDED_BY(mutex);
  std::atomic<uint32_t> next{0};
};

Transport::Transport(const TransportOptions& options)
    : options_(options),
      credentials_(MakeChannelCredentials(options.tls.get())),
      rank_(options.rank),
      metrics_(options.metrics) {
  if (!options.token_file.empty()) {
    StatusOr<std::string> token = ReadToken(options.token_file);
    if (token.ok()) {
      token_ = std::make_unique<TokenFile>(options.token_file, *std::move(token),
                                           TokenBounds{.option = "--token-file"});
    } else {
      token_status_ = Annotate(token.status(), "--token-file");
    }
  }
  for (size_t server = 0; server < options.servers.size(); ++server) {
    servers_.push_back(std::make_unique<Server>());
    Move(static_cast<int>(server), options.servers[server]);
  }
}

void Transport::Move(int server, const ServerPlace& place) {
  grpc::ChannelArguments arguments = MakeArguments(options_);
  auto moved = std::make_shared<Server::Place>();
  // A certificate names the server as people do, not by one of its numbers.
  if (const auto name = ParseServerAddress(place.name); name.ok()) {
    moved->host = std::make_shared<const std::string>(name->host);
    if (place.name != place.address) arguments.SetSslTargetNameOverride(name->host);
  }
  moved->may_have_token = CheckTokenMayGoTo(place.address, options_.tls != nullptr);
  for (int i = 0; i < options_.channels_per_server; ++i) {
    moved->stubs.push_back(std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel(place.address, credentials_, arguments)));
  }
  Server& of = *servers_[static_cast<size_t>(server)];
  const MutexLock lock(of.mutex);
  of.now = std::move(moved);
}

Transport::~Transport() = default;

Status Transport::PutToken(const Status& may_have_token, grpc::ClientContext* context) const {
  HG_RETURN_IF_ERROR(token_status_);
  if (token_ == nullptr) return OkStatus();
  if (!may_have_token.ok()) {
    return MakeStatus(absl::StatusCode::kUnauthenticated, Message(may_have_token));
  }
  context->AddMetadata(kAuthorizationKey, "Bearer " + token_->Token());
  return OkStatus();
}

std::unique_ptr<Transport::Attempt> Transport::Start(const AttemptSpec& spec, ReplyHandler on_reply,
                                                     DoneHandler done) {
  auto attempt = std::make_unique<GrpcAttempt>(metrics_, spec, options_.tls.get());
  attempt->context.set_deadline(ToGrpcTime(spec.deadline));
  attempt->context.AddMetadata(kRequestIdKey, std::string(spec.request_id));
  if (!spec.trace.trace.empty()) {
    attempt->context.AddMetadata(kTraceparentKey, ToTraceparent(spec.trace));
  }
  if (!graph_.empty()) attempt->context.AddMetadata(kGraphKey, graph_);
  if (rank_ >= 0) attempt->context.AddMetadata(kRankKey, std::to_string(rank_));
  if (spec.failed_over) attempt->context.AddMetadata(kFailedOverKey, "1");
  Server& server = *servers_[static_cast<size_t>(spec.server)];
  const std::shared_ptr<const Server::Place> place = server.place();
  if (Status status = PutToken(place->may_have_token, &attempt->context); !status.ok()) {
    done({.status = std::move(status), .pushback = {}});
    return attempt;
  }
  attempt->request = ToBuffer(spec.request);
  attempt->host = place->host;
  GrpcAttempt* raw = attempt.get();
  raw->counted.Began();
  const size_t next = server.next.fetch_add(1, std::memory_order_relaxed) % place->stubs.size();
  place->stubs[next]->UnaryCall(
      &raw->context, std::string(PathOf(spec.method)), grpc::StubOptions(), &raw->request,
      &raw->reply,
      [raw, on_reply = std::move(on_reply), done = std::move(done)](const grpc::Status& status) {
        done(raw->Finish(status, on_reply));  // the attempt may be gone when this returns
      });
  return attempt;
}

}  // namespace halograph
