#include "client/remote/pull_call.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "client/remote/state_call.h"
#include "common/graph/owner_split.h"
#include "proto/wire/pull.h"

namespace halograph {

namespace {

// Below this a call costs more than its bytes; above 4 MB nothing is gained (GRPC.md).
constexpr int64_t kSmallestReply = int64_t{256} << 10;
constexpr int64_t kLargestReply = int64_t{4} << 20;
constexpr int64_t kHeaderBytes = 64;

// The rows of a request that one set of servers has: `positions` empty means consecutive from the
// first on.
struct Share {
  const ReplicaSet* set;
  std::span<const int64_t> ids;
  std::span<const int64_t> positions;
  int64_t min_lsn = 0;  // of a mutable tensor, of one part
};

class PullCalls {
 public:
  explicit PullCalls(Cluster* cluster) : cluster_(*cluster), served_(cluster->served()) {}

  // Both outlive the calls, as this does.
  [[nodiscard]] Status Add(const RowRequest& request, const CatalogTensor& tensor);
  [[nodiscard]] Status Add(const RowRequest& request, const MutableTensor& tensor);
  [[nodiscard]] std::vector<Rpc> Take() { return std::move(calls_); }

 private:
  [[nodiscard]] Status AddShare(const RowRequest& request, const TensorSpec& spec,
                                const Share& share);
  [[nodiscard]] Rpc ToRpc(const TensorRef& tensor, const TensorSpec& spec, const Share& share,
                          std::byte* out) const;

