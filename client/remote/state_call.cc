#include "client/remote/state_call.h"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/ranges.h>

#include "client/remote/message_io.h"
#include "client/snapshot_reader.h"
#include "halograph/v1/kv.pb.h"
#include "proto/state/tensor_messages.h"
#include "proto/wire/capabilities.h"
#include "proto/wire/snapshot_page.h"

namespace halograph {
namespace {

// What a tensor or snapshot that a server does not have means to a call that removes it, unless the
// call has removed it before, and the answer was lost.
enum class IfMissing { kIsAnError, kIsFineIfOthersHaveIt };

// Asks every server that keeps tensors the same; `on_reply`, if set, reads the answers, maybe
// several at once.
struct Ask {
  std::string_view method;
  std::string request;
  std::function<Status(ReplyPieces)> on_reply = {};
  IfMissing missing = IfMissing::kIsAnError;
};

Status AskAll(Cluster* cluster, Ask ask, CallContext& context) {
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

// Replies of several servers are read at once: what they say is put together under a lock.
template <typename Reply, typename Take>
std::function<Status(ReplyPieces)> Reading(Mutex* mutex, Take take) {
  return [mutex, take](ReplyPieces pieces) {
    Reply reply;
    HG_RETURN_IF_ERROR(ParseReply(pieces, &reply));
    const MutexLock lock(*mutex);
    return take(reply);
  };
}

// What was said of partitions, if it was said of each once.
template <typename Value>
Status CheckParts(const Cluster& cluster, const std::map<int, Value>& by_part) {
  for (int part = 0; part < cluster.info().book.num_parts(); ++part) {
    if (by_part.count(part) == 0)
      return DataLoss(
          "no server described its tensors of partition {}: "
          "are all servers of one version?",
          part);
  }
  return OkStatus();
}

}  // namespace

Status CreateRemotely(Cluster* cluster, const MutableTensorSpec& spec, CallContext& context) {
  HG_RETURN_IF_ERROR(spec.Validate());
  v1::CreateTensorRequest request;
  ToProto(spec, request.mutable_spec());
  HG_RETURN_IF_ERROR(
      AskAll(cluster, {.method = "KVService/CreateTensor", .request = request.SerializeAsString()},
             context));
  return cluster->mutable_tensors().Put(spec);
}

Status DropRemotely(Cluster* cluster, const TensorRef& ref, CallContext& context) {
  v1::DropTensorRequest request;
  request.set_edge(ref.edge);
  request.set_type(ref.type);
  request.set_name(ref.name);
  cluster->mutable_tensors().Remove(ref);
  return AskAll(cluster,
                {.method = "KVService/DropTensor",
                 .request = request.SerializeAsString(),
                 .missing = IfMissing::kIsFineIfOthersHaveIt},
                context);
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
                            {.method = "KVService/ListTensors",
                             .request = "",
                             .on_reply = Reading<v1::ListTensorsReply>(&mutex, take)},
                            context));
  HG_RETURN_IF_ERROR(CheckParts(*cluster, states));
  return states;
}

StatusOr<std::vector<MutableTensorState>> ListRemotely(Cluster* cluster, CallContext& context) {
  HG_ASSIGN_OR_RETURN(const auto states, ReadStates(cluster, context));
  HG_ASSIGN_OR_RETURN(std::vector<MutableTensorState> tensors, MergeTensors(states));
  for (const MutableTensorState& tensor : tensors) {
    HG_RETURN_IF_ERROR(cluster->mutable_tensors().Put(tensor.spec));
  }
  return tensors;
}

