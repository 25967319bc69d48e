#include "client/remote/remote_tensor_admin.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include <fmt/ranges.h>

#include "client/remote/state_call.h"
#include "client/snapshot_reader.h"
#include "common/state/import_mark.h"
#include "halograph/v1/kv.pb.h"
#include "proto/state/tensor_messages.h"
#include "proto/wire/snapshot_page.h"

namespace halograph {
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
    call.method = Method::kDeleteSnapshot;
    call.make_request = [&request] { return request.SerializeAsString(); };
    call.on_reply = [](ReplyPieces, std::vector<Rpc>*) { return OkStatus(); };
    // What stays is listed, and may be deleted: the first error is the one that matters.
    call.on_error = [](int, const Status&, std::vector<Rpc>*) { return OkStatus(); };
  }
  CallContext context;  // the caller's may be at its end
  static_cast<void>(cluster->rpc().Run(context, std::move(calls)).ok());
}

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
    rpc.method = Method::kReadSnapshot;
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

class RemoteTensorAdmin final : public TensorAdmin {
 public:
  explicit RemoteTensorAdmin(std::shared_ptr<Cluster> cluster) : cluster_(std::move(cluster)) {}

  Status Create(const MutableTensorSpec& spec, CallContext& context) override {
    HG_RETURN_IF_ERROR(spec.Validate());
    v1::CreateTensorRequest request;
    ToProto(spec, request.mutable_spec());
    request.set_of_import(IsImportMark(spec.ref));
    HG_RETURN_IF_ERROR(
        AskAll(cluster_.get(),
               {.method = Method::kCreateTensor, .request = request.SerializeAsString()}, context));
    return cluster_->mutable_tensors().Put(spec);
  }
  Status Drop(const TensorRef& ref, CallContext& context) override {
    v1::DropTensorRequest request;
    request.set_edge(ref.edge);
    request.set_type(ref.type);
    request.set_name(ref.name);
    request.set_of_import(IsImportMark(ref));
    cluster_->mutable_tensors().Remove(ref);
    const Status dropped = AskAll(cluster_.get(),
                                  {.method = Method::kDropTensor,
                                   .request = request.SerializeAsString(),
                                   .missing = IfMissing::kIsFineIfOthersHaveIt},
                                  context);
    if (dropped.ok() || absl::IsNotFound(dropped)) cluster_->push_clients().Forget(ref);
    return dropped;
  }
  StatusOr<std::vector<MutableTensorState>> List(CallContext& context) override {
    HG_ASSIGN_OR_RETURN(const auto states, ReadStates(cluster_.get(), context));
    HG_ASSIGN_OR_RETURN(std::vector<MutableTensorState> tensors, MergeTensors(states));
    for (const MutableTensorState& tensor : tensors) {
      HG_RETURN_IF_ERROR(cluster_->mutable_tensors().Put(tensor.spec));
    }
    return tensors;
  }

  Status Snapshot(const std::string& name, std::optional<int64_t> step,
                  CallContext& context) override;
  StatusOr<std::map<int, std::vector<SnapshotInfo>>> ListSnapshots(CallContext& context) override {
    v1::ListSnapshotsRequest request;
    request.set_without_tensors(true);
    return ReadSnapshots(std::move(request), context);
  }
  StatusOr<std::map<int, SnapshotInfo>> DescribeSnapshot(const std::string& name,
                                                         CallContext& context) override;
  // FailedPrecondition also if a server cannot read snapshots yet.
  StatusOr<int64_t> ReadSnapshot(const std::string& name, const MutableTensorSpec& spec,
                                 const TakeImages& take, CallContext& context) override;
  Status DeleteSnapshot(const std::string& name, CallContext& context) override {
    v1::DeleteSnapshotRequest request;
    request.set_name(name);
    return AskAll(cluster_.get(),
                  {.method = Method::kDeleteSnapshot,
                   .request = request.SerializeAsString(),
                   .missing = IfMissing::kIsFineIfOthersHaveIt},
                  context);
  }
  // The message of NotFound has the partitions.
  Status RestoreSnapshot(const std::string& name, CallContext& context) override;

 private:
  // What the request asks for, of every partition; an older server tells more.
  StatusOr<std::map<int, std::vector<SnapshotInfo>>> ReadSnapshots(v1::ListSnapshotsRequest request,
                                                                   CallContext& context) const;

  const std::shared_ptr<Cluster> cluster_;
};

