#include "server/listener/connection_table.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace halograph::server {
namespace {

using Clock = std::chrono::steady_clock;

// Between two searches of the whole table for room.
constexpr std::chrono::milliseconds kSearchPause{10};
// Between two looks whether gRPC has closed all.
constexpr std::chrono::milliseconds kEndPause{2};

std::optional<PeerAddress> PeerOf(int fd) {
  sockaddr_storage end{};
  socklen_t length = sizeof(end);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&end), &length) != 0) return std::nullopt;
  return ToPeerAddress(end);
}

// 0: it is no socket.
ino_t InodeOf(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISSOCK(status.st_mode)) return 0;
  return status.st_ino;
}

struct Traffic {
  int64_t received = 0;  // and taken from the system
  int64_t read = 0;      // by the peer
};

Traffic TrafficOf(int fd) {
  tcp_info info{};
  socklen_t length = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return {};
  int unread = 0;
  if (ioctl(fd, SIOCINQ, &unread) != 0) unread = 0;
  return {static_cast<int64_t>(info.tcpi_bytes_received) - unread,
          static_cast<int64_t>(info.tcpi_bytes_acked)};
}

ShutReason ReasonOf(Offence offence) {
  switch (offence) {
    case Offence::kCalls:
    case Offence::kStreams:
      return ShutReason::kCalls;
    case Offence::kBytes:
      return ShutReason::kBytes;
    case Offence::kAddress:
      break;
  }
  return ShutReason::kAddress;
}

}  // namespace

ConnectionTable::Call::~Call() {
  if (counted_ == nullptr) return;
  counted_->ended.fetch_add(1, std::memory_order_relaxed);
  counted_->calls.fetch_sub(1, std::memory_order_relaxed);
}

ConnectionTable::ConnectionTable(TableOptions options)
    : options_(std::move(options)), penalties_(options_.penalties) {}

bool ConnectionTable::IsThere(const Entry& entry) { return InodeOf(entry.fd) == entry.inode; }

bool ConnectionTable::IsFree(const PeerAddress& peer) const {
  return (peer.loopback && options_.loopback_is_free) ||
         options_.trusted_proxies.Contains(peer.address);
}

ConnectionTable::Entries::iterator ConnectionTable::Forget(Entries::iterator entry) {
  const Entry& gone = entry->second;
  if (const auto found = by_fd_.find(gone.fd);
      found != by_fd_.end() && found->second == entry->first) {
    by_fd_.erase(found);
  }
  if (const auto of = of_address_.find(gone.address); --of->second == 0) of_address_.erase(of);
  {
    const MutexLock lock(naming_);
    const auto named = by_peer_.find(gone.counted->peer);
    if (named != by_peer_.end() && named->second == gone.counted) by_peer_.erase(named);
  }
  size_.fetch_sub(1, std::memory_order_relaxed);
  return entries_.erase(entry);
}

template <typename Chosen>
void ConnectionTable::ForgetClosed(const Chosen& chosen) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    entry = chosen(entry->second) && !IsThere(entry->second) ? Forget(entry) : std::next(entry);
  }
}

bool ConnectionTable::HasRoom(const PeerAddress& peer) {
  const AddressBytes group = GroupOf(peer.address);
  if (!options_.trusted_proxies.Contains(peer.address) && penalties_.Holds(group, Clock::now())) {
    ++counts_.refused_penalty;
    return false;
  }
  const auto full = [&]() HG_REQUIRES(accepting_) {
    return static_cast<int64_t>(entries_.size()) >= options_.most;
  };
  if (full()) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_search_ >= kSearchPause) {
      last_search_ = now;
      ForgetClosed([](const Entry&) { return true; });
    }
  }
  if (full()) {
    ++counts_.refused_all;
    return false;
  }
  if (IsFree(peer)) return true;
  const auto crowded = [&]() HG_REQUIRES(accepting_) {
    const auto of = of_address_.find(group);
    return of != of_address_.end() && of->second >= options_.most_of_address;
  };
  if (crowded()) ForgetClosed([&](const Entry& entry) { return entry.address == group; });
  if (!crowded()) return true;
  ++counts_.refused_address;
  return false;
}

