// Looks at a server's connections now and then, and ends those that the rules choose
// (server/listener/connection_rules.h). Look is for one thread; shut() for any.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "common/base/line_limit.h"
#include "common/base/stopwatch.h"
#include "server/listener/connection_rules.h"
#include "server/listener/connection_table.h"

namespace halograph::server {

class ConnectionGuard {
 public:
  using Clock = std::chrono::steady_clock;

  // Between two looks while there are connections, at least, and 20 times what a look takes of a
  // processor: what a connection may send meanwhile is beyond the bounds. A look that had to wait,
  // as it may when many attack, must not be followed by a long rest.
  static constexpr std::chrono::milliseconds kPace{50};
  static constexpr int kRestPerLook = 20;

  // Asked at each look, with the open calls that the table has, for what only gRPC knows.
  using CountStreams = std::function<StreamsOfPeers(int64_t open_calls)>;
  using ThreadTime = std::function<std::chrono::nanoseconds()>;
  // `table` outlives it.
  ConnectionGuard(ConnectionTable* table, ConnectionBounds bounds, CountStreams count_streams,
                  ThreadTime thread_time = ProcessorTimeOfThread)
      : table_(*table),
        bounds_(bounds),
        count_streams_(std::move(count_streams)),
        thread_time_(std::move(thread_time)) {}

  // One look, if it is due; after how long the next is. What it ends is logged, at most once a
  // second.
  std::chrono::nanoseconds Look(Clock::time_point now);
  // Connections that rules have ended so far.
  [[nodiscard]] int64_t shut() const;

 private:
  void Tell();

  ConnectionTable& table_;
  const ConnectionBounds bounds_;
  const CountStreams count_streams_;
  const ThreadTime thread_time_;
  Clock::time_point due_;
  LineLimit lines_{1};
  // Of those that were shut by a rule; of these, for their address.
  int64_t told_ = 0;
  int64_t told_others_ = 0;
  Offender example_;  // one of them that was not told yet, if its peer is not empty
  std::string example_peer_;
};

}  // namespace halograph::server
