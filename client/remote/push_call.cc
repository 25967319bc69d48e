#include "client/remote/push_call.h"

#include <algorithm>
#include <utility>

#include "client/push_plan.h"
#include "client/remote/state_call.h"
#include "proto/wire/push.h"

namespace halograph {
namespace {

// Messages to one partition that are under way together at most: as many again may be.
constexpr size_t kMessagesARound = kPushWindow / 2;
// What a message takes beside its rows, ids and names, at most.
constexpr size_t kPushHeaderBytes = 1024;

class PushCalls {
 public:
  PushCalls(Cluster* cluster, PushClients* clients, const RowPush& push, size_t row_bytes)
      : cluster_(*cluster),
        served_(cluster->served()),
        clients_(*clients),
        push_(push),
        row_bytes_(row_bytes),
        mark_(static_cast<size_t>(cluster->info().book.num_parts()), 0),
        sent_(mark_.size(), 0) {}

  [[nodiscard]] StatusOr<PushMark> Run(const MutableTensor& tensor, CallContext& context);

 private:
  // One message under way.
  struct Sent {
    const PushMessage* message = nullptr;
    PushClients::Numbers numbers;
    uint64_t sequence = 0;
    int64_t lsn = 0;
  };

  [[nodiscard]] bool Left() const {
    for (size_t part = 0; part < sent_.size(); ++part) {
      if (NextCount(part) > 0) return true;
    }
    return false;
  }
  // How many messages to a partition the next round has.
  [[nodiscard]] size_t NextCount(size_t part) const;
  [[nodiscard]] Status Round(CallContext& context);
  [[nodiscard]] Rpc ToRpc(Sent* sent) const;
  [[nodiscard]] std::string MakeRequest(const Sent& sent) const;

