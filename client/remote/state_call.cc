#include "client/remote/state_call.h"

#include <algorithm>
#include <utility>

#include "halograph/v1/kv.pb.h"
#include "proto/state/tensor_messages.h"

namespace halograph {

Status AskAll(Cluster* cluster, const Ask& ask, CallContext& context) {
  HG_ASSIGN_OR_RETURN(const std::vector<int> servers, cluster->StateServers());
  std::vector<Rpc> calls(servers.size());
  Status missing;
  size_t missing_at = 0;
  for (size_t i = 0; i < servers.size(); ++i) {
    calls[i].servers = {servers[i]};
    calls[i].method = ask.method;
    calls[i].make_request = [&ask] { return ask.request; };
    calls[i].on_reply = [&ask](ReplyPieces pieces, std::vector<Rpc>*) {
      return ask.on_reply ? ask.on_reply(pieces) : OkStatus();
    };
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

StatusOr<std::map<int, StateStats>> ReadStates(Cluster* cluster, CallContext& context) {
  Mutex mutex;
  std::map<int, StateStats> states;
  const auto take = [&](const v1::ListTensorsReply& reply) {
    for (const v1::PartState& part : reply.parts()) {
      HG_ASSIGN_OR_RETURN(states[static_cast<int>(part.part())], ToStats(part));
    }
    return OkStatus();
  };
  HG_RETURN_IF_ERROR(AskAll(cluster,
                            {.method = Method::kListTensors,
                             .request = "",
                             .on_reply = Reading<v1::ListTensorsReply>(&mutex, take)},
                            context));
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