Status FindTensors(Cluster* cluster, std::span<const RowRequest> requests, CallContext& context) {
  const bool all = std::all_of(requests.begin(), requests.end(), [&](const RowRequest& request) {
    return cluster->tensors().Find(request.tensor).ok();
  });
  // Where no tensors are kept, what is unknown is unknown.
  if (all || !cluster->StateServers().ok()) return OkStatus();
  CallContext inner = InnerContext(context, {});
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

namespace {

// Deletes what some servers made of a snapshot that others did not, as far as they can be reached:
// the name is free again.
void DeleteMade(Cluster* cluster, const std::string& name, const std::vector<int>& servers,
                const std::vector<char>& made) {
  v1::DeleteSnapshotRequest request;
  request.set_name(name);
  std::vector<Rpc> calls;
  for (size_t i = 0; i < servers.size(); ++i) {
    if (made[i] == 0) continue;
    Rpc& call = calls.emplace_back();
    call.servers = {servers[i]};
    call.method = "KVService/DeleteSnapshot";
    call.make_request = [&request] { return request.SerializeAsString(); };
    call.on_reply = [](ReplyPieces, std::vector<Rpc>*) { return OkStatus(); };
    // What stays is listed, and may be deleted: the first error is the one that matters.
    call.on_error = [](int, const Status&, std::vector<Rpc>*) { return OkStatus(); };
  }
  CallContext context;  // the caller's may be at its end
  static_cast<void>(cluster->rpc().Run(context, std::move(calls)).ok());
}

}  // namespace

Status SnapshotRemotely(Cluster* cluster, const std::string& name, std::optional<int64_t> step,
                        CallContext& context) {
  HG_ASSIGN_OR_RETURN(const std::vector<int> servers, cluster->StateServers());
  v1::SnapshotTensorsRequest request;
  request.set_name(name);
  if (step.has_value()) request.set_step(*step);
  std::vector<char> made(servers.size(), 0);  // written by several threads
  Status failed;
  std::vector<Rpc> calls(servers.size());
  for (size_t i = 0; i < servers.size(); ++i) {
    calls[i].servers = {servers[i]};
    calls[i].method = "KVService/SnapshotTensors";
    // Repeated, it would be refused for what the first one made.
    calls[i].retry.repeatable = false;
    calls[i].make_request = [&request] { return request.SerializeAsString(); };
    calls[i].on_reply = [&made, i](ReplyPieces, std::vector<Rpc>*) {
      made[i] = 1;
      return OkStatus();
    };
    // The others are waited for: what they made is known then.
    calls[i].on_error = [&failed](int, const Status& error, std::vector<Rpc>*) {
      if (failed.ok()) failed = error;
      return OkStatus();
    };
  }
  const Status run = cluster->rpc().Run(context, std::move(calls));
  if (failed.ok()) failed = run;
  if (!failed.ok()) DeleteMade(cluster, name, servers, made);
  return failed;
}

StatusOr<std::map<int, std::vector<SnapshotInfo>>> ReadSnapshots(Cluster* cluster,
                                                                 CallContext& context) {
  Mutex mutex;
  std::map<int, std::vector<SnapshotInfo>> snapshots;
  for (int part = 0; part < cluster->info().book.num_parts(); ++part) snapshots[part] = {};
  const auto take = [&](const v1::ListSnapshotsReply& reply) {
    for (const v1::PartSnapshot& snapshot : reply.snapshots()) {
      HG_ASSIGN_OR_RETURN(SnapshotInfo info, ToInfo(snapshot));
      snapshots[static_cast<int>(snapshot.part())].push_back(std::move(info));
    }
    return OkStatus();
  };
  HG_RETURN_IF_ERROR(AskAll(cluster,
                            {.method = "KVService/ListSnapshots",
                             .request = "",
                             .on_reply = Reading<v1::ListSnapshotsReply>(&mutex, take)},
                            context));
  return snapshots;
}

namespace {

// The pages of one partition, one after the other.
class PageCalls {
 public:
  PageCalls(const std::string& name, const TensorRef& ref, int part, int server, int64_t max_bytes,
            SnapshotReader* reader)
      : part_(part), server_(server), reader_(*reader) {
    request_.set_name(name);
    request_.set_part(static_cast<uint32_t>(part));
    request_.set_edge(ref.edge);
    request_.set_type(ref.type);
    request_.set_tensor(ref.name);
    request_.set_max_bytes(max_bytes);
  }
  // The call for the page that `request_` asks for.
  Rpc Next() {
    Rpc rpc;
    rpc.servers = {server_};
    rpc.method = "KVService/ReadSnapshot";
    rpc.make_request = [this] { return request_.SerializeAsString(); };
    rpc.on_reply = [this](ReplyPieces pieces, std::vector<Rpc>* more) {
      HG_ASSIGN_OR_RETURN(const wire::SnapshotPage page, wire::ReadSnapshotPage(pieces));
      HG_RETURN_IF_ERROR(reader_.Take(part_, page.rows, page.images, page.end.step));
      if (!page.end.next.has_value()) return OkStatus();
      HG_RETURN_IF_ERROR(GoOn(*page.end.next, !page.rows.empty()));
      more->push_back(Next());
      return OkStatus();
    };
    return rpc;
  }

 private:
  // A server that does not move on would be asked for ever.
  Status GoOn(const wire::PagePlace& next, bool rows) {
    if (next == place_ && !rows) {
      return DataLoss("snapshot {}: a page without rows leads to itself", request_.name());
    }
    place_ = next;
    v1::SnapshotPlace* const place = request_.mutable_place();
    place->set_file(next.file);
    place->set_offset(next.offset);
    place->set_section(next.section);
    place->set_row(next.row);
    return OkStatus();
  }

  const int part_;
  const int server_;
  SnapshotReader& reader_;
  v1::ReadSnapshotRequest request_;
  wire::PagePlace place_;
};

}  // namespace

StatusOr<int64_t> ReadSnapshotRemotely(Cluster* cluster, const std::string& name,
                                       const MutableTensorSpec& spec, const TakeImages& take,
                                       CallContext& context) {
  const GraphInfo& info = cluster->info();
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<SnapshotReader> reader,
                      SnapshotReader::Make(spec, info.schema, info.book, &take));
  const auto served = cluster->served();
  std::deque<PageCalls> parts;
  std::vector<Rpc> calls;
  for (int part = 0; part < info.book.num_parts(); ++part) {
    HG_ASSIGN_OR_RETURN(const ReplicaSet owner, served->OwnerSet(part));
    if (!served->Knows(owner.servers[0], wire::kReadSnapshot)) {
      return cluster->TooOld(owner.servers[0], "what a snapshot holds");
    }
    parts.emplace_back(name, spec.ref, part, owner.servers[0], owner.planned_bytes, reader.get());
    calls.push_back(parts.back().Next());
  }
  HG_RETURN_IF_ERROR(cluster->rpc().Run(context, std::move(calls)));
  return reader->step();
}

