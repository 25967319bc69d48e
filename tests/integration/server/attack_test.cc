// What gRPC 1.51 leaves open (docs/security.md), tried from raw sockets of another process against
// a server in this one, while a client calls it.
#include <algorithm>
#include <fstream>
#include <functional>

#include <gmock/gmock.h>

#include "common/base/sanitizers.h"
#include "server/open_streams.h"
#include "tests/integration/server/attacked_server.h"
#include "tests/integration/server/attackers.h"
#include "tests/integration/server/attacks.h"
#include "tests/integration/server/raw_http2.h"

namespace halograph::server {
namespace {

using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kLongest{2};
// All that an address may have, but of loopback: so many are enough.
constexpr int kManyConnections = 64;
// What a server may take more; without the bounds it is gigabytes.
constexpr size_t kMostMemory = 200 << 20;
constexpr size_t kMostMemoryOfMany = 512 << 20;

class AttackBase : public AttackedServerTest {
 protected:
  static size_t ResidentBytes() {
    constexpr size_t kPage = 4096;
    size_t all = 0;
    size_t resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident * kPage;
  }

  double Accepted() { return Metric("halograph_server_connections_accepted_total"); }

  // From so many connections of another address, until the attack has begun and a client, all whose
  // calls are answered, has had `done` give true.
  void Suffer(const Attack& attack, int connections, const std::function<bool()>& done) {
    const double accepted = Accepted();
    bool begun = false;
    // What tests before this one took may not have gone back to the system.
    const size_t memory_before = ResidentBytes();
    size_t memory = memory_before;
    const auto give_up = Clock::now() + kLongest;
    bool ended = false;
    {
      const Attackers attackers(attack, connections, Port());
      do {
        const RawReply reply = CallWithin(channel_, kDeadline);
        EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
        memory = std::max(memory, ResidentBytes());
        begun = begun || Accepted() > accepted;
        ended = begun && done();
      } while (!HasFailure() && !ended && Clock::now() < give_up);
    }
    EXPECT_TRUE(ended) << (begun ? "the attack goes on" : "nobody has attacked");
    EXPECT_TRUE(CallWithin(channel_, kDeadline).status.ok());
    EXPECT_TRUE(CallWithin(Connect(server_->address()), kDeadline).status.ok());
    if (!kSanitizerAllocator) {
      EXPECT_LT(memory - memory_before, connections == 1 ? kMostMemory : kMostMemoryOfMany);
    }
    RecordProperty("resident_mb", static_cast<int>(memory >> 20));
  }
};

std::vector<std::pair<size_t, int>> Cases() {
  std::vector<std::pair<size_t, int>> cases;
  for (size_t i = 0; i < Attacks().size(); ++i) {
    cases.emplace_back(i, 1);
    if (Attacks()[i].from_many) cases.emplace_back(i, kManyConnections);
  }
  return cases;
}

std::string NameOfCase(const testing::TestParamInfo<std::pair<size_t, int>>& info) {
  return std::string(Attacks()[info.param.first].name) + "From" + std::to_string(info.param.second);
}

class AttackTest : public AttackBase, public testing::WithParamInterface<std::pair<size_t, int>> {};

// Until a rule has ended one, or a few calls have passed.
TEST_P(AttackTest, LeavesOthersServed) {
  const auto& [which, connections] = GetParam();
  const Attack& attack = Attacks()[which];
  ServerOptions options = AttackedOptions();
  options.unaccounted_bytes = 8 << 20;  // so that it is soon reached
  Start(options);
  int calls = 0;
  Suffer(attack, connections, [&] { return ++calls >= 3 && (!attack.is_shut || Shut() > 0); });
}

INSTANTIATE_TEST_SUITE_P(Short, AttackTest, testing::ValuesIn(Cases()), NameOfCase);

class AttackLongTest : public AttackTest {};

// By the defaults.
TEST_P(AttackLongTest, LeavesOthersServed) {
  const auto& [which, connections] = GetParam();
  const Attack& attack = Attacks()[which];
  Start(AttackedOptions());
  const auto until = Clock::now() + seconds(15);
  Suffer(attack, connections, [&] { return Clock::now() > until; });
  if (attack.is_shut) {
    EXPECT_GT(Shut(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Long, AttackLongTest, testing::ValuesIn(Cases()), NameOfCase);

// What an address may have of all its connections together, none of which is beyond its own bound.
class AddressTest : public AttackedServerTest {
 protected:
  using Connections = std::vector<std::unique_ptr<RawConnection>>;
  [[nodiscard]] Connections Connect64() const {
    Connections connections;
    for (int i = 0; i < kManyConnections; ++i) {
      connections.push_back(std::make_unique<RawConnection>(Port(), "127.0.0.2"));
      EXPECT_TRUE(connections.back()->Send(RawConnection::Preface()));
    }
    return connections;
  }
};

TEST_F(AddressTest, TheCallsOfAllItsConnectionsAreBounded) {
  Start(AttackedOptions());
  EXPECT_EQ(Shut(), 0);
  const Connections connections = Connect64();
  constexpr uint32_t kCalls = 20;  // whose replies have no room; 1,280 together
  std::string calls = Frame(FrameKind::kSettings, 0, 0, std::string("\0\x4\0\0\0\0", 6));
  for (uint32_t i = 0; i < kCalls; ++i) {
    calls += Frame(FrameKind::kHeaders, kEndHeaders, 1 + 2 * i, HeaderBlock(CallFields(kStats)));
    calls += Frame(FrameKind::kData, kEndStream, 1 + 2 * i, std::string(5, '\0'));
  }
  for (const auto& connection : connections) EXPECT_TRUE(connection->Send(calls));
  Await([&] { return Shut() > 0; });
  EXPECT_TRUE(CallWithin(channel_, kDeadline).status.ok());
}

TEST_F(AddressTest, OneConnectionMoreIsClosedAtOnce) {
  Start(AttackedOptions());
  const Connections connections = Connect64();
  RawConnection more(Port(), "127.0.0.2");
  Await([&] { return !more.Send(""); });
  EXPECT_EQ(Metric("halograph_server_connections_refused_total"), 1);
  EXPECT_TRUE(connections.front()->Send(""));
  EXPECT_TRUE(CallWithin(Connect(server_->address()), kDeadline).status.ok());
}

// gRPC's own count, of two connections that have more streams open than any that are asked about.
class OpenStreamsTest : public AttackedServerTest {
 protected:
  static constexpr uint32_t kStreams = 200;
  // Requests that do not end, so that none is a call.
  static std::string Unfinished() {
    std::string bytes = RawConnection::Preface();
    for (uint32_t i = 0; i < kStreams; ++i) {
      bytes += Frame(FrameKind::kHeaders, kEndHeaders, 1 + 2 * i, HeaderBlock(CallFields(kPull)));
    }
    return bytes;
  }
  // Peers of which gRPC holds so many.
  static int Busy() {
    int busy = 0;
    for (const auto& [peer, streams] : CountOpenStreams(0)) busy += streams == kStreams ? 1 : 0;
    return busy;
  }
};

TEST_F(OpenStreamsTest, AreCountedByPeerAndGoneWithTheConnection) {
  Start(Options());
  for (int round = 0; round < 2; ++round) {  // the second is seen as the first was
    {
      RawConnection one(Port(), "127.0.0.2"), two(Port(), "127.0.0.2");
      EXPECT_TRUE(one.Send(Unfinished()));
      EXPECT_TRUE(two.Send(Unfinished()));
      Await([] { return Busy() == 2; });
      EXPECT_TRUE(CountOpenStreams(2 * kStreams).empty()) << "all of them are known";
    }
    Await([] { return CountOpenStreams(0).empty(); });
  }
}

// A stream that was reset early is no call that gRPC has for ever.
TEST_F(OpenStreamsTest, OfResetsNothingStays) {
  Start(AttackedOptions());
  const auto resets = std::find_if(Attacks().begin(), Attacks().end(), [](const Attack& attack) {
    return attack.name == std::string("EarlyResets");
  });
  {
    RawConnection connection(Port(), "127.0.0.2");
    EXPECT_TRUE(connection.Send(RawConnection::Preface()));
    for (int round = 0; connection.Send(resets->send(round)); ++round) {
    }
  }
  EXPECT_GT(Shut(), 0);
  // Not a single one: any would have the connections asked about.
  Await([] { return CountOpenStreams(-kFewCalls).empty(); });
}

class EndedTest : public AttackedServerTest {};

TEST_F(EndedTest, AConnectionThatPingsForEverIsEndedByGrpc) {
  Start(Options());
  RawConnection pings(Port(), "127.0.0.2");
  ASSERT_TRUE(pings.Send(RawConnection::Preface()));
  Await([&] { return !pings.Send(Pings(0)); });
  EXPECT_EQ(Shut(), 0) << "by a rule";
}

TEST_F(EndedTest, AConnectionThatDoesNotBeginIsClosed) {
  Start(Options());
  RawConnection silent(Port(), "127.0.0.2");
  Await([&] { return !silent.Send(""); });
}

TEST_F(EndedTest, AConnectionThatIsIdleForLongIsClosed) {
  ServerOptions options = Options();
  options.connection_idle = seconds(1);
  Start(options);
  ASSERT_TRUE(RawCall(channel_, kDescribe, "").status.ok());
  Await([&] { return channel_->GetState(false) == GRPC_CHANNEL_IDLE; });
  EXPECT_TRUE(CallWithin(channel_, kDeadline).status.ok());
}

class OddHeaderTest : public AttackedServerTest {};

// CVE-2023-1428 and its like: this version lives, and is to go on doing so.
TEST_F(OddHeaderTest, TheServerLives) {
  Start(Options());
  for (const auto& [name, value] :
       HeaderFields{{"te", "nothing"}, {":scheme", "gopher"}, {"grpclb_client_stats", "x"}}) {
    HeaderFields fields = CallFields(kStats);
    std::erase_if(fields, [&, n = name](const auto& field) { return field.first == n; });
    fields.insert(fields.begin(), {name, value});
    fields.emplace_back("x-long", std::string(9 << 10, 'a'));
    RawConnection connection(Port(), "127.0.0.2");
    static_cast<void>(connection.Send(RawConnection::Preface()));
    static_cast<void>(
        connection.Send(Frame(FrameKind::kHeaders, kEndHeaders, 1, HeaderBlock(fields)) +
                        Frame(FrameKind::kData, kEndStream, 1, std::string(5, '\0'))));
    EXPECT_TRUE(RawCall(channel_, kStats, "").status.ok()) << name;
  }
}

}  // namespace
}  // namespace halograph::server