  Cluster& cluster_;
  const std::shared_ptr<const ServedParts> served_;
  std::deque<OwnerSplit> splits_;      // of requests that several sets of servers answer
  std::deque<PartSplit> part_splits_;  // of mutable tensors
  std::deque<ReplicaSet> owners_;      // of their parts
  std::vector<Rpc> calls_;
};

Status PullCalls::Add(const RowRequest& request, const CatalogTensor& tensor) {
  const TensorSpec& spec = tensor.resolved.spec;
  const std::vector<ReplicaSet>& sets = served_->features().sets;
  if (sets.size() == 1) return AddShare(request, spec, {&sets[0], request.ids, request.positions});
  OwnerSplit& split = splits_.emplace_back();
  const int without = split.Split(tensor.boundaries, served_->features().set_of_part,
                                  static_cast<int>(sets.size()), request.ids, request.positions);
  if (without >= 0) return Internal("no server has the features of part {}", without);
  for (size_t set = 0; set < sets.size(); ++set) {
    const IdShare& share = split.shares()[set];
    HG_RETURN_IF_ERROR(AddShare(request, spec, {&sets[set], share.ids, share.positions}));
  }
  return OkStatus();
}

Status PullCalls::Add(const RowRequest& request, const MutableTensor& tensor) {
  PartSplit& split = part_splits_.emplace_back();
  split.Split(tensor, request.ids, request.positions);
  for (size_t part = 0; part < split.shares().size(); ++part) {
    const IdShare& share = split.shares()[part];
    if (share.ids.empty() && !request.ids.empty()) continue;
    HG_ASSIGN_OR_RETURN(ReplicaSet owner, served_->OwnerSet(static_cast<int>(part)));
    owners_.push_back(std::move(owner));
    const int64_t min_lsn = request.after.empty() ? 0 : request.after[part];
    HG_RETURN_IF_ERROR(AddShare(request, tensor.resolved.spec,
                                {&owners_.back(), share.ids, share.positions, min_lsn}));
  }
  return OkStatus();
}

Status PullCalls::AddShare(const RowRequest& request, const TensorSpec& spec, const Share& share) {
  const int64_t planned = share.set->planned_bytes;
  const size_t row_bytes = spec.row_bytes();
  if (static_cast<int64_t>(row_bytes) + kHeaderBytes > planned) {
    return ResourceExhausted(
        "{}: KVService/Pull: one row of {} has {} bytes, {} fit into a message; raise "
        "--max-message-bytes of client and server",
        served_->Addresses(*share.set), request.tensor.ToString(), row_bytes, planned);
  }
  const auto rows = static_cast<int64_t>(share.ids.size());
  const auto per_call = static_cast<size_t>(
      RowsPerCall(rows, row_bytes, planned, cluster_.rpc().options().calls_in_flight));
  const bool scattered = !share.positions.empty();
  for (size_t begin = 0; begin < share.ids.size(); begin += per_call) {
    const size_t count = std::min(per_call, share.ids.size() - begin);
    const Share part{share.set, share.ids.subspan(begin, count),
                     scattered ? share.positions.subspan(begin, count) : share.positions,
                     share.min_lsn};
    calls_.push_back(ToRpc(request.tensor, spec, part,
                           request.out.data() + (scattered ? 0 : begin * row_bytes)));
  }
  return OkStatus();
}

Rpc PullCalls::ToRpc(const TensorRef& tensor, const TensorSpec& spec, const Share& share,
                     std::byte* out) const {
  Rpc rpc = RpcTo(*share.set, Method::kPull);
  rpc.awaits_pushes = share.min_lsn > 0;
  rpc.make_request = [&tensor, ids = share.ids, min_lsn = share.min_lsn] {
    return wire::WritePullRequest(tensor.edge, tensor.type, tensor.name, ids, min_lsn);
  };
  rpc.on_reply = [&spec, share, out](ReplyPieces pieces, std::vector<Rpc>*) {
    const int64_t shape[] = {std::ssize(share.ids), spec.dim};
    const wire::PullReplyExpected expected{
        .dtype = static_cast<uint32_t>(spec.dtype),
        .dtype_name = DTypeName(spec.dtype),
        .shape = std::span(shape).first(static_cast<size_t>(spec.rank)),
        .row_bytes = spec.row_bytes()};
    return wire::ReadPullReply(pieces, expected, share.positions, out);
  };
  return rpc;
}

}  // namespace

int64_t RowsPerCall(int64_t rows, size_t row_bytes, int64_t planned_bytes, int calls_in_flight) {
  const int64_t row = std::max<int64_t>(1, static_cast<int64_t>(row_bytes));
  // Two rounds of calls keep all of them busy to the end.
  const int64_t even = rows / (int64_t{2} * calls_in_flight) + 1;
  const int64_t bytes = std::clamp(even * row, kSmallestReply, kLargestReply);
  const int64_t fitting = std::min((std::min(bytes, planned_bytes) - kHeaderBytes) / row,
                                   (planned_bytes - 1024) / int64_t{sizeof(int64_t)});
  return std::max<int64_t>(1, fitting);
}

namespace {

// The calls, and the bytes that they bring.
struct PlannedPull {
  std::shared_ptr<PullCalls> calls;
  std::vector<size_t> row_bytes = {};  // of each request
  int64_t bytes = 0;
  bool asks = false;
};

StatusOr<PlannedPull> PlanPull(Cluster* cluster, std::span<const RowRequest> requests,
                               CallContext& context) {
  for (const RowRequest& request : requests) {
    HG_RETURN_IF_ERROR(cluster->push_clients().Check(request.after));
  }
  HG_RETURN_IF_ERROR(context.Check());
  HG_RETURN_IF_ERROR(FindTensors(cluster, requests, context));
  const auto checked = CheckPull(cluster->tensors(), requests);
  if (!checked.ok()) {
    ForgetTensors(cluster, requests, checked.status());
    return checked.status();
  }
  const std::vector<const CatalogTensor*>& tensors = *checked;
  PlannedPull plan{.calls = std::make_shared<PullCalls>(cluster)};
  for (size_t i = 0; i < requests.size(); ++i) {
    const MutableTensor* const changing = MutableCatalog::AsMutable(tensors[i]);
    HG_RETURN_IF_ERROR(changing == nullptr ? plan.calls->Add(requests[i], *tensors[i])
                                           : plan.calls->Add(requests[i], *changing));
    plan.row_bytes.push_back(tensors[i]->resolved.spec.row_bytes());
    plan.bytes += static_cast<int64_t>(requests[i].ids.size() * plan.row_bytes.back());
    plan.asks = plan.asks || !requests[i].ids.empty();
  }
  return plan;
}

}  // namespace

void StartPullRemotely(Cluster* cluster, std::span<const RowRequest> requests, CallContext& context,
                       StatusDone done) {
  StatusOr<PlannedPull> plan = CatchNoMemory(std::ssize(requests), "requests",
                                             [&] { return PlanPull(cluster, requests, context); });
  if (!plan.ok() || !plan->asks) return done(plan.status());
  StatusDone answered = [=, &context, calls = plan->calls, bytes = plan->bytes,
                         row_bytes = plan->row_bytes, done = std::move(done)](Status status) {
    if (status.ok()) {
      for (size_t i = 0; i < requests.size(); ++i) {
        context.Pulled(requests[i].tensor, PulledFrom::kRemote, requests[i].ids.size(),
                       row_bytes[i]);
      }
      context.stats.remote_bytes += bytes;
      context.stats.rounds += kRoundsOfAnExchange;
    } else {
      ForgetTensors(cluster, requests, status);
    }
    done(std::move(status));
  };
  cluster->rpc().Start(context, plan->calls->Take(), Posted(context, std::move(answered)));
}

}  // namespace halograph