Status DeleteSnapshotRemotely(Cluster* cluster, const std::string& name, CallContext& context) {
  v1::DeleteSnapshotRequest request;
  request.set_name(name);
  return AskAll(cluster,
                {.method = "KVService/DeleteSnapshot",
                 .request = request.SerializeAsString(),
                 .missing = IfMissing::kIsFineIfOthersHaveIt},
                context);
}

Status RestoreSnapshotRemotely(Cluster* cluster, const std::string& name, CallContext& context) {
  HG_ASSIGN_OR_RETURN(const auto snapshots, ReadSnapshots(cluster, context));
  std::vector<int> without;
  for (const auto& [part, kept] : snapshots) {
    const bool has = std::any_of(kept.begin(), kept.end(),
                                 [&](const SnapshotInfo& info) { return info.name == name; });
    if (!has) without.push_back(part);
  }
  if (!without.empty()) {
    return NotFound("snapshot '{}': not in partition {} of {}; nothing was restored", name,
                    fmt::join(without, ", "), snapshots.size());
  }
  v1::RestoreSnapshotRequest request;
  request.set_name(name);
  // What this client knows of tensors may be wrong from here on.
  cluster->mutable_tensors().KeepOnly({});
  return AskAll(cluster,
                {.method = "KVService/RestoreSnapshot", .request = request.SerializeAsString()},
                context);
}

}  // namespace halograph
