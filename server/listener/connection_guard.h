// Looks at a server's connections now and then, and ends those that the rules choose
// (server/listener/connection_rules.h). One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>

#include "server/listener/connection_rules.h"
#include "server/listener/connection_table.h"

namespace halograph::server {

class ConnectionGuard {
 public:
  using Clock = std::chrono::steady_clock;

  // Between two looks while there are connections: what a connection may send meanwhile is beyond
  // the bounds.
  static constexpr std::chrono::milliseconds kPace{50};

  // `table` outlives it.
  ConnectionGuard(ConnectionTable* table, ConnectionBounds bounds)
      : table_(*table), bounds_(bounds) {}

  // One look. What it ends is logged, at most once a second.
  void Look(Clock::time_point now);

 private:
  ConnectionTable& table_;
  const ConnectionBounds bounds_;
  Clock::time_point told_;
  int64_t untold_ = 0;  // shut, and not logged yet
  Offender example_;    // one of them
};

}  // namespace halograph::server