Status RemoteTensorAdmin::Snapshot(const std::string& name, std::optional<int64_t> step,
                                   CallContext& context) {
  HG_ASSIGN_OR_RETURN(const std::vector<int> servers, cluster_->StateServers());
  v1::SnapshotTensorsRequest request;
  request.set_name(name);
  if (step.has_value()) request.set_step(*step);
  std::vector<char> made(servers.size(), 0);  // written by several threads
  Status failed;
  std::vector<Rpc> calls(servers.size());
  for (size_t i = 0; i < servers.size(); ++i) {
    calls[i].servers = {servers[i]};
    calls[i].method = Method::kSnapshotTensors;
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
  const Status run = cluster_->rpc().Run(context, std::move(calls));
  if (failed.ok()) failed = run;
  if (!failed.ok()) DeleteMade(cluster_.get(), name, servers, made);
  return failed;
}

StatusOr<std::map<int, SnapshotInfo>> RemoteTensorAdmin::DescribeSnapshot(const std::string& name,
                                                                          CallContext& context) {
  v1::ListSnapshotsRequest request;
  request.set_name(name);
  HG_ASSIGN_OR_RETURN(auto snapshots, ReadSnapshots(std::move(request), context));
  std::map<int, SnapshotInfo> told;
  for (auto& [part, kept] : snapshots) {
    for (SnapshotInfo& info : kept) {
      if (info.name == name) told.emplace(part, std::move(info));
    }
  }
  return told;
}

StatusOr<std::map<int, std::vector<SnapshotInfo>>> RemoteTensorAdmin::ReadSnapshots(
    v1::ListSnapshotsRequest request, CallContext& context) const {
  Mutex mutex;
  std::map<int, std::vector<SnapshotInfo>> snapshots;
  for (int part = 0; part < cluster_->info().book.num_parts(); ++part) snapshots[part] = {};
  AskPages ask{.method = Method::kListSnapshots};
  ask.make_request = [&request](int page_size, const std::string& token) {
    v1::ListSnapshotsRequest of_page = request;
    of_page.set_page_size(page_size);
    of_page.set_page_token(token);
    return of_page.SerializeAsString();
  };
  ask.on_page = [&](ReplyPieces pieces) -> StatusOr<std::string> {
    v1::ListSnapshotsReply reply;
    HG_RETURN_IF_ERROR(ParseReply(pieces, &reply));
    const MutexLock lock(mutex);
    for (const v1::PartSnapshot& snapshot : reply.snapshots()) {
      HG_ASSIGN_OR_RETURN(SnapshotInfo info, ToInfo(snapshot));
      std::vector<SnapshotInfo>& of_part = snapshots[static_cast<int>(snapshot.part())];
      if (!of_part.empty() && of_part.back().name == info.name) {  // it goes on
        std::move(info.tensors.begin(), info.tensors.end(),
                  std::back_inserter(of_part.back().tensors));
      } else {
        of_part.push_back(std::move(info));
      }
    }
    return std::move(*reply.mutable_next_page_token());
  };
  HG_RETURN_IF_ERROR(AskAllPages(cluster_.get(), ask, context));
  return snapshots;
}

StatusOr<int64_t> RemoteTensorAdmin::ReadSnapshot(const std::string& name,
                                                  const MutableTensorSpec& spec,
                                                  const TakeImages& take, CallContext& context) {
  const GraphInfo& info = cluster_->info();
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<SnapshotReader> reader,
                      SnapshotReader::Make(spec, info.schema, info.book, &take));
  const auto served = cluster_->served();
  std::deque<PageCalls> parts;
  std::vector<Rpc> calls;
  for (int part = 0; part < info.book.num_parts(); ++part) {
    HG_ASSIGN_OR_RETURN(const ReplicaSet owner, served->OwnerSet(part));
    if (!served->Knows(owner.servers[0], RowOf(Method::kReadSnapshot).capability)) {
      return cluster_->TooOld(owner.servers[0], "what a snapshot holds");
    }
    parts.emplace_back(name, spec.ref, part, owner.servers[0], owner.planned_bytes, reader.get());
    calls.push_back(parts.back().Next());
  }
  HG_RETURN_IF_ERROR(cluster_->rpc().Run(context, std::move(calls)));
  return reader->step();
}

Status RemoteTensorAdmin::RestoreSnapshot(const std::string& name, CallContext& context) {
  HG_ASSIGN_OR_RETURN(const auto snapshots, ListSnapshots(context));
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
  cluster_->mutable_tensors().KeepOnly({});
  HG_RETURN_IF_ERROR(AskAll(
      cluster_.get(), {.method = Method::kRestoreSnapshot, .request = request.SerializeAsString()},
      context));
  cluster_->push_clients().ForgetAll();
  return OkStatus();
}

}  // namespace

std::unique_ptr<TensorAdmin> MakeRemoteTensorAdmin(std::shared_ptr<Cluster> cluster) {
  return std::make_unique<RemoteTensorAdmin>(std::move(cluster));
}

}  // namespace halograph
