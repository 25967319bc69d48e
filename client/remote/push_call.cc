#include "client/remote/push_call.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "client/push_plan.h"
#include "client/remote/register_call.h"
#include "client/remote/state_call.h"
#include "proto/wire/capabilities.h"
#include "proto/wire/push.h"

namespace halograph {
namespace {

// Messages to one partition that are under way together at most, unless the call begins more pushes
// than that: half of the window, so that those of another call fit beside them.
constexpr size_t kMessagesARound = kPushWindow / 2;
// What a message takes beside its rows, ids and names, at most.
constexpr size_t kPushHeaderBytes = 1024;

// One of the call's pushes.
struct PushedTensor {
  const RowPush* push = nullptr;
  size_t row_bytes = 0;
  PushPlan plan = {};
  PushMark mark = {};
  std::vector<size_t> sent = {};  // messages, by partition
  Status status = OkStatus();     // after an error no more are sent

  [[nodiscard]] size_t left(size_t part) const {
    return status.ok() ? plan.messages()[part].size() - sent[part] : 0;
  }
};

// Round after round, until all that could be sent was answered.
class PushCalls : public std::enable_shared_from_this<PushCalls> {
 public:
  PushCalls(Cluster* cluster, std::span<const RowPush> pushes, CallContext* context,
            RowStore::PushDone done)
      : cluster_(*cluster),
        served_(cluster->served()),
        clients_(cluster->push_clients()),
        pushes_(pushes),
        context_(*context),
        done_(std::move(done)) {}

  // `done` gets the first error of the pushes.
  void Start(std::span<const MutableTensor* const> tensors) {
    const Status planned = Plan(tensors);
    planned.ok() ? GoOn(planned) : done_(planned);
  }

 private:
  // One message under way.
  struct Sent {
    PushedTensor* of = nullptr;
    const PushMessage* message = nullptr;
    bool first = false;  // of its push to this partition
    PushClients::Numbers numbers = {};
    uint64_t sequence = 0;
    int64_t lsn = 0;          // 0: it is not acknowledged
    bool maybe_done = false;  // an attempt before the last may have been applied
    bool unknown = false;     // the part knows its client, or its number, no more
    bool again = false;       // it was refused for that once, and had not been applied
  };

  // FailedPrecondition: an owner that does not know such pushes.
  [[nodiscard]] Status CheckKind(const RowPush& push) const;
  [[nodiscard]] Status Plan(std::span<const MutableTensor* const> tensors);
  [[nodiscard]] bool LeftFor(size_t part) const;
  [[nodiscard]] bool Left() const;
  // The messages to a partition that the next round has.
  [[nodiscard]] std::vector<Sent> Next(size_t part);
  // `ended`: of the round before. An error ends them all; one of a push is kept with it.
  void GoOn(const Status& ended);
  void StartRound();
  void EndRound();
  // A part forgot the client. Asks it for a new id: its LSN tells whether pushes were lost with the
  // old one.
  void AskWhatIsLost(const Status& ended);
  // Ask the parts that the next round pushes to, and those that forgot the client, for ids, where
  // they give some and there is none.
  [[nodiscard]] std::vector<Rpc> RegisterCalls();
  void StartPushes();
  [[nodiscard]] StatusOr<std::vector<PushMark>> Result(const Status& ended);
  [[nodiscard]] Rpc ToRpc(Sent* sent);
  [[nodiscard]] static std::string MakeRequest(const Sent& sent);

