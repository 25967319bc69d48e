#include "server/listener/connection_guard.h"

#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/server_listener/loopback.h"

namespace halograph::server {
namespace {

using std::chrono::milliseconds;

// Only what a look takes of a processor makes the rest longer: not a wait for one, which is longest
// when many connections send as much as they can.
TEST(ConnectionGuardTest, RestsAfterALookByTheProcessorTimeThatItTook) {
  const ListeningSocket listening;
  ConnectionTable table({});
  const LoopbackClient client(listening.port);
  const ConnectionTable::Accepted accepted = table.Accept(listening.fd);
  ASSERT_EQ(accepted.outcome, ConnectionTable::Outcome::kTaken);
  milliseconds time{0};
  milliseconds of_a_look{10};
  ConnectionGuard guard(
      &table, {}, [](int64_t) { return StreamsOfPeers(); }, [&] { return time += of_a_look; });
  const auto now = ConnectionGuard::Clock::now();
  EXPECT_EQ(guard.Look(now), 10 * milliseconds(ConnectionGuard::kRestPerLook));
  EXPECT_EQ(guard.Look(now + milliseconds(50)), milliseconds(150)) << "is not due";
  of_a_look = milliseconds(0);
  EXPECT_EQ(guard.Look(now + milliseconds(200)), ConnectionGuard::kPace);
  close(accepted.fd);
}

TEST(ConnectionGuardTest, EndsWhoHasTooManyStreamsThatAreNoCalls) {
  const ListeningSocket listening;
  ConnectionTable table({});
  const LoopbackClient client(listening.port);
  const ConnectionTable::Accepted accepted = table.Accept(listening.fd);
  int64_t streams = kMostCalls;
  ConnectionGuard guard(&table, {}, [&](int64_t) {
    return StreamsOfPeers{{client.name(), streams}};
  });
  auto now = ConnectionGuard::Clock::now();
  now += guard.Look(now);
  EXPECT_EQ(guard.shut(), 0);
  ++streams;
  guard.Look(now);
  EXPECT_EQ(guard.shut(), 1);
  close(accepted.fd);
}

// The default: a thread that waits takes nothing of a processor.
TEST(ConnectionGuardTest, AThreadThatDoesNotRunTakesNoProcessorTime) {
  const auto before = ProcessorTimeOfThread();
  std::thread other([] {
    for (const auto begin = ProcessorTimeOfThread();
         ProcessorTimeOfThread() - begin < milliseconds(20);) {
    }
  });
  other.join();
  EXPECT_LT(ProcessorTimeOfThread() - before, milliseconds(20));
}

}  // namespace
}  // namespace halograph::server
