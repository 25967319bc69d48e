#include "client/name_lookup.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <netdb.h>

#include "common/base/mutex.h"

namespace halograph {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* first) const { freeaddrinfo(first); }
};

StatusOr<HostAddresses> Ask(const HostPort& host, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* first = nullptr;
  const int error =
      getaddrinfo(host.host.c_str(), std::to_string(host.port).c_str(), &hints, &first);
  if (error != 0) return NotFound("{}: {}", host.host, gai_strerror(error));
  const std::unique_ptr<addrinfo, FreeAddresses> owner(first);
  HostAddresses found;
  for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
    SocketAddress address{.size = one->ai_addrlen};
    if (one->ai_addrlen > sizeof(address.bytes)) continue;
    std::memcpy(&address.bytes, one->ai_addr, one->ai_addrlen);
    std::array<char, NI_MAXHOST> number{};
    if (getnameinfo(one->ai_addr, one->ai_addrlen, number.data(), number.size(), nullptr, 0,
                    NI_NUMERICHOST) == 0) {
      address.number = number.data();
    }
    found.push_back(std::move(address));
  }
  if (found.empty()) return NotFound("{}: it has no address", host.host);
  return found;
}

// What the threads share with who waits for them, and keep when nobody does any more.
struct Lookups {
  std::vector<HostPort> hosts;
  std::function<StatusOr<HostAddresses>(const HostPort&)> ask;
  Mutex mutex;
  CondVar changed;
  bool given_up HG_GUARDED_BY(mutex) = false;
  size_t next HG_GUARDED_BY(mutex) = 0;
  size_t answered HG_GUARDED_BY(mutex) = 0;
  std::vector<std::optional<StatusOr<HostAddresses>>> answers HG_GUARDED_BY(mutex);
};

std::optional<size_t> TakeNext(Lookups* lookups) {
  const MutexLock lock(lookups->mutex);
  if (lookups->given_up || lookups->next == lookups->hosts.size()) return {};
  return lookups->next++;
}

void Work(const std::shared_ptr<Lookups>& owner) {
  Lookups& lookups = *owner;
  while (const std::optional<size_t> i = TakeNext(&lookups)) {
    StatusOr<HostAddresses> answer = lookups.ask(lookups.hosts[*i]);
    const MutexLock lock(lookups.mutex);
    lookups.answers[*i] = std::move(answer);
    ++lookups.answered;
    lookups.changed.NotifyAll();
  }
}

}  // namespace

StatusOr<HostAddresses> AskSystem(const HostPort& host) { return Ask(host, 0); }

std::vector<StatusOr<HostAddresses>> LookUpAll(
    std::vector<HostPort> hosts, std::chrono::steady_clock::time_point deadline,
    std::function<StatusOr<HostAddresses>(const HostPort&)> ask) {
  const auto owner = std::make_shared<Lookups>();
  Lookups& lookups = *owner;
  const size_t count = hosts.size();
  lookups.hosts = std::move(hosts);
  lookups.ask = std::move(ask);
  const MutexLock lock(lookups.mutex);
  lookups.answers.resize(count);
  for (size_t i = 0; i < std::min(count, kMostLookups); ++i) {
    std::thread([owner] { Work(owner); }).detach();
  }
  lookups.changed.WaitUntil(lookups.mutex, deadline,
                            [&]() HG_REQUIRES(lookups.mutex) { return lookups.answered == count; });
  lookups.given_up = true;
  std::vector<StatusOr<HostAddresses>> all;
  all.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    std::optional<StatusOr<HostAddresses>>& answer = lookups.answers[i];
    all.push_back(answer ? *std::move(answer)
                         : DeadlineExceeded("{}: the name service did not answer in time",
                                            lookups.hosts[i].host));
  }
  return all;
}

StatusOr<HostAddresses> LookUp(const HostPort& host,
                               std::chrono::steady_clock::time_point deadline) {
  StatusOr<HostAddresses> number = Ask(host, AI_NUMERICHOST);
  if (number.ok()) return number;
  return std::move(LookUpAll({host}, deadline).front());
}

}  // namespace halograph
