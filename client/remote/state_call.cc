#include "client/remote/state_call.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "halograph/v1/kv.pb.h"
#include "proto/state/tensor_messages.h"

namespace halograph {
namespace {

// Entries have up to so many bytes, so that a page fits into this client's messages, too.
constexpr int64_t kEntryBytes = 2048;
constexpr int64_t kMostOfAPage = 1024;

int PageSize(int64_t message_bytes) {
  return static_cast<int>(std::clamp<int64_t>(message_bytes / kEntryBytes, 1, kMostOfAPage));
}

// What it borrows lives as long as the calls.
Rpc PageCall(Cluster* cluster, const AskPages& ask, int server, int page_size,
             const std::string& token) {
  Rpc rpc;
  rpc.servers = {server};
  rpc.method = ask.method;
  rpc.make_request = [&ask, page_size, token] { return ask.make_request(page_size, token); };
  rpc.on_reply = [cluster, &ask, server, page_size, token](ReplyPieces pieces,
                                                           std::vector<Rpc>* more) {
    HG_ASSIGN_OR_RETURN(const std::string next, ask.on_page(pieces));
    if (next.empty()) return OkStatus();
    // A server that does not move on would be asked for ever.
    if (next == token) return DataLoss("a page of the list leads to itself");
    more->push_back(PageCall(cluster, ask, server, page_size, next));
    more->back().continues = true;
    return OkStatus();
  };
  rpc.on_error = [cluster](int asked, const Status& error, std::vector<Rpc>*) {
    return cluster->ExplainTooLarge(asked, error);
  };
  return rpc;
}

}  // namespace

Status AskAll(Cluster* cluster, const Ask& ask, CallContext& context) {
  HG_ASSIGN_OR_RETURN(const std::vector<int> servers, cluster->StateServers());
  std::vector<Rpc> calls(servers.size());
  Status missing;
  size_t missing_at = 0;
  for (size_t i = 0; i < servers.size(); ++i) {
    calls[i].servers = {servers[i]};
    calls[i].method = ask.method;
    calls[i].make_request = [&ask] { return ask.request; };
    calls[i].on_reply = [](ReplyPieces, std::vector<Rpc>*) { return OkStatus(); };
    if (ask.missing == IfMissing::kIsAnError) continue;
    calls[i].done_before = absl::StatusCode::kNotFound;
    calls[i].on_error = [&](int, const Status& error, std::vector<Rpc>*) {
      if (!absl::IsNotFound(error)) return error;
      missing = error;
      ++missing_at;
      return OkStatus();
    };
  }
  HG_RETURN_IF_ERROR(cluster->rpc().Run(context, std::move(calls)));
  return missing_at == servers.size() ? missing : OkStatus();
}

Status AskAllPages(Cluster* cluster, const AskPages& ask, CallContext& context) {
  HG_ASSIGN_OR_RETURN(const std::vector<int> servers, cluster->StateServers());
  const int page_size = PageSize(cluster->rpc().options().max_message_bytes);
  std::vector<Rpc> calls;
  calls.reserve(servers.size());
  for (const int server : servers) calls.push_back(PageCall(cluster, ask, server, page_size, ""));
  return cluster->rpc().Run(context, std::move(calls));
}

StatusOr<std::map<int, StateStats>> ReadStates(Cluster* cluster, CallContext& context) {
  Mutex mutex;
  std::map<int, StateStats> states;
  AskPages ask{.method = Method::kListTensors};
  ask.make_request = [](int page_size, const std::string& token) {
    v1::ListTensorsRequest request;
    request.set_page_size(page_size);
    request.set_page_token(token);
    return request.SerializeAsString();
  };
  ask.on_page = [&](ReplyPieces pieces) -> StatusOr<std::string> {
    v1::ListTensorsReply reply;
    HG_RETURN_IF_ERROR(ParseReply(pieces, &reply));
    const MutexLock lock(mutex);
    for (const v1::PartState& part : reply.parts()) {
      HG_ASSIGN_OR_RETURN(StateStats page, ToStats(part));
      StateStats& state = states[static_cast<int>(part.part())];
      std::vector<MutableTensorStats> tensors = std::move(state.tensors);
      std::move(page.tensors.begin(), page.tensors.end(), std::back_inserter(tensors));
      state = std::move(page);
      state.tensors = std::move(tensors);
    }
    return std::move(*reply.mutable_next_page_token());
  };
  HG_RETURN_IF_ERROR(AskAllPages(cluster, ask, context));
  for (int part = 0; part < cluster->info().book.num_parts(); ++part) {
    if (states.contains(part)) continue;
    return DataLoss(
        "no server described its tensors of partition {}: are all servers of one version?", part);
  }
  return states;
}

Status FindTensors(Cluster* cluster, std::span<const RowRequest> requests, CallContext& context) {
  const bool all = std::all_of(requests.begin(), requests.end(), [&](const RowRequest& request) {
    return cluster->tensors().Find(request.tensor).ok();
  });
  // Where no tensors are kept, what is unknown is unknown.
  if (all || !cluster->StateServers().ok()) return OkStatus();
  CallContext inner = InnerContext(context);
  HG_ASSIGN_OR_RETURN(const auto states, ReadStates(cluster, inner));
  for (const auto& [part, state] : states) {
    for (const MutableTensorStats& tensor : state.tensors) {
      HG_RETURN_IF_ERROR(cluster->mutable_tensors().Put(tensor.spec));
    }
  }
  return OkStatus();
}

void ForgetTensors(Cluster* cluster, std::span<const RowRequest> requests, const Status& error) {
  if (absl::IsCancelled(error) || absl::IsDeadlineExceeded(error) || absl::IsUnavailable(error)) {
    return;
  }
  for (const RowRequest& request : requests) cluster->mutable_tensors().Remove(request.tensor);
}

}  // namespace halograph