  Cluster& cluster_;
  const std::shared_ptr<const ServedParts> served_;
  PushClients& clients_;
  const RowPush& push_;
  const size_t row_bytes_;
  std::vector<ReplicaSet> owners_;  // by part
  PushPlan plan_;
  PushMark mark_;
  std::vector<size_t> sent_;  // messages, by partition
};

StatusOr<PushMark> PushCalls::Run(const MutableTensor& tensor, CallContext& context) {
  int64_t planned = cluster_.rpc().options().max_message_bytes;
  for (int part = 0; part < static_cast<int>(sent_.size()); ++part) {
    HG_ASSIGN_OR_RETURN(owners_.emplace_back(), served_->OwnerSet(part));
    planned = std::min(planned, owners_.back().planned_bytes);
  }
  const size_t names = push_.tensor.type.size() + push_.tensor.name.size();
  const int64_t rows = (planned - static_cast<int64_t>(kPushHeaderBytes + names)) /
                       static_cast<int64_t>(row_bytes_ + sizeof(int64_t));
  if (rows < 1) {
    return ResourceExhausted(
        "{}: one row has {} bytes, {} fit into a message; raise --max-message-bytes of client and "
        "server",
        push_.tensor.ToString(), row_bytes_, planned);
  }
  HG_RETURN_IF_ERROR(plan_.Make(tensor, push_, [rows](int) { return rows; }));
  CallContext inner = InnerContext(context, context.meanwhile);
  int rounds = 0;
  for (; Left(); ++rounds) {
    HG_RETURN_IF_ERROR(Round(inner));
    inner.meanwhile = nullptr;  // once a call
  }
  if (rounds == 0 && context.meanwhile) context.meanwhile();
  context.stats.rounds += rounds > 0 ? kRoundsOfAnExchange : 0;
  context.stats.remote_bytes += static_cast<int64_t>(push_.rows.size());
  return std::move(mark_);
}

size_t PushCalls::NextCount(size_t part) const {
  const size_t all = plan_.messages()[part].size();
  // The first message of a run is answered before the next one is sent (SyncStep), and whether this
  // is one only the owner knows.
  if (push_.step.has_value() && sent_[part] == 0) return std::min<size_t>(all, 1);
  return std::min(all - sent_[part], kMessagesARound);
}

Status PushCalls::Round(CallContext& context) {
  std::vector<PushClients::Numbers> taken;
  std::vector<Sent> under_way;
  Status status;
  for (size_t part = 0; part < sent_.size() && status.ok(); ++part) {
    const size_t count = NextCount(part);
    if (count == 0) continue;
    const auto numbers =
        clients_.Take(static_cast<int>(part), static_cast<int>(count), context.limits());
    status = numbers.status();
    if (!status.ok()) break;
    taken.push_back(*numbers);
    for (size_t i = 0; i < count; ++i) {
      under_way.push_back({.message = &plan_.messages()[part][sent_[part] + i],
                           .numbers = *numbers,
                           .sequence = numbers->first + i});
    }
    sent_[part] += count;
  }
  std::vector<Rpc> calls;
  for (size_t i = 0; i < under_way.size() && status.ok(); ++i) {
    calls.push_back(ToRpc(&under_way[i]));
  }
  if (status.ok()) status = cluster_.rpc().Run(context, std::move(calls));
  for (const PushClients::Numbers& numbers : taken) {
    status.ok() ? clients_.Answered(numbers) : clients_.GiveUp(numbers);
  }
  HG_RETURN_IF_ERROR(status);
  for (const Sent& sent : under_way) {
    int64_t& lsn = mark_[static_cast<size_t>(sent.message->part)];
    lsn = std::max(lsn, sent.lsn);
  }
  return OkStatus();
}

Rpc PushCalls::ToRpc(Sent* sent) const {
  Rpc rpc;
  const ReplicaSet& owner = owners_[static_cast<size_t>(sent->message->part)];
  rpc.servers = owner.servers;
  rpc.serves = owner.name;
  rpc.method = "KVService/Push";
  rpc.make_request = [this, sent] { return MakeRequest(*sent); };
  rpc.on_reply = [this, sent](ReplyPieces pieces, std::vector<Rpc>*) {
    HG_ASSIGN_OR_RETURN(const wire::PushReply reply, wire::ReadPushReply(pieces));
    sent->lsn = reply.lsn;
    return clients_.Acknowledge(sent->numbers, push_.tensor, reply.lsn);
  };
  return rpc;
}

std::string PushCalls::MakeRequest(const Sent& sent) const {
  const PushMessage& message = *sent.message;
  wire::PushHeader header{.edge = push_.tensor.edge,
                          .type = push_.tensor.type,
                          .name = push_.tensor.name,
                          .part = static_cast<uint32_t>(message.part),
                          .kind = static_cast<uint32_t>(push_.kind),
                          .client = sent.numbers.client,
                          .sequence = sent.sequence,
                          .step = {},
                          .dtype = static_cast<uint32_t>(push_.dtype)};
  if (push_.step.has_value()) {
    header.step = wire::PushStep{.step = push_.step->step,
                                 .rank = push_.step->rank,
                                 .world_size = push_.step->world_size,
                                 .run = push_.step->run,
                                 .chunk = message.chunk,
                                 .chunks = message.chunks};
  }
  return wire::WritePushRequest(header, {.ids = message.ids,
                                         .positions = message.positions,
                                         .rows = push_.rows.data(),
                                         .row_bytes = row_bytes_});
}

}  // namespace

StatusOr<PushMark> PushRemotely(Cluster* cluster, PushClients* clients, const RowPush& push,
                                CallContext& context) {
  HG_RETURN_IF_ERROR(context.Check());
  const RowRequest request{.tensor = push.tensor};
  HG_RETURN_IF_ERROR(FindTensors(cluster, {&request, 1}, context));
  const MutableTensor* const tensor = cluster->tensors().FindMutable(push.tensor);
  if (tensor == nullptr) {
    HG_RETURN_IF_ERROR(cluster->StateServers().status());
    return NotFound("{}: no such mutable tensor; there are: {}", push.tensor.ToString(),
                    cluster->tensors().Names());
  }
  if (Status checked = CheckPush(*tensor, push); !checked.ok()) {
    ForgetTensors(cluster, {&request, 1}, checked);
    return checked;
  }
  PushCalls calls(cluster, clients, push, PushedRowBytes(tensor->spec, push.kind, push.dtype));
  StatusOr<PushMark> mark = calls.Run(*tensor, context);
  if (!mark.ok()) ForgetTensors(cluster, {&request, 1}, mark.status());
  return mark;
}

}  // namespace halograph
