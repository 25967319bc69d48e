#include "server/listener/connection_table.h"

#include <array>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "tests/unit/server_listener/loopback.h"

namespace halograph::server {
namespace {

using Outcome = ConnectionTable::Outcome;

// Longer than a test, and without grace.
constexpr PenaltyLengths kStrict{.first = std::chrono::hours(1),
                                 .longest = std::chrono::hours(1),
                                 .grace = std::chrono::nanoseconds(0)};

class ConnectionTableTest : public testing::Test {
 protected:
  ~ConnectionTableTest() override {
    for (const int fd : taken_) close(fd);
    close(listening_.fd);
  }
  // Takes the next one as gRPC would; -1: it was refused.
  int Take(ConnectionTable* table) {
    const ConnectionTable::Accepted accepted = table->Accept(listening_.fd);
    EXPECT_TRUE(accepted.outcome == Outcome::kTaken || accepted.outcome == Outcome::kRefused);
    if (accepted.fd >= 0) taken_.insert(accepted.fd);
    return accepted.fd;
  }
  void CloseTaken(int fd) {
    close(fd);
    taken_.erase(fd);
  }
  // Reads what there is, as gRPC does.
  void Read() const {
    for (const int fd : taken_) {
      std::array<char, 4096> bytes{};
      while (recv(fd, bytes.data(), bytes.size(), 0) > 0) {
      }
    }
  }
  // Until that many bytes have come to the socket, and were read.
  ConnectionRow LookUntil(ConnectionTable* table, int64_t bytes) const {
    for (;;) {
      Read();
      const std::vector<ConnectionRow> rows = table->Look();
      if (rows.size() != 1U) return {};
      if (rows[0].bytes >= bytes) return rows[0];
    }
  }

