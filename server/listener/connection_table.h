// The connections of a server: accepted here, read and closed by gRPC, which has no name for them
// but their peer's. So this table knows their descriptors and must not trust them: gRPC may have
// closed one, and another file may have its number. It is the connection's as long as its socket
// has the inode that was recorded (the system gives each socket one of its own) and, before
// anything is done to it, the recorded peer; no connection is accepted meanwhile.
//
// Thread-safe. Calls wait neither for a look at the table nor for what is accepted, but those of a
// connection that is being shut.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "common/base/mutex.h"
#include "server/listener/connection_rules.h"
#include "server/listener/peer_address.h"
#include "server/listener/penalties.h"

namespace halograph::server {

struct TableOptions {
  int64_t most = 4096;              // connections
  int64_t most_of_address = 64;     // but of loopback and of trusted proxies
  bool loopback_is_free = true;     // else its addresses count as others do
  int64_t most_credit = 20 << 20;   // bytes that calls may account for before they are received
  int64_t most_calls = kMostCalls;  // of a connection; beyond: shut at once
  // How long nobody connects anew from the address of a connection that a rule has shut, but from a
  // trusted proxy's: else who takes too much takes it again and again. From loopback, if it is
  // free, always the first of these.
  PenaltyLengths penalties = {};
  AddressRanges trusted_proxies = {};
};

// Why a socket was shut.
enum class ShutReason : uint8_t { kCalls, kBytes, kAddress, kUnread, kEnd };

struct ConnectionCounts {
  int64_t now = 0;
  int64_t accepted = 0;
  int64_t refused_all = 0;      // beyond TableOptions::most
  int64_t refused_address = 0;  // beyond most_of_address
  int64_t refused_penalty = 0;  // since a connection of the address was shut
  int64_t no_descriptors = 0;   // times that there was none for a connection
  int64_t ignored_identities = 0;
  std::array<int64_t, static_cast<size_t>(ShutReason::kEnd)> shut{};
};

// Streams that gRPC holds, by the name of a peer.
using StreamsOfPeers = std::unordered_map<std::string, int64_t>;

class ConnectionTable {
 private:
  struct Counted {
    Counted(std::string peer_name, bool of_proxy)
        : peer(std::move(peer_name)), from_proxy(of_proxy) {}
    const std::string peer;
    const bool from_proxy;
    std::atomic<int64_t> calls = 0;
    std::atomic<int64_t> ended = 0;
    std::atomic<int64_t> accounted = 0;
    std::atomic<bool> shut = false;
  };

 public:
  // A call of a connection, from its begin to the end of this object. It may outlive the table.
  class Call {
   public:
    Call() = default;  // of no connection
    ~Call();
    Call(Call&& other) = default;
    Call& operator=(Call&&) = delete;

    // Whether its connection is a trusted proxy's.
    [[nodiscard]] bool from_proxy() const { return counted_ != nullptr && counted_->from_proxy; }
    // Whether its connection was shut: the call is not worth any work.
    [[nodiscard]] bool shut() const {
      return counted_ != nullptr && counted_->shut.load(std::memory_order_relaxed);
    }

   private:
    friend class ConnectionTable;
    explicit Call(std::shared_ptr<Counted> counted) : counted_(std::move(counted)) {}
    std::shared_ptr<Counted> counted_;
  };

  // What a call accounts for beside its message and metadata: frames, names that are compressed.
  static constexpr int64_t kBytesOfCall = 400;
  // A client that reads replies says so: a byte for so many that it got is accounted for.
  static constexpr int64_t kReadBytesPerByte = 128;
  // Requests that never came to a call (too large, cancelled halfway) are forgotten: as many bytes
  // as calls may account for beforehand, in so long, while calls of the connection end.
  static constexpr std::chrono::minutes kForgetsAll{10};
  // Bytes last that were there for so long, and up to twice as long: a request of an honest client
  // is a call by then, or was not much.
  static constexpr std::chrono::seconds kLasts{1};

  explicit ConnectionTable(TableOptions options);
  ConnectionTable(const ConnectionTable&) = delete;
  ConnectionTable& operator=(const ConnectionTable&) = delete;

  // Called, on the accepting thread, when the table was empty. Before the first Accept.
  void OnFirst(std::function<void()> call) { on_first_ = std::move(call); }

  enum class Outcome {
    kTaken,          // `fd` is the caller's
    kRefused,        // beyond a bound: it is closed
    kNone,           // nobody waits
    kNoDescriptors,  // nor memory; whoever waits still does
  };
  struct Accepted {
    Outcome outcome = Outcome::kNone;
    int fd = -1;  // does not block
  };
  // Takes the next connection of a socket that listens and does not block.
  [[nodiscard]] Accepted Accept(int listener);

