// Which connections are ended. What gRPC holds of a connection before a call of it begins nobody
// here sees; what its socket has received, what its calls account for, and how many streams gRPC
// holds of it is known. Three figures tell one that takes more than it may: calls begun and not
// ended, streams that are no calls, and received bytes that no call accounts for. A pure function
// over the rows of a table.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "server/listener/peer_address.h"

namespace halograph::server {

// One connection at a look at the table.
struct ConnectionRow {
  uint64_t id = 0;
  AddressBytes address{};
  bool alone = false;         // a trusted proxy's: its address is that of many clients
  bool calls_alone = false;   // so are its calls: loopback's, as all programs of a machine have it
  bool defies = false;        // of its address others were shut, and more again at once
  int64_t calls = 0;          // begun and not ended
  int64_t streams = 0;        // beside these: not a call yet, or no longer, but not freed
  int64_t bytes = 0;          // received, that no call accounts for; at least 0
  int64_t lasting_bytes = 0;  // the least that they were for a while (ConnectionTable::kLasts)
};

inline constexpr int64_t kMostCalls = 1024;  // begun and not ended

struct ConnectionBounds {
  // Of a connection with its streams; of an address, of calls and of streams.
  int64_t calls = kMostCalls;
  int64_t bytes = 20 << 20;  // of a connection, that last
  // Of those of an address, or of one connection, at once: more than gRPC takes in of requests.
  int64_t address_bytes = 100 << 20;
  int64_t all_bytes = std::numeric_limits<int64_t>::max();  // of all together, at once
};

enum class Offence : uint8_t { kCalls, kStreams, kBytes, kAddress };
// Of what there is too much; nothing for kAddress.
[[nodiscard]] std::string_view OffenceText(Offence offence);

struct Offender {
  uint64_t id = 0;
  Offence offence = Offence::kCalls;
  int64_t amount = 0;
  int64_t bound = 0;            // that this is beyond
  std::string_view whose = {};  // the amount: the connection's own, or that of several
  bool is_mild = false;         // many honest clients of an address may do so together
};

// Those beyond a bound: first each by itself, of whose bytes those count that last: honest requests
// that are under way are calls after a while. Then, of an address whose other connections together
// exceed its bound, those with most, until the rest does not; connections that stand alone are left
// out of this. Then the same of the bytes of all that are left. Last those whose address goes on
// although others of it were shut: there may be as much behind each of them. Each id once.
[[nodiscard]] std::vector<Offender> ChooseOffenders(std::span<const ConnectionRow> rows,
                                                    const ConnectionBounds& bounds);

}  // namespace halograph::server
