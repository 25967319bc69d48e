#include "client/remote/describe_servers.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "common/base/log.h"
#include "common/base/mutex.h"

namespace halograph {

namespace {

using Clock = std::chrono::steady_clock;
using DescriptionPtr = std::shared_ptr<const ServerDescription>;

Rpc DescribeCall(int server, std::function<void(DescriptionPtr)> take) {
  Rpc rpc;
  rpc.servers = {server};
  rpc.method = Method::kDescribe;
  rpc.make_request = [] { return std::string(); };  // an empty DescribeRequest
  rpc.on_reply = [take = std::move(take)](ReplyPieces reply, std::vector<Rpc>*) {
    HG_ASSIGN_OR_RETURN(ServerDescription description, ReadDescription(reply));
    take(std::make_shared<const ServerDescription>(std::move(description)));
    return OkStatus();
  };
  return rpc;
}

Status CheckUsable(const RemoteOptions& options, const Descriptions& descriptions) {
  HG_RETURN_IF_ERROR(CheckOneGraph(options.servers, descriptions));
  return CheckComplete(options.servers, descriptions, options.needs_topology);
}

// What has come so far, and what did not.
class Answers {
 public:
  explicit Answers(const RemoteOptions& options)
      : options_(options), descriptions_(options.servers.size()), errors_(options.servers.size()) {}

  // Any thread.
  void Take(size_t server, DescriptionPtr description) {
    const MutexLock lock(mutex_);
    descriptions_[server] = std::move(description);
    if (enough_at_ == Clock::time_point::max() && CheckUsable(options_, descriptions_).ok()) {
      enough_at_ = Clock::now() + kStartGrace;
    }
  }
  [[nodiscard]] Clock::time_point enough_at() {
    const MutexLock lock(mutex_);
    return enough_at_;
  }
  // A server that does not answer is missing; any other error is the error of all.
  [[nodiscard]] Status TakeError(size_t server, const Status& error) {
    // FailedPrecondition: no connection to it can be made (proto/credentials).
    if (!absl::IsUnavailable(error) && !absl::IsDeadlineExceeded(error) &&
        !absl::IsFailedPrecondition(error)) {
      return error;
    }
    errors_[server] = error;
    return OkStatus();
  }
  // Once no call is under way.
  [[nodiscard]] StatusOr<Descriptions> Finish();

 private:
  // The error of the first server that is missing, the others that are, and what is served.
  [[nodiscard]] Status ExplainMissing(const Status& rest) const;

  const RemoteOptions& options_;
  Mutex mutex_;
  Descriptions descriptions_ HG_GUARDED_BY(mutex_);
  Clock::time_point enough_at_ HG_GUARDED_BY(mutex_) = Clock::time_point::max();
  std::vector<Status> errors_;
};

Status Answers::ExplainMissing(const Status& rest) const {
  Status first;
  std::vector<std::string> others;
  for (size_t server = 0; server < errors_.size(); ++server) {
    if (errors_[server].ok()) continue;
    if (first.ok()) {
      first = errors_[server];
    } else {
      others.push_back(options_.servers[server]);
    }
  }
  std::string text = Message(first);
  if (!others.empty()) text += fmt::format("; nor from {}", fmt::join(others, ", "));
  if (!rest.ok()) text += "; without, " + Message(rest);
  return MakeStatus(first.code(), text);
}

StatusOr<Descriptions> Answers::Finish() {
  const MutexLock lock(mutex_);
  const auto missing = std::count(descriptions_.begin(), descriptions_.end(), nullptr);
  if (missing == static_cast<int64_t>(descriptions_.size())) return ExplainMissing(OkStatus());
  HG_RETURN_IF_ERROR(CheckOneGraph(options_.servers, descriptions_));
  const Status complete = CheckComplete(options_.servers, descriptions_, options_.needs_topology);
  if (!complete.ok()) return missing == 0 ? complete : ExplainMissing(complete);
  for (size_t server = 0; server < descriptions_.size(); ++server) {
    if (descriptions_[server] != nullptr) continue;
    spdlog::warn(
        "{} does not answer; going on without it, since other servers have its parts. It is used "
        "once it answers{}",
        options_.servers[server],
        errors_[server].ok() ? "" : fmt::format(" ({})", Message(errors_[server])));
  }
  return descriptions_;
}

}  // namespace

StatusOr<Descriptions> DescribeServers(RpcClient* rpc, CallContext& context) {
  Answers answers(rpc->options());
  std::vector<Rpc> calls;
  for (size_t server = 0; server < rpc->options().servers.size(); ++server) {
    calls.push_back(DescribeCall(
        static_cast<int>(server),
        [&answers, server](DescriptionPtr taken) { answers.Take(server, std::move(taken)); }));
    calls.back().on_error = [&answers, server](int, const Status& error, std::vector<Rpc>*) {
      return answers.TakeError(server, error);
    };
  }
  HG_RETURN_IF_ERROR(
      rpc->Run(context, std::move(calls), [&answers] { return answers.enough_at(); }));
  return answers.Finish();
}

StatusOr<std::shared_ptr<const ServerDescription>> DescribeServer(RpcClient* rpc, int server,
                                                                  CallContext& context) {
  DescriptionPtr found;
  std::vector<Rpc> calls;
  calls.push_back(
      DescribeCall(server, [&found](DescriptionPtr taken) { found = std::move(taken); }));
  HG_RETURN_IF_ERROR(rpc->Run(context, std::move(calls)));
  return found;
}

}  // namespace halograph
