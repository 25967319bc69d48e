// How a cluster looks after servers that are lost, and finds those that moved.
#include <algorithm>
#include <system_error>
#include <utility>

#include "client/remote/cluster.h"
#include "client/remote/describe_servers.h"
#include "common/base/log.h"

namespace halograph {

namespace {

// How long a lost server has to answer when it is looked at, and the name service beside it.
constexpr std::chrono::seconds kLookTimeout{2};

bool HasReplicas(const ReplicaSets& sets) {
  return std::any_of(sets.sets.begin(), sets.sets.end(),
                     [](const ReplicaSet& set) { return set.servers.size() > 1; });
}

}  // namespace

Status Cluster::StartLooking() {
  const auto served = this->served();
  const Descriptions& there = served->descriptions();
  const bool missing = std::find(there.begin(), there.end(), nullptr) != there.end();
  if (!missing && !HasReplicas(served->features()) && !HasReplicas(served->topology())) {
    return OkStatus();
  }
  try {
    looking_ = std::thread([this] { KeepLooking(); });
  } catch (const std::system_error& error) {
    return ResourceExhausted("no thread to look after lost servers: {}", error.what());
  }
  return OkStatus();
}

void Cluster::KeepLooking() {
  // Of each server's last look, so that a refusal is said once.
  std::vector<absl::StatusCode> seen(static_cast<size_t>(rpc_.num_servers()));
  for (;;) {
    const int server = rpc_.health().WaitToLook();
    if (server < 0) return;
    const Status status = Look(server);
    if (status.ok()) {
      if (rpc_.health().Found(server)) spdlog::info("{} answers again", rpc_.address(server));
    } else if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status) &&
               !absl::IsCancelled(status) && status.code() != seen[static_cast<size_t>(server)]) {
      spdlog::warn("{} is refused, and other servers of its parts are asked: {}",
                   rpc_.address(server), Message(status));
    }
    seen[static_cast<size_t>(server)] = status.code();
  }
}

Status Cluster::Look(int server) {
  try {
    const auto timeout = std::min<std::chrono::nanoseconds>(rpc_.options().timeout, kLookTimeout);
    CallContext context{.cancel = &ending_, .deadline = std::chrono::steady_clock::now() + timeout};
    HG_ASSIGN_OR_RETURN(auto description, DescribeServer(&rpc_, server, context));
    return TakeIn(server, std::move(description));
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("no memory for its description");
  }
}

Status Cluster::StartFinding() {
  const ServerList list = rpc_.options().List();
  if (!list.may_change()) return OkStatus();
  HG_ASSIGN_OR_RETURN(
      finder_,
      ServerFinder::Start(
          {.find =
               [list] { return list.FindNumbers(std::chrono::steady_clock::now() + kLookTimeout); },
           .places = [this] { return rpc_.places(); },
           .move = [this](int server,
                          const ServerPlace& place) { return Relocate(server, place); }}));
  rpc_.WhenGone([this](int server) { finder_->Gone(server); });
  return OkStatus();
}

Status Cluster::Relocate(int server, const ServerPlace& place) {
  HG_ASSIGN_OR_RETURN(auto description, DescribeAt(place));
  const auto before = served()->descriptions()[static_cast<size_t>(server)];
  const bool same = before == nullptr || (before->parts == description->parts &&
                                          before->serving == description->serving &&
                                          before->keeps_state == description->keeps_state);
  if (!same) {
    return FailedPrecondition("{} serves other parts", place.address);
  }
  if (rpc_.address(server) == place.address) return OkStatus();
  const ServerPlace from = rpc_.places()[static_cast<size_t>(server)];
  rpc_.Move(server, place);
  Status taken = TakeIn(server, std::move(description));
  if (taken.ok()) {
    spdlog::info("{} has moved to {}", from.address, place.address);
  } else {
    rpc_.Move(server, from);
  }
  return taken;
}

StatusOr<std::shared_ptr<const ServerDescription>> Cluster::DescribeAt(const ServerPlace& place) {
  RemoteOptions options = rpc_.options();
  options.servers = {place.address};
  options.server_names = {place.name};
  options.timeout = std::min<std::chrono::nanoseconds>(options.timeout, kLookTimeout);
  options.server_timeout = std::chrono::nanoseconds(0);  // who is not there now is looked for again
  options.channels_per_server = 1;
  options.metrics = nullptr;
  options.on_call_ended = nullptr;
  try {
    RpcClient rpc(options);
    rpc.ExpectGraph(info_.identity);
    CallContext context{.cancel = &ending_};
    return DescribeServer(&rpc, 0, context);
  } catch (const std::exception& error) {  // no memory, or no thread
    return ResourceExhausted("cannot ask who is at {}: {}", place.address, error.what());
  }
}

}  // namespace halograph