void ConnectionTable::Add(int fd, const PeerAddress& peer) {
  // gRPC has closed what had the number before.
  if (const auto old = by_fd_.find(fd); old != by_fd_.end()) Forget(entries_.find(old->second));
  auto counted =
      std::make_shared<Counted>(peer.name, options_.trusted_proxies.Contains(peer.address));
  {
    const MutexLock lock(naming_);
    by_peer_.erase(counted->peer);  // the key is the old one's
    by_peer_.emplace(counted->peer, counted);
  }
  const uint64_t id = next_id_++;
  by_fd_[fd] = id;
  ++of_address_[GroupOf(peer.address)];
  entries_.emplace(id, Entry{.fd = fd,
                             .inode = InodeOf(fd),
                             .address = GroupOf(peer.address),
                             .free_loopback = peer.loopback && options_.loopback_is_free,
                             .counted = std::move(counted)});
  ++counts_.accepted;
  if (size_.fetch_add(1, std::memory_order_relaxed) == 0 && on_first_) on_first_();
}

ConnectionTable::Accepted ConnectionTable::Accept(int listener) {
  for (;;) {
    const MutexLock lock(accepting_);
    sockaddr_storage end{};
    socklen_t length = sizeof(end);
    const int fd =
        accept4(listener, reinterpret_cast<sockaddr*>(&end), &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      switch (errno) {
        case EAGAIN:
          return {.outcome = Outcome::kNone};
        case ECONNABORTED:  // one that has ended; accept4 gives the errors of its connection, too
        case EHOSTDOWN:
        case EHOSTUNREACH:
        case EINTR:
        case ENETDOWN:
        case ENETUNREACH:
        case ENOPROTOOPT:
        case EPERM:
        case EPROTO:
          continue;
        default:  // EMFILE, ENFILE, ENOBUFS, ENOMEM
          ++counts_.no_descriptors;
          return {.outcome = Outcome::kNoDescriptors};
      }
    }
    const std::optional<PeerAddress> peer = ToPeerAddress(end);
    if (!peer.has_value() || !HasRoom(*peer)) {
      close(fd);
      return {.outcome = Outcome::kRefused};
    }
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    Add(fd, *peer);
    return {.outcome = Outcome::kTaken, .fd = fd};
  }
}

ConnectionTable::Call ConnectionTable::Begin(std::string_view peer, int64_t bytes) {
  std::shared_ptr<Counted> counted;
  {
    const MutexLock lock(naming_);
    const auto found = by_peer_.find(peer);
    if (found == by_peer_.end()) return {};
    counted = found->second;
  }
  const int64_t before = counted->calls.fetch_add(1, std::memory_order_relaxed);
  if (before >= options_.most_calls && !counted->shut.load(std::memory_order_relaxed)) {
    ShutFor(counted, ShutReason::kCalls);
  }
  counted->accounted.fetch_add(bytes + bytes / kReadBytesPerByte + kBytesOfCall,
                               std::memory_order_relaxed);
  return Call(std::move(counted));
}

int64_t ConnectionTable::ForgivenSince(std::chrono::steady_clock::time_point before,
                                       std::chrono::steady_clock::time_point now) const {
  const auto time = std::min<std::chrono::nanoseconds>(now - before, std::chrono::seconds(1));
  return static_cast<int64_t>(static_cast<double>(options_.most_credit) *
                              (std::chrono::duration<double>(time) / kForgetsAll));
}

std::vector<ConnectionRow> ConnectionTable::Look(std::chrono::steady_clock::time_point now,
                                                 const StreamsOfPeers& streams) {
  const MutexLock lock(accepting_);
  const int64_t forgiven = ForgivenSince(std::exchange(last_look_, now), now);
  ForgetClosed([](const Entry&) { return true; });
  const Clock::time_point at = Clock::now();
  penalties_.Forget(at);
  std::vector<ConnectionRow> rows;
  rows.reserve(entries_.size());
  for (auto& [id, entry] : entries_) {
    if (entry.counted->shut) continue;
    // Read first: a call that begins meanwhile is accounted for too early, not too late.
    const Traffic traffic = TrafficOf(entry.fd);
    Counted& counted = *entry.counted;
    const int64_t ended = counted.ended.load(std::memory_order_relaxed);
    if (std::exchange(entry.ended_before, ended) != ended) {
      counted.accounted.fetch_add(forgiven, std::memory_order_relaxed);
    }
    int64_t bytes = traffic.received - traffic.read / kReadBytesPerByte -
                    counted.accounted.load(std::memory_order_relaxed);
    if (bytes < -options_.most_credit) {
      counted.accounted.fetch_add(bytes + options_.most_credit, std::memory_order_relaxed);
      bytes = -options_.most_credit;
    }
    bytes = std::max<int64_t>(bytes, 0);
    if (now == Clock::time_point() || now - entry.lasts_since >= kLasts) {
      entry.lasts_since = now;
      entry.least_before = std::exchange(entry.least, bytes);
    }
    entry.least = std::min(entry.least, bytes);
    const int64_t calls = counted.calls.load(std::memory_order_relaxed);
    const auto held = streams.find(counted.peer);
    rows.push_back(
        {.id = id,
         .address = entry.address,
         .alone = counted.from_proxy,
         .calls_alone = entry.free_loopback,
         .defies =
             !entry.free_loopback && !counted.from_proxy && penalties_.WasDefied(entry.address, at),
         .calls = calls,
         .streams = held == streams.end() ? 0 : std::max<int64_t>(held->second - calls, 0),
         .bytes = bytes,
         .lasting_bytes = std::min(entry.least, entry.least_before)});
  }
  return rows;
}

