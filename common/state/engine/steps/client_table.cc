#include "common/state/engine/steps/client_table.h"

#include <algorithm>
#include <vector>

#include "common/state/engine/log/bytes.h"

namespace halograph {

StatusOr<ClientTable::Verdict> ClientTable::Check(PushId id, uint64_t digest) const {
  const auto [client, sequence] = id;
  if (sequence == 0) return InvalidArgument("sequence number 0: a client counts from 1");
  const auto found = clients_.find(client);
  if (found == clients_.end()) {
    if (sequence <= kPushWindow) return Verdict{};
    return FailedPrecondition(
        "client {:016x} is not known here and sends sequence number {}; it was forgotten after {} "
        "others pushed, or belongs to another state: begin again with a new client id",
        client, sequence, max_clients_);
  }
  const Client& known = found->second;
  if (sequence > known.newest + kPushWindow) {
    return ResourceExhausted(
        "client {:016x}: sequence number {} is more than {} above its newest, {}", client, sequence,
        kPushWindow, known.newest);
  }
  if (sequence + kPushWindow <= known.newest) return Verdict{true, known.last_lsn};
  const Seen& seen = known.window[sequence % kPushWindow];
  if (seen.sequence != sequence) return Verdict{};
  if (seen.digest != digest) {
    return FailedPrecondition(
        "client {:016x} used sequence number {} for two different pushes; do two clients have one "
        "id?",
        client, sequence);
  }
  return Verdict{true, seen.lsn};
}

void ClientTable::Add(PushId id, uint64_t digest, int64_t lsn) {
  const auto [client, sequence] = id;
  if (!clients_.contains(client) && clients_.size() >= max_clients_) {
    clients_.erase(std::min_element(clients_.begin(), clients_.end(), [](auto& a, auto& b) {
      return a.second.last_lsn < b.second.last_lsn;
    }));
  }
  Client& known = clients_[client];
  known.newest = std::max(known.newest, sequence);
  known.last_lsn = lsn;
  known.window[sequence % kPushWindow] = {sequence, digest, lsn};
}

void ClientTable::Save(std::string* out) const {
  std::vector<uint64_t> ids;
  for (const auto& [id, client] : clients_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  PutInt(ids.size(), out);
  for (const uint64_t id : ids) {
    const Client& client = clients_.at(id);
    PutInt(id, out);
    PutInt(client.newest, out);
    PutInt(client.last_lsn, out);
    const auto used = std::count_if(client.window.begin(), client.window.end(),
                                    [](const Seen& seen) { return seen.sequence != 0; });
    PutInt(static_cast<uint64_t>(used), out);
    for (const Seen& seen : client.window) {
      if (seen.sequence == 0) continue;
      PutInt(seen.sequence, out);
      PutInt(seen.digest, out);
      PutInt(seen.lsn, out);
    }
  }
}

Status ClientTable::Load(std::span<const std::byte> bytes) {
  clients_.clear();
  ByteReader reader(bytes);
  const auto count = reader.Get<uint64_t>();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    Client& client = clients_[reader.Get<uint64_t>()];
    client.newest = reader.Get<uint64_t>();
    client.last_lsn = reader.Get<int64_t>();
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
