#include "common/state/engine/steps/client_table.h"

#include <algorithm>
#include <vector>

#include "common/state/engine/log/bytes.h"

namespace halograph {
namespace {

constexpr int kMostLookedAt = 1024;  // clients, for one that may leave

template <typename Clients>
auto LongestSilent(Clients& clients) {
  return std::min_element(clients.begin(), clients.end(), [](const auto& a, const auto& b) {
    return a.second.last_lsn < b.second.last_lsn;
  });
}

uint64_t WithoutWindow(uint64_t newest) {
  return newest > uint64_t{kPushWindow} ? newest - uint64_t{kPushWindow} : 0;
}

}  // namespace

StatusOr<ClientTable::Verdict> ClientTable::Check(PushId id, uint64_t digest) const {
  const Clients& clients = id.registered ? registered_ : drawn_;
  if (id.sequence == 0) return InvalidArgument("sequence number 0: a client counts from 1");
  if (id.registered && id.answered >= id.sequence) {
    return InvalidArgument("client {:016x} sends number {} and says that all up to {} are answered",
                           id.client, id.sequence, id.answered);
  }
  const auto found = clients.find(id.client);
  if (found == clients.end()) {
    HG_RETURN_IF_ERROR(CheckUnknown(id));
    return Verdict{};
  }
  HG_RETURN_IF_ERROR(CheckNumber(id, found->second));
  const Seen& seen = found->second.window[id.sequence % kPushWindow];
  if (seen.sequence != id.sequence) return Verdict{};
  if (seen.digest != digest) {
    return FailedPrecondition(
        "client {:016x} used sequence number {} for two different pushes; do two clients have one "
        "id?",
        id.client, id.sequence);
  }
  return Verdict{true, seen.lsn};
}

Status ClientTable::CheckUnknown(PushId id) const {
  if (id.registered) {
    return WithReason(
        FailedPrecondition(
            "client {:016x} is not registered here: it has not pushed for long while others "
            "were registered, or the state is another one or an older copy. Whether its push {} "
            "was applied cannot be told: register anew, and do not send it again unless it may be "
            "applied twice",
            id.client, id.sequence),
        kTooOldToTell);
  }
  if (id.sequence <= kPushWindow) return OkStatus();
  return WithReason(
      FailedPrecondition(
          "client {:016x} is not known here and sends sequence number {}; it was forgotten after "
          "{} others pushed, or belongs to another state: begin again with a new client id",
          id.client, id.sequence, max_drawn_),
      kTooOldToTell);
}

Status ClientTable::CheckNumber(PushId id, const Client& client) {
  const uint64_t kept_above = id.registered ? client.mark : WithoutWindow(client.mark);
  if (id.sequence <= kept_above) {
    return WithReason(
        FailedPrecondition(
            "client {:016x} sends number {}, and has sent {} {} before: whether it was applied "
            "cannot be told any more; do two clients have one id?",
            id.client, id.sequence, id.registered ? "that all are answered up to" : "number",
            client.mark),
        kTooOldToTell);
  }
  const uint64_t mark = id.registered ? std::max(client.mark, id.answered) : client.mark;
  if (id.sequence <= mark + uint64_t{kPushWindow}) return OkStatus();
  return ResourceExhausted("client {:016x}: sequence number {} is more than {} above {}, {}",
                           id.client, id.sequence, kPushWindow, mark,
                           id.registered ? "up to which all are answered" : "its newest");
}

StatusOr<uint64_t> ClientTable::WhoLeaves(const Room& room) const {
  if (static_cast<int64_t>(registered_.size()) < room.most) return 0;
  int looked_at = 0;
  for (const auto& [last_lsn, id] : silent_) {
    if (room.lsn - last_lsn <= room.pushes || ++looked_at > kMostLookedAt) break;
    // Beside one whose last push came while a clock was set wrong, another one may leave.
    if (room.second - registered_.at(id).last_second > room.age_s) return id;
  }
  const auto& [last_lsn, id] = *silent_.begin();
  return ResourceExhausted(
      "{} clients are registered, as many as --state-clients lets a part have, and none may leave: "
      "the one that has not pushed for longest did so {} s and {} pushes ago (it may leave after "
      "{} s, --client-age, and {} pushes)",
      registered_.size(), std::max<int64_t>(room.second - registered_.at(id).last_second, 0),
      room.lsn - last_lsn, room.age_s, room.pushes);
}

void ClientTable::SetLast(uint64_t id, Client* client, const LogRecord& record) {
  if (record.id.registered) {
    silent_.erase(client->last_lsn);
    silent_[record.lsn] = id;
  }
  client->last_lsn = record.lsn;
  client->last_second = record.second;
}

void ClientTable::Take(const LogRecord& record) {
  const PushId& id = record.id;
  if (record.registers) {
    for (const int64_t leaves : record.push.ids) {
      const auto left = registered_.find(static_cast<uint64_t>(leaves));
      if (left == registered_.end()) continue;
      silent_.erase(left->second.last_lsn);
      registered_.erase(left);
    }
    return SetLast(id.client, &registered_[id.client], record);
  }
  Clients& clients = id.registered ? registered_ : drawn_;
  if (!id.registered && !drawn_.contains(id.client) && drawn_.size() >= max_drawn_) {
    drawn_.erase(LongestSilent(drawn_));
  }
  Client& client = clients[id.client];
  client.mark = std::max(client.mark, id.registered ? id.answered : id.sequence);
  client.window[id.sequence % kPushWindow] = {id.sequence, record.Digest(), record.lsn};
  SetLast(id.client, &client, record);
}

ClientTable::Saved ClientTable::Save() const {
  Saved saved;
  Save(drawn_, false, &saved.drawn);
  Save(registered_, true, &saved.registered);
  return saved;
}

void ClientTable::Save(const Clients& clients, bool registered, std::string* out) {
  std::vector<uint64_t> ids;
  ids.reserve(clients.size());
  for (const auto& [id, client] : clients) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  PutInt(ids.size(), out);
  for (const uint64_t id : ids) {
    const Client& client = clients.at(id);
    PutInt(id, out);
    PutInt(client.mark, out);
    PutInt(client.last_lsn, out);
    if (registered) PutInt(client.last_second, out);
    // Numbers that a registered client says are answered are never looked at.
    const uint64_t above = registered ? client.mark : 0;
    const auto used = std::count_if(client.window.begin(), client.window.end(),
                                    [above](const Seen& seen) { return seen.sequence > above; });
    PutInt(static_cast<uint64_t>(used), out);
    for (const Seen& seen : client.window) {
      if (seen.sequence <= above) continue;
      PutInt(seen.sequence, out);
      PutInt(seen.digest, out);
      PutInt(seen.lsn, out);
    }
  }
}

Status ClientTable::LoadDrawn(std::span<const std::byte> bytes) {
  return Load(bytes, false, &drawn_);
}

Status ClientTable::LoadRegistered(std::span<const std::byte> bytes) {
  HG_RETURN_IF_ERROR(Load(bytes, true, &registered_));
  silent_.clear();
  for (const auto& [id, client] : registered_) silent_[client.last_lsn] = id;
  return OkStatus();
}

Status ClientTable::Load(std::span<const std::byte> bytes, bool registered, Clients* clients) {
  clients->clear();
  ByteReader reader(bytes);
  const auto count = reader.Get<uint64_t>();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    Client& client = (*clients)[reader.Get<uint64_t>()];
    client.mark = reader.Get<uint64_t>();
    client.last_lsn = reader.Get<int64_t>();
    if (registered) client.last_second = reader.Get<int64_t>();
    const auto used = reader.Get<uint64_t>();
    for (uint64_t k = 0; k < used && reader.ok(); ++k) {
      Seen seen;
      seen.sequence = reader.Get<uint64_t>();
      seen.digest = reader.Get<uint64_t>();
      seen.lsn = reader.Get<int64_t>();
      client.window[seen.sequence % kPushWindow] = seen;
    }
  }
  if (!reader.ok() || !reader.at_end()) return DataLoss("the table of clients is damaged");
  return OkStatus();
}

}  // namespace halograph