int64_t ConnectionTable::OpenCalls() const {
  const MutexLock lock(accepting_);
  int64_t calls = 0;
  for (const auto& [id, entry] : entries_) {
    calls += entry.counted->calls.load(std::memory_order_relaxed);
  }
  return calls;
}

std::string ConnectionTable::Peer(uint64_t id) const {
  const MutexLock lock(accepting_);
  const auto entry = entries_.find(id);
  return entry == entries_.end() ? "" : entry->second.counted->peer;
}

bool ConnectionTable::ShutOne(const Entry& entry, ShutReason reason, bool is_mild) {
  // A copy stays with its socket, whoever gets the number if gRPC closes it meanwhile. Where no
  // descriptor is left for one, what takes too much has to go all the same.
  const int fd = fcntl(entry.fd, F_DUPFD_CLOEXEC, 0);
  const bool shut = ShutBy(entry, fd < 0 ? entry.fd : fd, reason, is_mild);
  if (fd >= 0) close(fd);
  return shut;
}

bool ConnectionTable::ShutBy(const Entry& entry, int fd, ShutReason reason, bool is_mild) {
  if (InodeOf(fd) != entry.inode) return false;
  // One that was reset has no peer any more, and is not shut either.
  const std::optional<PeerAddress> peer = PeerOf(fd);
  if (!peer.has_value() || peer->name != entry.counted->peer) return false;
  if (reason <= ShutReason::kAddress) {  // by a rule
    // Drops, too, what was received and not yet read, which may be megabytes of more of it.
    sockaddr nowhere{};
    nowhere.sa_family = AF_UNSPEC;
    static_cast<void>(connect(fd, &nowhere, sizeof(nowhere)));
    if (!entry.counted->from_proxy) {
      penalties_.Impose(entry.address, Clock::now(), !entry.free_loopback && !is_mild);
    }
  }
  shutdown(fd, SHUT_RDWR);
  entry.counted->shut = true;
  if (reason != ShutReason::kEnd) ++counts_.shut[static_cast<size_t>(reason)];
  return true;
}

void ConnectionTable::ShutFor(const std::shared_ptr<Counted>& counted, ShutReason reason) {
  const MutexLock lock(accepting_);
  if (counted->shut.exchange(true)) return;  // also where it has ended by now: nobody looks again
  for (const auto& [id, entry] : entries_) {
    if (entry.counted == counted) ShutOne(entry, reason);
  }
}

int ConnectionTable::Shut(std::span<const Offender> offenders) {
  const MutexLock lock(accepting_);
  int shut = 0;
  for (const Offender& offender : offenders) {
    const auto entry = entries_.find(offender.id);
    if (entry == entries_.end()) continue;
    if (ShutOne(entry->second, ReasonOf(offender.offence), offender.is_mild)) ++shut;
  }
  return shut;
}

int ConnectionTable::Shut(const std::set<std::string>& peers) {
  if (peers.empty()) return 0;
  const MutexLock lock(accepting_);
  int shut = 0;
  for (auto& [id, entry] : entries_) {
    if (peers.count(entry.counted->peer) > 0 && ShutOne(entry, ShutReason::kUnread)) ++shut;
  }
  return shut;
}

bool ConnectionTable::End(std::chrono::nanoseconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  for (;;) {
    {
      const MutexLock lock(accepting_);
      ForgetClosed([](const Entry&) { return true; });
      if (entries_.empty()) return true;
      for (auto& [id, entry] : entries_) ShutOne(entry, ShutReason::kEnd);
    }
    if (std::chrono::steady_clock::now() >= give_up) return false;
    std::this_thread::sleep_for(kEndPause);
  }
}

ConnectionCounts ConnectionTable::counts() const {
  const MutexLock lock(accepting_);
  ConnectionCounts counts = counts_;
  counts.now = static_cast<int64_t>(entries_.size());
  counts.ignored_identities = ignored_identities_.load(std::memory_order_relaxed);
  return counts;
}

}  // namespace halograph::server
