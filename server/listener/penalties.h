// Addresses from which nobody may connect for a while, as a rule has shut a connection of theirs.
// Who comes back and takes too much again waits twice as long, and so on: what one address costs a
// server is then rare, however much it is at a time. Not thread-safe.
#pragma once

#include <chrono>
#include <map>

#include "server/listener/peer_address.h"

namespace halograph::server {

struct PenaltyLengths {
  std::chrono::nanoseconds first = std::chrono::seconds(1);
  // Also how long an address is remembered after its penalty: the next is then a first one.
  std::chrono::nanoseconds longest = std::chrono::minutes(1);
};

class Penalties {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Penalties(PenaltyLengths lengths) : lengths_(lengths) {}

  // A connection of `address` was shut. The penalty begins, or begins anew: one that holds becomes
  // no longer for it, as several connections of an address may take too much. `grows`: else each is
  // as long as the first.
  void Impose(const AddressBytes& address, Time now, bool grows);
  [[nodiscard]] bool Holds(const AddressBytes& address, Time now) const;
  // It holds, and was imposed again since it began: connections that were open go on as the first.
  [[nodiscard]] bool WasDefied(const AddressBytes& address, Time now) const;
  // Gives back the memory of those that are over for so long that they do not count any more.
  void Forget(Time now);

 private:
  struct Penalty {
    std::chrono::nanoseconds length{};
    Time begin;
    Time end;
    bool defied = false;
  };
  [[nodiscard]] bool IsForgotten(const Penalty& penalty, Time now) const;

  const PenaltyLengths lengths_;
  std::map<AddressBytes, Penalty> penalties_;
};

}  // namespace halograph::server
