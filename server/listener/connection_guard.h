// Looks at a server's connections now and then, and ends those that the rules choose
// (server/listener/connection_rules.h). One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "common/base/line_limit.h"
#include "server/listener/connection_rules.h"
#include "server/listener/connection_table.h"

namespace halograph::server {

class ConnectionGuard {
 public:
  using Clock = std::chrono::steady_clock;

  // Between two looks while there are connections, at least, and 20 times what a look takes: what a
  // connection may send meanwhile is beyond the bounds.
  static constexpr std::chrono::milliseconds kPace{50};
  static constexpr int kRestPerLook = 20;

  // `table` outlives it.
  ConnectionGuard(ConnectionTable* table, ConnectionBounds bounds)
      : table_(*table), bounds_(bounds) {}

  // One look, if it is due; after how long the next is. What it ends is logged, at most once a
  // second.
  std::chrono::nanoseconds Look(Clock::time_point now);
  // Connections that rules have ended so far.
  [[nodiscard]] int64_t shut() const;

 private:
  void Tell();

  ConnectionTable& table_;
  const ConnectionBounds bounds_;
  Clock::time_point due_;
  LineLimit lines_{1};
  int64_t told_ = 0;  // of those that were shut by a rule
  Offender example_;  // one of them that was not told yet, if its peer is not empty
  std::string example_peer_;
};

}  // namespace halograph::server