  Cluster& cluster_;
  const std::shared_ptr<const ServedParts> served_;
  PushClients& clients_;
  const std::span<const RowPush> pushes_;
  CallContext& context_;
  const RowStore::PushDone done_;
  std::vector<ReplicaSet> owners_;            // by part
  std::deque<PushedTensor> shares_;           // of pushes_
  int rounds_ = 0;                            // begun
  std::vector<std::vector<Sent>> under_way_;  // this round's, by part
  std::vector<std::vector<Sent>> again_;      // by part: they come before others
  std::deque<bool> draws_;                    // by part: it gives this client no id
  std::vector<bool> forgot_;                  // by part: it knew the client no more
};

Status PushCalls::CheckKind(const RowPush& push) const {
  if (push.kind != PushKind::kBits) return OkStatus();
  for (const ReplicaSet& owner : owners_) {
    if (served_->FirstWithout(owner, wire::kPushBits) < 0) continue;
    return FailedPrecondition(
        "{}: rows that are not finite are pushed to servers that know \"{}\", and {} does not: "
        "start a newer halograph-server there",
        push.tensor.ToString(), wire::kPushBits, served_->Addresses(owner));
  }
  return OkStatus();
}

Status PushCalls::Plan(std::span<const MutableTensor* const> tensors) {
  int64_t planned = cluster_.rpc().options().max_message_bytes;
  for (int part = 0; part < cluster_.info().book.num_parts(); ++part) {
    HG_ASSIGN_OR_RETURN(owners_.emplace_back(), served_->OwnerSet(part));
    planned = std::min(planned, owners_.back().planned_bytes);
  }
  again_.resize(owners_.size());
  draws_.resize(owners_.size());
  forgot_.resize(owners_.size());
  for (const RowPush& push : pushes_) HG_RETURN_IF_ERROR(CheckKind(push));
  for (size_t i = 0; i < pushes_.size(); ++i) {
    const RowPush& push = pushes_[i];
    PushedTensor& share = shares_.emplace_back();
    share.push = &push;
    share.row_bytes = PushedRowBytes(tensors[i]->spec, push.kind, push.dtype);
    share.mark.assign(owners_.size(), 0);
    share.sent.assign(owners_.size(), 0);
    const size_t names = push.tensor.type.size() + push.tensor.name.size();
    const int64_t rows = (planned - static_cast<int64_t>(kPushHeaderBytes + names)) /
                         static_cast<int64_t>(share.row_bytes + sizeof(int64_t));
    if (rows < 1) {
      return ResourceExhausted(
          "{}: one row has {} bytes, {} fit into a message; raise --max-message-bytes of client "
          "and server",
          push.tensor.ToString(), share.row_bytes, planned);
    }
    HG_RETURN_IF_ERROR(
        OfPush(share.plan.Make(*tensors[i], push, [rows](int) { return rows; }), pushes_, push));
  }
  return OkStatus();
}

void PushCalls::GoOn(const Status& ended) {
  if (std::find(forgot_.begin(), forgot_.end(), true) != forgot_.end()) return AskWhatIsLost(ended);
  if (ended.ok() && Left()) return StartRound();
  // It says more than what ended a push before.
  if (absl::IsDataLoss(ended)) {
    for (PushedTensor& share : shares_) share.status = ended;
  }
  done_(Result(ended));
}

void PushCalls::AskWhatIsLost(const Status& ended) {
  std::vector<Rpc> calls = RegisterCalls();
  forgot_.assign(forgot_.size(), false);
  if (calls.empty()) return GoOn(ended);
  cluster_.rpc().Start(context_, std::move(calls),
                       Posted(context_, [self = shared_from_this(), ended](const Status& status) {
                         self->GoOn(absl::IsDataLoss(status) ? status : ended);
                       }));
}

StatusOr<std::vector<PushMark>> PushCalls::Result(const Status& ended) {
  context_.stats.rounds += rounds_ > 0 ? kRoundsOfAnExchange : 0;
  for (const PushedTensor& share : shares_) {
    if (!share.status.ok()) return OfPush(share.status, pushes_, *share.push);
  }
  HG_RETURN_IF_ERROR(ended);
  std::vector<PushMark> marks;
  for (PushedTensor& share : shares_) {
    context_.stats.remote_bytes += static_cast<int64_t>(share.push->rows.size());
    marks.push_back(std::move(share.mark));
  }
  return marks;
}

bool PushCalls::LeftFor(size_t part) const {
  if (!again_[part].empty()) return true;
  return std::any_of(shares_.begin(), shares_.end(),
                     [part](const PushedTensor& share) { return share.left(part) > 0; });
}

bool PushCalls::Left() const {
  for (size_t part = 0; part < owners_.size(); ++part) {
    if (LeftFor(part)) return true;
  }
  return false;
}

std::vector<PushCalls::Sent> PushCalls::Next(size_t part) {
  std::vector<Sent> messages = std::exchange(again_[part], {});
  std::erase_if(messages, [](const Sent& sent) { return !sent.of->status.ok(); });
  if (!messages.empty()) return messages;
  const auto add = [&](PushedTensor& share, bool first) {
    const PushMessage& message = share.plan.messages()[part][share.sent[part]++];
    messages.push_back({.of = &share, .message = &message, .first = first});
  };
  std::vector<PushedTensor*> more;  // whose other messages may go, too
  for (PushedTensor& share : shares_) {
    if (share.left(part) == 0 || messages.size() == kPushWindow) continue;
    const bool first = share.sent[part] == 0;
    // The first message of a run is answered before the next one is sent (SyncStep), and whether
    // this is one only the owner knows.
    if (!first || !share.push->step.has_value()) more.push_back(&share);
    if (first) add(share, true);
  }
  for (PushedTensor* const share : more) {
    while (share->left(part) > 0 && messages.size() < kMessagesARound) add(*share, false);
  }
  return messages;
}

void PushCalls::StartRound() {
  std::vector<Rpc> calls = RegisterCalls();
  if (calls.empty()) return StartPushes();
  cluster_.rpc().Start(context_, std::move(calls),
                       Posted(context_, [self = shared_from_this()](const Status& status) {
                         status.ok() ? self->StartPushes() : self->GoOn(status);
                       }));
}

std::vector<Rpc> PushCalls::RegisterCalls() {
  std::vector<Rpc> calls;
  for (int part = 0; part < static_cast<int>(owners_.size()); ++part) {
    const auto at = static_cast<size_t>(part);
    if (!LeftFor(at) && !forgot_[at]) continue;
    auto call = RegisterCall(&clients_, *served_, owners_[at], part, &draws_[at]);
    if (call.has_value()) calls.push_back(*std::move(call));
  }
  return calls;
}

void PushCalls::StartPushes() {
  ++rounds_;
  std::vector<Rpc> calls;
  for (size_t part = 0; part < owners_.size(); ++part) {
    std::vector<Sent> messages = Next(part);
    if (messages.empty()) continue;
    const auto numbers =
        clients_.Take(static_cast<int>(part), static_cast<int>(messages.size()), context_.limits());
    if (!numbers.ok()) {
      EndRound();
      return GoOn(numbers.status());
    }
    for (size_t i = 0; i < messages.size(); ++i) {
      messages[i].numbers = *numbers;
      messages[i].sequence = numbers->first + i;
      calls.push_back(ToRpc(&messages[i]));
    }
    under_way_.push_back(std::move(messages));
  }
  // Alone keeps this, and ends it where what is posted runs.
  StatusDone go_on =
      Posted(context_, [self = shared_from_this()](const Status& status) { self->GoOn(status); });
  cluster_.rpc().Start(context_, std::move(calls), [this, go_on = std::move(go_on)](Status status) {
    EndRound();  // at once: others wait for their numbers
    go_on(std::move(status));
  });
}

void PushCalls::EndRound() {
  for (std::vector<Sent>& messages : under_way_) {
    bool all = true;
    bool known = true;
    for (Sent& sent : messages) {
      const auto part = static_cast<size_t>(sent.message->part);
      if (!std::exchange(sent.unknown, false)) continue;
      known = false;
      forgot_[part] = true;
      if (sent.again) again_[part].push_back(sent);
    }
    for (const Sent& sent : messages) {
      int64_t& lsn = sent.of->mark[static_cast<size_t>(sent.message->part)];
      lsn = std::max(lsn, sent.lsn);
      all = all && sent.lsn > 0;
    }
    const PushClients::Numbers& numbers = messages.front().numbers;
    if (!known) {
      clients_.Forgotten(numbers);
    } else {
      all ? clients_.Answered(numbers) : clients_.GiveUp(numbers);
    }
  }
  under_way_.clear();
}

Rpc PushCalls::ToRpc(Sent* sent) {
  Rpc rpc;
  const ReplicaSet& owner = owners_[static_cast<size_t>(sent->message->part)];
  rpc.servers = owner.servers;
  rpc.serves = owner.name;
  rpc.method = Method::kPush;
  rpc.at_once = sent->first;
  rpc.make_request = [sent] { return MakeRequest(*sent); };
  rpc.on_reply = [this, sent](ReplyPieces pieces, std::vector<Rpc>*) {
    HG_ASSIGN_OR_RETURN(const wire::PushReply reply, wire::ReadPushReply(pieces));
    HG_RETURN_IF_ERROR(clients_.Acknowledge(sent->numbers, sent->message->push.tensor, reply.lsn));
    sent->lsn = reply.lsn;
    return OkStatus();
  };
  rpc.maybe_done = &sent->maybe_done;
  // What others push goes on; the last one ends what is under way.
  rpc.on_error = [this, sent](int, const Status& error, std::vector<Rpc>*) {
    sent->unknown = ReasonOf(error) == kTooOldToTell;
    const bool first = !std::exchange(sent->again, sent->unknown && !sent->maybe_done);
    if (sent->again && first) return OkStatus();
    sent->again = false;
    if (sent->of->status.ok()) sent->of->status = error;
    const bool others = std::any_of(shares_.begin(), shares_.end(),
                                    [](const PushedTensor& share) { return share.status.ok(); });
    return others ? OkStatus() : error;
  };
  return rpc;
}

std::string PushCalls::MakeRequest(const Sent& sent) {
  const RowPush& push = sent.message->push;
  wire::PushHeader header{.edge = push.tensor.edge,
                          .type = push.tensor.type,
                          .name = push.tensor.name,
                          .part = static_cast<uint32_t>(sent.message->part),
                          .kind = static_cast<uint32_t>(push.kind),
                          .client = sent.numbers.client,
                          .sequence = sent.sequence,
                          .step = {},
                          .dtype = static_cast<uint32_t>(push.dtype),
                          .registered = sent.numbers.registered,
                          .answered = sent.numbers.registered ? sent.numbers.answered : 0};
  if (push.step.has_value()) {
    header.step = wire::PushStep{.step = push.step->step,
                                 .rank = push.step->rank,
                                 .world_size = push.step->world_size,
                                 .run = push.step->run,
                                 .chunk = push.step->chunk,
                                 .chunks = push.step->chunks};
  }
  return wire::WritePushRequest(header, {.ids = push.ids,
                                         .positions = sent.message->positions,
                                         .rows = push.rows.data(),
                                         .row_bytes = sent.of->row_bytes});
}

}  // namespace

namespace {

StatusOr<std::vector<const MutableTensor*>> FindPushed(Cluster* cluster,
                                                       std::span<const RowPush> pushes,
                                                       std::span<const RowRequest> named,
                                                       CallContext& context) {
  HG_RETURN_IF_ERROR(context.Check());
  HG_RETURN_IF_ERROR(FindTensors(cluster, named, context));
  auto tensors = CheckPushes(cluster->tensors(), pushes);
  if (!tensors.ok()) {
    if (absl::IsNotFound(tensors.status())) {
      HG_RETURN_IF_ERROR(cluster->StateServers().status());
    }
    ForgetTensors(cluster, named, tensors.status());
  }
  return tensors;
}

}  // namespace

void StartPushRemotely(Cluster* cluster, std::span<const RowPush> pushes, CallContext& context,
                       RowStore::PushDone done) {
  std::vector<RowRequest> named;
  for (const RowPush& push : pushes) named.push_back({.tensor = push.tensor});
  const auto tensors = FindPushed(cluster, pushes, named, context);
  if (!tensors.ok()) return done(tensors.status());
  std::make_shared<PushCalls>(cluster, pushes, &context,
                              [cluster, named = std::move(named),
                               done = std::move(done)](StatusOr<std::vector<PushMark>> marks) {
                                if (!marks.ok()) ForgetTensors(cluster, named, marks.status());
                                done(std::move(marks));
                              })
      ->Start(*tensors);
}

}  // namespace halograph
