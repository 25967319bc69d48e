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
  // At least `first`. So long after the end of a penalty it is forgotten: the next is a first one.
  std::chrono::nanoseconds longest = std::chrono::minutes(1);
  // Connections of an address may take too much at the same moment; later it is defiance.
  std::chrono::nanoseconds grace = std::chrono::milliseconds(100);
};

class Penalties {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Penalties(PenaltyLengths lengths) : lengths_(lengths) {}

  // A connection of `address` was shut. A penalty that holds begins again, with the length that it
  // has. Else a new one begins: the first, or one twice as long as that before. One that does not
  // count is as long as a first one, makes none longer, and is no defiance.
  void Impose(const AddressBytes& address, Time now, bool counts);
  [[nodiscard]] bool Holds(const AddressBytes& address, Time now) const;
  // A penalty holds, and another that counts was imposed after its grace: connections that are open
  // go on as the first one did.
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
