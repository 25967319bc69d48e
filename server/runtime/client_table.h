// Who calls a server: told apart by host and rank, as the trainers of a run are, since a trainer
// has several connections. A client comes with its first call, and has left when it has not called
// for a while. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/mutex.h"

namespace halograph::server {

class ClientTable {
 public:
  using Clock = std::chrono::steady_clock;

  // How long a client is silent that has left, and how many are known at a time: calls of more are
  // served and not counted here.
  static constexpr std::chrono::seconds kSilence{60};
  static constexpr size_t kMost = 1024;

  struct Client {
    std::string host;
    std::string rank;  // "-": none
    int64_t calls = 0;
    int64_t errors = 0;
    int64_t sent_bytes = 0;
    int64_t in_flight = 0;
    Clock::time_point first;
    Clock::time_point last;  // began or ended a call
  };

  // A call begins. True if its client comes with it.
  [[nodiscard]] bool Begin(std::string_view host, std::string_view rank, Clock::time_point now);
  // It ends. Once for each Begin, with the same host and rank.
  void End(std::string_view host, std::string_view rank, bool ok, int64_t sent_bytes,
           Clock::time_point now);
  // Those who called last, the last of them first, at most so many.
  [[nodiscard]] std::vector<Client> Latest(size_t most) const;
  // Those who have left since the last time.
  [[nodiscard]] std::vector<Client> TakeLeft(Clock::time_point now);
  [[nodiscard]] int64_t size() const;

 private:
  mutable Mutex mutex_;
  std::map<std::pair<std::string, std::string>, Client> clients_ HG_GUARDED_BY(mutex_);
};

// The host of gRPC's name of a peer: "127.0.0.1" of "ipv4:127.0.0.1:7000".
[[nodiscard]] std::string HostOfPeer(std::string_view peer);

}  // namespace halograph::server
