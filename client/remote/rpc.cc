#include "client/remote/rpc.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "client/remote/client_metrics.h"
#include "client/remote/rpc_batch.h"
#include "client/remote/rpc_driver.h"
#include "common/base/mutex.h"

namespace halograph {

namespace {

std::vector<ServerPlace> PlacesOf(const RemoteOptions& options) {
  std::vector<ServerPlace> places;
  for (size_t i = 0; i < options.servers.size(); ++i) {
    const bool named = i < options.server_names.size();
    places.push_back({options.servers[i], named ? options.server_names[i] : options.servers[i]});
  }
  return places;
}

TransportOptions ToTransportOptions(const RemoteOptions& options, ClientMetrics* metrics) {
  return {.servers = PlacesOf(options),
          .max_message_bytes = options.max_message_bytes,
          .channels_per_server = options.channels_per_server,
          .rank = options.rank,
          .token_file = options.token_file,
          .tls = options.tls_files,
          .metrics = metrics};
}

// gRPC ends the process over metadata that it does not allow.
Status CheckPrintable(std::string_view what, std::string_view id) {
  const auto bad =
      std::find_if(id.begin(), id.end(), [](char byte) { return byte < ' ' || byte > '~'; });
  if (bad == id.end()) return OkStatus();
  return InvalidArgument("{} has byte {} at position {}; it must be printable ASCII", what,
                         static_cast<int>(static_cast<unsigned char>(*bad)), bad - id.begin());
}

Status CheckStart(const CallContext& context) {
  HG_RETURN_IF_ERROR(context.Check());
  return CheckPrintable("the request id", context.request_id);
}

}  // namespace

RpcClient::RpcClient(const RemoteOptions& options)
    : options_(options),
      metrics_(options.metrics == nullptr
                   ? nullptr
                   : std::make_unique<ClientMetrics>(options.metrics, options.servers)),
      health_(static_cast<int>(options.servers.size()), std::max(options.rank, 0)),
      places_(PlacesOf(options)),
      transport_(ToTransportOptions(options, metrics_.get())),
      driver_(std::make_unique<RpcDriver>(options.timeout)) {}

RpcClient::~RpcClient() = default;

std::string RpcClient::address(int server) const {
  const MutexLock lock(mutex_);
  return places_[static_cast<size_t>(server)].address;
}

std::vector<std::string> RpcClient::addresses() const {
  std::vector<std::string> addresses;
  for (const ServerPlace& place : places()) addresses.push_back(place.address);
  return addresses;
}

std::vector<ServerPlace> RpcClient::places() const {
  const MutexLock lock(mutex_);
  return places_;
}

void RpcClient::Move(int server, const ServerPlace& place) {
  transport_.Move(server, place);
  const MutexLock lock(mutex_);
  places_[static_cast<size_t>(server)] = place;
}

void RpcClient::StartBatch(CallContext& context, std::vector<Rpc> calls, Done done,
                           EnoughAt enough_at) {
  Status status = CheckStart(context);
  if (options_.tls.given() && options_.tls_files == nullptr) {
    status = Internal(
        "--tls-dir or its like was given, and no file opened: nothing is sent unencrypted");
  }
  if (!status.ok() || calls.empty()) return done(std::move(status), nullptr);
  std::unique_ptr<RpcBatch> batch;
  try {
    batch = std::make_unique<RpcBatch>(this, driver_.get(), &context, std::move(enough_at));
    status = driver_->Enlist(batch.get());
  } catch (const std::bad_alloc&) {
    status = ResourceExhausted("no memory for calls to servers");
  }
  if (!status.ok()) return done(std::move(status), nullptr);
  SuspensionWatch start(options_.timeout, std::chrono::steady_clock::now());
  batch->SetWatch(&start);
  batch->Begin(std::move(calls), std::move(done));
  driver_->HandOver(std::move(batch), start.last_look());
}

void RpcClient::Start(CallContext& context, std::vector<Rpc> calls,
                      std::function<void(Status)> done, EnoughAt enough_at) {
  StartBatch(
      context, std::move(calls),
      [done = std::move(done)](Status status, const std::exception_ptr& /*thrown*/) {
        done(std::move(status));
      },
      std::move(enough_at));
}

Status RpcClient::Run(CallContext& context, std::vector<Rpc> calls, EnoughAt enough_at) {
  struct {
    Mutex mutex;
    CondVar changed;
    bool done HG_GUARDED_BY(mutex) = false;
    Status status HG_GUARDED_BY(mutex);
    std::exception_ptr thrown HG_GUARDED_BY(mutex);
  } end;
  StartBatch(
      context, std::move(calls),
      [&end](Status status, std::exception_ptr thrown) {
        const MutexLock lock(end.mutex);  // notified under the lock: `end` goes when it is free
        end.status = std::move(status);
        end.thrown = std::move(thrown);
        end.done = true;
        end.changed.NotifyOne();
      },
      std::move(enough_at));
  const MutexLock lock(end.mutex);
  end.changed.Wait(end.mutex, [&]() HG_REQUIRES(end.mutex) { return end.done; });
  if (end.thrown != nullptr) std::rethrow_exception(end.thrown);
  return std::move(end.status);
}

void RpcClient::End() { driver_->End(); }

}  // namespace halograph
