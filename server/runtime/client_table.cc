#include "server/runtime/client_table.h"

#include <algorithm>

namespace halograph::server {

bool ClientTable::Begin(std::string_view host, std::string_view rank, Clock::time_point now) {
  const MutexLock lock(mutex_);
  auto found = clients_.find({std::string(host), std::string(rank)});
  const bool comes = found == clients_.end();
  if (comes) {
    if (clients_.size() >= kMost) return false;
    Client client;
    client.host = host;
    client.rank = rank;
    client.first = now;
    found = clients_.emplace(std::pair{client.host, client.rank}, client).first;
  }
  ++found->second.in_flight;
  found->second.last = now;
  return comes;
}

void ClientTable::End(std::string_view host, std::string_view rank, bool ok, int64_t sent_bytes,
                      Clock::time_point now) {
  const MutexLock lock(mutex_);
  const auto found = clients_.find({std::string(host), std::string(rank)});
  // One that began its call when the table was full may be missing, or have come since.
  if (found == clients_.end() || found->second.in_flight == 0) return;
  Client& client = found->second;
  --client.in_flight;
  ++client.calls;
  client.errors += ok ? 0 : 1;
  client.sent_bytes += sent_bytes;
  client.last = now;
}

std::vector<ClientTable::Client> ClientTable::Latest(size_t most) const {
  std::vector<Client> latest;
  {
    const MutexLock lock(mutex_);
    latest.reserve(clients_.size());
    for (const auto& [name, client] : clients_) latest.push_back(client);
  }
  std::stable_sort(latest.begin(), latest.end(),
                   [](const Client& a, const Client& b) { return a.last > b.last; });
  if (latest.size() > most) latest.resize(most);
  return latest;
}

std::vector<ClientTable::Client> ClientTable::TakeLeft(Clock::time_point now) {
  std::vector<Client> left;
  const MutexLock lock(mutex_);
  for (auto client = clients_.begin(); client != clients_.end();) {
    if (client->second.in_flight > 0 || now - client->second.last < kSilence) {
      ++client;
      continue;
    }
    left.push_back(std::move(client->second));
    client = clients_.erase(client);
  }
  return left;
}

int64_t ClientTable::size() const {
  const MutexLock lock(mutex_);
  return static_cast<int64_t>(clients_.size());
}

std::string HostOfPeer(std::string_view peer) {
  const size_t scheme = peer.find(':');
  const size_t port = peer.rfind(':');
  if (scheme == std::string_view::npos || port == scheme) return std::string(peer);
  std::string host(peer.substr(scheme + 1, port - scheme - 1));
  // gRPC percent-encodes the brackets of IPv6.
  for (const auto& [code, bracket] : {std::pair{"%5B", "["}, {"%5D", "]"}}) {
    if (const size_t at = host.find(code); at != std::string::npos) host.replace(at, 3, bracket);
  }
  return host;
}

}  // namespace halograph::server