  // A call of this peer, as gRPC names it, begins; its message and metadata have `bytes`. Of a peer
  // that is not in the table the call counts nowhere. A connection that has more than
  // TableOptions::most_calls then is shut.
  [[nodiscard]] Call Begin(std::string_view peer, int64_t bytes);

  // Forgets those that gRPC has closed; what the others are now, but those that were shut. What
  // gRPC has not taken from the system yet does not count. Without a time nothing is forgotten
  // (kForgetsAll), and what was there at the last look lasts. `streams`: all that gRPC holds, of
  // peers of which that is known.
  [[nodiscard]] std::vector<ConnectionRow> Look(std::chrono::steady_clock::time_point now = {},
                                                const StreamsOfPeers& streams = {});

  // Shuts the sockets of these, upon which gRPC ends their calls and closes them. Returns how many
  // were there.
  int Shut(std::span<const Offender> offenders);
  int Shut(const std::set<std::string>& peers);  // for ShutReason::kUnread
  // Shuts all, until gRPC has closed every one, but at most for `patience`. Whether none is left.
  bool End(std::chrono::nanoseconds patience);

  // A call came with an identity that is not believed (server/proxied_identity.h).
  void CountIgnoredIdentity() { ignored_identities_.fetch_add(1, std::memory_order_relaxed); }

  // Begun and not ended, of all connections.
  [[nodiscard]] int64_t OpenCalls() const;
  // As gRPC names it; empty: it is gone.
  [[nodiscard]] std::string Peer(uint64_t id) const;
  [[nodiscard]] bool empty() const { return size_.load(std::memory_order_relaxed) == 0; }
  [[nodiscard]] ConnectionCounts counts() const;
  [[nodiscard]] int64_t most() const { return options_.most; }

 private:
  struct Entry {
    int fd = -1;
    ino_t inode = 0;
    AddressBytes address{};  // its group
    bool free_loopback = false;
    std::shared_ptr<Counted> counted;
    // The least bytes since `lasts_since`, and in the time before.
    int64_t least = 0;
    int64_t least_before = 0;
    std::chrono::steady_clock::time_point lasts_since = {};
    int64_t ended_before = 0;  // at the last look
  };
  using Entries = std::map<uint64_t, Entry>;  // by id

  [[nodiscard]] static bool IsThere(const Entry& entry);
  [[nodiscard]] bool IsFree(const PeerAddress& peer) const;
  [[nodiscard]] bool HasRoom(const PeerAddress& peer) HG_REQUIRES(accepting_);
  void Add(int fd, const PeerAddress& peer) HG_REQUIRES(accepting_);
  [[nodiscard]] int64_t ForgivenSince(std::chrono::steady_clock::time_point before,
                                      std::chrono::steady_clock::time_point now) const;
  Entries::iterator Forget(Entries::iterator entry) HG_REQUIRES(accepting_);
  template <typename Chosen>
  void ForgetClosed(const Chosen& chosen) HG_REQUIRES(accepting_);
  bool ShutOne(const Entry& entry, ShutReason reason, bool is_mild = false) HG_REQUIRES(accepting_);
  bool ShutBy(const Entry& entry, int fd, ShutReason reason, bool is_mild) HG_REQUIRES(accepting_);
  void ShutFor(const std::shared_ptr<Counted>& counted, ShutReason reason);

  const TableOptions options_;
  std::function<void()> on_first_;

  mutable Mutex accepting_;
  Entries entries_ HG_GUARDED_BY(accepting_);
  std::unordered_map<int, uint64_t> by_fd_ HG_GUARDED_BY(accepting_);
  std::map<AddressBytes, int64_t> of_address_ HG_GUARDED_BY(accepting_);
  Penalties penalties_ HG_GUARDED_BY(accepting_);
  uint64_t next_id_ HG_GUARDED_BY(accepting_) = 1;
  std::chrono::steady_clock::time_point last_search_ HG_GUARDED_BY(accepting_);
  std::chrono::steady_clock::time_point last_look_ HG_GUARDED_BY(accepting_);
  ConnectionCounts counts_ HG_GUARDED_BY(accepting_);
  std::atomic<int64_t> size_ = 0;
  std::atomic<int64_t> ignored_identities_ = 0;

  Mutex naming_;  // after accepting_
  std::unordered_map<std::string_view, std::shared_ptr<Counted>> by_peer_ HG_GUARDED_BY(naming_);
};

}  // namespace halograph::server