  const ListeningSocket listening_;
  std::set<int> taken_;
};

TEST_F(ConnectionTableTest, NobodyWaitsIsNone) {
  ConnectionTable table({});
  EXPECT_EQ(table.Accept(listening_.fd).outcome, Outcome::kNone);
}

TEST_F(ConnectionTableTest, TheFirstOneIsTold) {
  ConnectionTable table({});
  int told = 0;
  table.OnFirst([&] { ++told; });
  const LoopbackClient one(listening_.port), two(listening_.port);
  const int first = Take(&table);
  EXPECT_NE(fcntl(first, F_GETFL) & O_NONBLOCK, 0);
  Take(&table);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(table.counts().now, 2);
  EXPECT_EQ(table.counts().accepted, 2);
}

TEST_F(ConnectionTableTest, CallsAreCountedFromBeginToEnd) {
  ConnectionTable table({});
  const LoopbackClient client(listening_.port);
  Take(&table);
  std::optional<ConnectionTable::Call> call(table.Begin(client.name(), 10));
  const ConnectionTable::Call second = table.Begin(client.name(), 10);
  const ConnectionTable::Call other = table.Begin("ipv4:10.0.0.1:1", 10);
  ASSERT_EQ(table.Look().size(), 1U);
  EXPECT_EQ(table.Look()[0].calls, 2);
  call.reset();
  EXPECT_EQ(table.Look()[0].calls, 1);
}

// gRPC holds streams that nobody here sees, as they were reset before they were calls.
TEST_F(ConnectionTableTest, StreamsAreThoseThatGrpcHoldsBesideTheCalls) {
  ConnectionTable table({});
  const LoopbackClient client(listening_.port);
  Take(&table);
  const ConnectionTable::Call call = table.Begin(client.name(), 10);
  const ConnectionTable::Call second = table.Begin(client.name(), 10);
  EXPECT_EQ(table.OpenCalls(), 2);
  const auto row = [&](const StreamsOfPeers& streams) {
    return table.Look(std::chrono::steady_clock::now(), streams).at(0);
  };
  EXPECT_EQ(row({{client.name(), 700}, {"ipv4:10.0.0.1:1", 9}}).streams, 698);
  EXPECT_EQ(row({{client.name(), 700}}).calls, 2);
  EXPECT_EQ(row({{client.name(), 1}}).streams, 0);
  EXPECT_EQ(row({{"ipv4:10.0.0.1:1", 9}}).streams, 0);
}

TEST_F(ConnectionTableTest, BytesThatNoCallAccountsForAreLeft) {
  ConnectionTable table({});
  const LoopbackClient client(listening_.port);
  Take(&table);
  client.Send(5000);
  EXPECT_EQ(LookUntil(&table, 5000).bytes, 5000);
  EXPECT_EQ(table.Look()[0].lasting_bytes, 5000);
  static_cast<void>(
      table.Begin(client.name(), 1280));  // a call that has ended accounts for as much
  EXPECT_EQ(table.Look()[0].bytes, 5000 - 1280 - 10 - ConnectionTable::kBytesOfCall);
  for (int i = 0; i < 20; ++i) static_cast<void>(table.Begin(client.name(), 0));
  EXPECT_EQ(table.Look()[0].bytes, 0);
}

// They are in the system's memory, which has bounds of its own.
TEST_F(ConnectionTableTest, BytesThatNobodyHasReadDoNotCount) {
  ConnectionTable table({});
  const LoopbackClient client(listening_.port);
  const int fd = Take(&table);
  client.Send(1000);
  for (int there = 0; there < 1000;) ASSERT_EQ(ioctl(fd, SIOCINQ, &there), 0);
  EXPECT_EQ(table.Look()[0].bytes, 0);
  EXPECT_EQ(LookUntil(&table, 1000).bytes, 1000);
}

TEST_F(ConnectionTableTest, WhatBelongsToNoCallIsForgottenWhileCallsEnd) {
  ConnectionTable table({.most_credit = 6000});
  const LoopbackClient client(listening_.port);
  Take(&table);
  client.Send(4000);
  EXPECT_EQ(LookUntil(&table, 4000).bytes, 4000);
  std::chrono::steady_clock::time_point now(std::chrono::hours(1));
  const auto later = [&] { return table.Look(now += std::chrono::seconds(1))[0].bytes; };
  static_cast<void>(later());
  EXPECT_EQ(later(), 4000) << "no call has ended";
  static_cast<void>(table.Begin(client.name(), 0));
  EXPECT_EQ(later(), 4000 - ConnectionTable::kBytesOfCall - 10);
  EXPECT_EQ(later(), 4000 - ConnectionTable::kBytesOfCall - 10);
}

TEST_F(ConnectionTableTest, NewBytesDoNotLastYet) {
  ConnectionTable table({});
  const LoopbackClient client(listening_.port);
  Take(&table);
  client.Send(100);
  LookUntil(&table, 100);
  client.Send(900);
  ConnectionRow row = LookUntil(&table, 1000);
  EXPECT_LT(row.lasting_bytes, 1000);
  EXPECT_EQ(table.Look()[0].lasting_bytes, 1000);
}

TEST_F(ConnectionTableTest, CreditOfSmallCallsIsCapped) {
  ConnectionTable table({.most_credit = 1000});
  const LoopbackClient client(listening_.port);
  Take(&table);
  for (int i = 0; i < 1000; ++i) static_cast<void>(table.Begin(client.name(), 0));
  EXPECT_EQ(table.Look()[0].bytes, 0);
  client.Send(2500);
  EXPECT_EQ(LookUntil(&table, 1500).bytes, 1500);
}

TEST_F(ConnectionTableTest, AnOffenderIsShutOnceAndForgottenWhenItIsClosed) {
  ConnectionTable table({});
  const LoopbackClient client(listening_.port);
  const int fd = Take(&table);
  const std::vector<Offender> offenders = {{.id = table.Look()[0].id, .offence = Offence::kBytes}};
  EXPECT_EQ(table.Shut(offenders), 1);
  EXPECT_TRUE(client.IsClosed());
  EXPECT_TRUE(table.Look().empty());  // it counts no more
  EXPECT_EQ(table.counts().now, 1);   // but is there until it is closed
  CloseTaken(fd);
  EXPECT_EQ(table.Shut(offenders), 0);
  EXPECT_TRUE(table.Look().empty());
  EXPECT_EQ(table.counts().now, 0);
  EXPECT_EQ(table.counts().shut[static_cast<size_t>(ShutReason::kBytes)], 1);
}

TEST_F(ConnectionTableTest, ADescriptorThatAnotherSocketHasIsNotShut) {
  ConnectionTable table({});
  const LoopbackClient client(listening_.port);
  const int fd = Take(&table);
  const std::vector<Offender> offenders = {{.id = table.Look()[0].id, .offence = Offence::kCalls}};
  const ListeningSocket elsewhere;
  const LoopbackClient other(elsewhere.port);
  int foreign = -1;
  while (foreign < 0) foreign = accept(elsewhere.fd, nullptr, nullptr);
  ASSERT_EQ(dup2(foreign, fd), fd);  // closes it, and takes its number
  EXPECT_EQ(table.Shut(offenders), 0);
  EXPECT_EQ(table.Shut(std::set<std::string>{client.name()}), 0);
  EXPECT_TRUE(table.Look().empty());
  EXPECT_EQ(send(foreign, "x", 1, MSG_NOSIGNAL), 1);
  EXPECT_FALSE(other.IsClosed());
  close(foreign);
  close(elsewhere.fd);
}

TEST_F(ConnectionTableTest, ANumberThatIsGivenAgainIsTheNewConnections) {
  ConnectionTable table({});
  const LoopbackClient old(listening_.port), client(listening_.port);
  const int fd = Take(&table);
  const ConnectionTable::Call call = table.Begin(old.name(), 0);
  CloseTaken(fd);
  ASSERT_EQ(Take(&table), fd);  // the lowest that is free
  EXPECT_EQ(table.counts().now, 1);
  ASSERT_EQ(table.Look().size(), 1U);
  EXPECT_EQ(table.Look()[0].calls, 0);  // those of the old one are not its own
  EXPECT_EQ(table.Shut(std::set<std::string>{old.name()}), 0);
  EXPECT_EQ(table.Shut(std::set<std::string>{client.name()}), 1);
}

TEST_F(ConnectionTableTest, BeyondTheBoundOfAllOneIsClosedAtOnceUntilThereIsRoom) {
  ConnectionTable table({.most = 2});
  const LoopbackClient one(listening_.port), two(listening_.port), three(listening_.port);
  const int first = Take(&table);
  Take(&table);
  EXPECT_EQ(Take(&table), -1);
  EXPECT_TRUE(three.IsClosed());
  EXPECT_EQ(table.counts().refused_all, 1);
  CloseTaken(first);
  static_cast<void>(table.Look());
  const LoopbackClient four(listening_.port);
  EXPECT_GE(Take(&table), 0);
}

TEST_F(ConnectionTableTest, BeyondTheBoundOfItsAddressOneIsClosedAtOnce) {
  ConnectionTable table({.most_of_address = 1, .loopback_is_free = false});
  const LoopbackClient one(listening_.port), two(listening_.port);
  const LoopbackClient other(listening_.port, "127.0.0.2");
  const int first = Take(&table);
  EXPECT_EQ(Take(&table), -1);
  EXPECT_TRUE(two.IsClosed());
  EXPECT_GE(Take(&table), 0);
  EXPECT_EQ(table.counts().refused_address, 1);
  CloseTaken(first);  // without a look: the address has room at once
  const LoopbackClient three(listening_.port);
  EXPECT_GE(Take(&table), 0);
}

TEST_F(ConnectionTableTest, LoopbackAndTrustedProxiesMayHaveMore) {
  const std::vector<std::string> proxies = {"127.0.0.2"};
  ConnectionTable table({.most_of_address = 1,
                         .loopback_is_free = false,
                         .trusted_proxies = AddressRanges::Parse(proxies).value()});
  const LoopbackClient one(listening_.port, "127.0.0.2"), two(listening_.port, "127.0.0.2");
  EXPECT_GE(Take(&table), 0);
  EXPECT_GE(Take(&table), 0);
  EXPECT_TRUE(table.Look()[0].alone);
  EXPECT_TRUE(table.Begin(one.name(), 0).from_proxy());
  ConnectionTable open({.most_of_address = 1});
  const LoopbackClient three(listening_.port), four(listening_.port);
  EXPECT_GE(Take(&open), 0);
  EXPECT_GE(Take(&open), 0);
  EXPECT_FALSE(open.Begin(three.name(), 0).from_proxy());
}

TEST_F(ConnectionTableTest, MoreCallsThanMayBeShutTheirConnectionAtOnce) {
  ConnectionTable table({.most_calls = 2});
  const LoopbackClient client(listening_.port);
  Take(&table);
  const ConnectionTable::Call one = table.Begin(client.name(), 0);
  const ConnectionTable::Call two = table.Begin(client.name(), 0);
  EXPECT_FALSE(two.shut());
  const ConnectionTable::Call three = table.Begin(client.name(), 0);
  EXPECT_TRUE(three.shut());
  EXPECT_TRUE(client.IsClosed());
  EXPECT_EQ(table.counts().shut[static_cast<size_t>(ShutReason::kCalls)], 1);
}

TEST_F(ConnectionTableTest, WhatAnOffenderHasSentIsDropped) {
  ConnectionTable table({});
  const LoopbackClient client(listening_.port);
  const int fd = Take(&table);
  client.Send(5000);
  LookUntil(&table, 5000);
  const std::vector<Offender> offenders = {{.id = table.Look()[0].id, .offence = Offence::kBytes}};
  EXPECT_EQ(table.Shut(offenders), 1);
  char byte = 0;
  EXPECT_LE(recv(fd, &byte, 1, 0), 0);
}

TEST_F(ConnectionTableTest, AnAddressOfWhichMoreIsShutDefiesButFreeLoopback) {
  for (const bool is_free : {false, true}) {
    ConnectionTable table({.loopback_is_free = is_free, .most_calls = 0, .penalties = kStrict});
    const LoopbackClient first(listening_.port), second(listening_.port), same(listening_.port);
    const LoopbackClient other(listening_.port, "127.0.0.2");
    for (int i = 0; i < 4; ++i) Take(&table);
    for (const bool again : {false, true}) {
      static_cast<void>(table.Begin(again ? second.name() : first.name(), 0));
      const std::vector<ConnectionRow> rows = table.Look();
      ASSERT_EQ(rows.size(), again ? 2U : 3U);
      for (const ConnectionRow& row : rows) {
        const bool is_other = table.Peer(row.id) == other.name();
        EXPECT_EQ(row.defies, !is_free && again && !is_other);
      }
    }
  }
}

TEST_F(ConnectionTableTest, WhatManyHonestClientsMayDoIsNoDefiance) {
  ConnectionTable table({.loopback_is_free = false, .penalties = kStrict});
  const LoopbackClient first(listening_.port), second(listening_.port), third(listening_.port);
  for (int i = 0; i < 3; ++i) Take(&table);
  for (int i = 0; i < 2; ++i) {
    const std::vector<Offender> mild = {{.id = table.Look().at(0).id, .is_mild = true}};
    EXPECT_EQ(table.Shut(mild), 1);
  }
  EXPECT_FALSE(table.Look().at(0).defies);
}

TEST_F(ConnectionTableTest, NobodyConnectsFromAnOffendersAddressForAWhile) {
  ConnectionTable table({.most_calls = 0, .penalties = kStrict});
  const LoopbackClient client(listening_.port), again(listening_.port);
  const LoopbackClient other(listening_.port, "127.0.0.2");
  Take(&table);
  static_cast<void>(table.Begin(client.name(), 0));
  EXPECT_EQ(Take(&table), -1);
  EXPECT_GE(Take(&table), 0);  // another address
  EXPECT_EQ(table.counts().refused_penalty, 1);
  ConnectionTable forgiving({.most_calls = 0, .penalties = {.first = std::chrono::nanoseconds(0)}});
  const LoopbackClient first(listening_.port), second(listening_.port);
  EXPECT_GE(Take(&forgiving), 0);
  static_cast<void>(forgiving.Begin(first.name(), 0));
  EXPECT_GE(Take(&forgiving), 0);
}

TEST_F(ConnectionTableTest, EndShutsAllAndWaitsUntilTheyAreClosed) {
  ConnectionTable table({});
  const LoopbackClient client(listening_.port);
  const int fd = Take(&table);
  EXPECT_FALSE(table.End(std::chrono::nanoseconds(0)));
  EXPECT_TRUE(client.IsClosed());
  CloseTaken(fd);
  EXPECT_TRUE(table.End(std::chrono::minutes(1)));
}

}  // namespace
}  // namespace halograph::server
