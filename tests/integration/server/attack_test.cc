// What gRPC 1.51 leaves open (docs/security.md), tried from raw sockets against a server in this
// process, while another client calls it; and load of honest clients, which must not be taken for
// it.
#include <atomic>
#include <fstream>
#include <functional>

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include "common/base/host_port.h"
#include "common/base/sanitizers.h"
#include "common/base/wall_clock.h"
#include "halograph/v1/admin.pb.h"
#include "tests/integration/server/raw_http2.h"
#include "tests/integration/server/server_fixture.h"
#include "tests/support/test_ca.h"

namespace halograph::server {
namespace {

using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr char kPushMethod[] = "/halograph.v1.KVService/Push";
// All that an address may have, but of loopback: so many are enough.
constexpr int kManyConnections = 64;
// What a server may take more; without the bounds it is gigabytes. The threads of many attackers
// are in this process, and let them get further before a rule has a look.
constexpr size_t kMostMemory = 200 << 20;
constexpr size_t kMostMemoryOfMany = 512 << 20;

// What a connection of an attacker sends in its n-th round, after the preface.
using Attack = std::function<std::string(int round)>;

// Streams that are opened and reset at once; `whole`: their requests are whole by then.
std::string Resets(int round, bool whole, const char* path = kStats) {
  constexpr int kStreams = 100;
  const HeaderFields fields = CallFields(path);
  std::string bytes;
  for (int i = 0; i < kStreams; ++i) {
    const auto stream = static_cast<uint32_t>(1 + 2 * (round * kStreams + i));
    bytes += Frame(FrameKind::kHeaders, kEndHeaders, stream,
                   stream == 1 ? HeaderBlock(fields, true) : TableBlock(fields.size()));
    if (whole) bytes += Frame(FrameKind::kData, kEndStream, stream, std::string(5, '\0'));
    bytes += Frame(FrameKind::kReset, 0, stream, std::string("\0\0\0\x08", 4));  // cancelled
  }
  return bytes;
}
std::string WholeResets(int round) { return Resets(round, true); }
std::string EarlyResets(int round) { return Resets(round, false); }
// Of what our own table of methods does not have.
std::string HealthResets(int round) { return Resets(round, true, "/grpc.health.v1.Health/Check"); }
std::string WatchResets(int round) { return Resets(round, true, "/grpc.health.v1.Health/Watch"); }
std::string UnknownResets(int round) { return Resets(round, true, "/nosuch.Service/Method"); }

// A header block that never ends.
std::string EndlessBlock(int round) {
  if (round == 0) return Frame(FrameKind::kHeaders, 0, 1, HeaderBlock(CallFields(kStats)));
  static const std::string piece =
      Frame(FrameKind::kContinuation, 0, 1, HeaderBlock({{"x-a", std::string(16000, 'a')}}));
  return piece;
}

// The same, a byte a frame.
std::string EndlessDrops(int round) {
  if (round == 0) return EndlessBlock(0);
  static const std::string pieces = [] {
    std::string frames;
    for (const char byte : HeaderBlock({{"x-a", std::string(1000, 'a')}})) {
      frames += Frame(FrameKind::kContinuation, 0, 1, {&byte, 1});
    }
    return frames;
  }();
  return pieces;
}

// Requests of which the end never comes: as many as a connection may have, and what it may send of
// them at first.
std::string Unfinished(int round) {
  if (round > 0) return "";
  constexpr uint32_t kStreams = 250;
  constexpr size_t kSent = 240;  // of each: all together are a first window
  std::string bytes;
  for (uint32_t i = 0; i < kStreams; ++i) {
    bytes += Frame(FrameKind::kHeaders, kEndHeaders, 1 + 2 * i, HeaderBlock(CallFields(kPull)));
    bytes += Frame(FrameKind::kData, 0, 1 + 2 * i,
                   std::string("\0\0\x3f\xff\xff", 5) + std::string(kSent, 'x'));
  }
  return bytes;
}

// What wants an answer, or a look at the settings, and belongs to no call.
std::string Many(const std::string& frame) {
  constexpr int kFrames = 1000;
  std::string bytes;
  for (int i = 0; i < kFrames; ++i) bytes += frame;
  return bytes;
}
std::string Pings(int) { return Many(Frame(FrameKind::kPing, 0, 0, std::string(8, 'x'))); }
std::string Settings(int) {
  const std::string streams("\0\x3\0\0\0\x7", 6);  // that the client allows: 7
  return Many(Frame(FrameKind::kSettings, 0, 0, streams));
}

std::string Silence(int) { return ""; }

class AttackBase : public ServerTest {
 protected:
  // The sum of a metric's values, of all its series.
  double Metric(const std::string& name) {
    const RawReply reply = RawCall(channel_, kStats, "\x08\x01");
    EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
    v1::StatsReply stats;
    EXPECT_TRUE(stats.ParseFromString(reply.bytes));
    double sum = 0;
    for (const v1::Metric& metric : stats.metrics()) {
      if (metric.name() != name) continue;
      for (const v1::Series& series : metric.series()) sum += series.value();
    }
    return sum;
  }
  double Shut() { return Metric("halograph_server_connections_shut_total"); }

  static size_t ResidentBytes() {
    constexpr size_t kPage = 4096;
    size_t all = 0;
    size_t resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident * kPage;
  }

  // As clients do, whose default this is: asked again while gRPC says UNAVAILABLE. It may end a
  // connection for want of memory, until a rule has ended those that took it.
  static constexpr seconds kDeadline{30};
  static RawReply CallWithin(const std::shared_ptr<grpc::Channel>& channel,
                             Clock::duration deadline) {
    const auto until = Clock::now() + deadline;
    for (;;) {
      RawReply reply = RawCall(channel, kDescribe, "");
      const bool again = reply.status.error_code() == grpc::StatusCode::UNAVAILABLE;
      if (!again || Clock::now() >= until) return reply;
      std::this_thread::yield();
    }
  }

  // The attackers' address, which is loopback's, is bounded as a stranger's is.
  static ServerOptions AttackedOptions() {
    ServerOptions options = Options();
    options.loopback_is_free = false;
    return options;
  }

  int Port() const { return ParseHostPort(server_->address())->port; }

  // From so many connections of another address, each made again when it is ended, until another
  // client, all whose calls are answered, has had `done` give true.
  void Suffer(const Attack& attack, int connections, const std::function<bool()>& done,
              bool with_preface = true) {
    std::atomic<bool> over = false;
    std::vector<std::thread> attackers;
    for (int i = 0; i < connections; ++i) {
      attackers.emplace_back([&, port = Port()] {
        while (!over) {
          RawConnection connection(port, "127.0.0.2");
          if (with_preface && !connection.Send(RawConnection::Preface())) continue;
          for (int round = 0; !over && connection.Send(attack(round)); ++round) {
          }
          std::this_thread::yield();
        }
      });
    }
    // What tests before this one took may not have gone back to the system.
    const size_t memory_before = ResidentBytes();
    size_t memory = memory_before;
    do {
      const RawReply reply = CallWithin(channel_, kDeadline);
      EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
      memory = std::max(memory, ResidentBytes());
    } while (!HasFailure() && !done());
    over = true;
    for (std::thread& attacker : attackers) attacker.join();
    EXPECT_TRUE(CallWithin(channel_, kDeadline).status.ok());
    EXPECT_TRUE(CallWithin(Connect(server_->address()), kDeadline).status.ok());
    if (!kSanitizerAllocator) {
      EXPECT_LT(memory - memory_before, connections == 1 ? kMostMemory : kMostMemoryOfMany);
    }
    RecordProperty("resident_mb", static_cast<int>(memory >> 20));
  }
};

struct NamedAttack {
  const char* name;
  Attack attack;
  bool is_shut;  // by a rule, and soon
  // Whether what many connections of an address do together is bounded (docs/security.md).
  bool from_many;
  bool with_preface = true;
};

const std::vector<NamedAttack>& Attacks() {
  static const std::vector<NamedAttack> attacks = {
      {"WholeResets", WholeResets, true, false},
      {"EarlyResets", EarlyResets, true, false},
      {"HealthResets", HealthResets, true, false},
      {"WatchResets", WatchResets, true, false},
      {"UnknownResets", UnknownResets, true, false},
      {"EndlessBlock", EndlessBlock, true, true},
      {"EndlessDrops", EndlessDrops, false, false},
      {"Unfinished", Unfinished, false, true},
      {"Pings", Pings, false, false},
      {"Settings", Settings, true, false},
      {"SilentAfterPreface", Silence, false, true},
      {"Silent", Silence, false, true, false},
  };
  return attacks;
}

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
  const NamedAttack& attack = Attacks()[which];
  ServerOptions options = AttackedOptions();
  options.unaccounted_bytes = 8 << 20;  // so that it is soon reached
  Start(options);
  int calls = 0;
  Suffer(
      attack.attack, connections, [&] { return ++calls >= 3 && (!attack.is_shut || Shut() > 0); },
      attack.with_preface);
}

INSTANTIATE_TEST_SUITE_P(Short, AttackTest, testing::ValuesIn(Cases()), NameOfCase);

class AttackLongTest : public AttackTest {};

// By the defaults.
TEST_P(AttackLongTest, LeavesOthersServed) {
  const auto& [which, connections] = GetParam();
  const NamedAttack& attack = Attacks()[which];
  Start(AttackedOptions());
  const auto until = Clock::now() + seconds(15);
  Suffer(
      attack.attack, connections, [&] { return Clock::now() > until; }, attack.with_preface);
  if (attack.is_shut) {
    EXPECT_GT(Shut(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Long, AttackLongTest, testing::ValuesIn(Cases()), NameOfCase);

// What an address may have of all its connections together, none of which is beyond its own bound.
class AddressTest : public AttackBase {
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

class EndedTest : public AttackBase {};

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

class OddHeaderTest : public AttackBase {};

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

class HonestLoadTest : public AttackBase {
 protected:
  // 256 calls of features in flight, eight pushes of nearly a message, and calls of Stats, each on
  // a connection of its own, until `done`.
  using Connector = std::function<std::shared_ptr<grpc::Channel>(const std::string& address)>;

  void Load(const std::function<bool()>& done) { Load(Options(), Connect, done); }
  void LoadOverTls(const std::function<bool()>& done) {
    TestCa ca(SecondsSince1970());
    const TestFolder folder;
    WriteTlsFolder(folder.path() / "tls", ca.Make(), ca.root());
    ServerOptions options = Options();
    options.tls.folder = folder.path() / "tls";
    const TestPair client = ca.Make({.common_name = "client"});
    const auto connect = [&](const std::string& address) {
      const grpc::SslCredentialsOptions tls = {ca.root(), client.key, client.certificate};
      return grpc::CreateChannel(address, grpc::SslCredentials(tls));
    };
    Load(options, connect, done);
  }

 private:
  void Load(const ServerOptions& options, const Connector& connect,
            const std::function<bool()>& done) {
    Start(options);
    channel_ = connect(server_->address());
    std::atomic<bool> over = false;
    std::vector<std::thread> clients;
    const auto client = [&](const char* method, const std::string& request, bool may_be_refused) {
      clients.emplace_back([=, &over, channel = connect(server_->address())] {
        while (!over) {
          const grpc::Status status = RawCall(channel, method, request).status;
          // Refused calls have a reason; those of an ended connection lack it.
          EXPECT_THAT(status.error_message(), testing::Not(testing::HasSubstr("ocket")));
          EXPECT_TRUE(status.ok() || may_be_refused) << status.error_message();
        }
      });
    };
    // It does not parse: what matters is what crosses the wire.
    const std::string push(static_cast<size_t>(Options().max_message_bytes) - 1024, '\xff');
    for (int i = 0; i < 8; ++i) client(kPushMethod, push, true);
    client(kStats, "", false);
    std::string ids;
    for (char id = 0; id < 60; ++id) ids += std::string({id, 0, 0, 0, 0, 0, 0, 0});
    const std::string pull =
        "\x12\x05paper\x1a\x04"
        "feat\x22" +
        std::string(1, static_cast<char>((ids.size() & 0x7f) | 0x80)) +
        std::string(1, static_cast<char>(ids.size() >> 7)) + ids;
    PullInFlight(pull, done);
    over = true;
    for (std::thread& one : clients) one.join();
    EXPECT_EQ(Shut(), 0);
    EXPECT_EQ(Metric("halograph_server_connections_refused_total"), 0);
  }

  struct Pull {
    grpc::ClientContext context;
    grpc::ByteBuffer reply;
    grpc::Status status;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  };

  // On this thread.
  void PullInFlight(const std::string& request, const std::function<bool()>& done) {
    constexpr int kInFlight = 256;
    grpc::GenericStub stub(channel_);
    grpc::CompletionQueue queue;
    const grpc::Slice slice(request);
    grpc::ByteBuffer bytes(&slice, 1);
    const auto start = [&] {
      auto* const pull = new Pull;
      pull->context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
      pull->reader = stub.PrepareUnaryCall(&pull->context, kPull, bytes, &queue);
      pull->reader->StartCall();
      pull->reader->Finish(&pull->reply, &pull->status, pull);
    };
    for (int i = 0; i < kInFlight; ++i) start();
    bool ends = false;
    for (int left = kInFlight; left > 0;) {
      void* tag = nullptr;
      bool ok = false;
      ASSERT_TRUE(queue.Next(&tag, &ok));
      const std::unique_ptr<Pull> pull(static_cast<Pull*>(tag));
      EXPECT_THAT(pull->status.error_message(), testing::Not(testing::HasSubstr("ocket")));
      ends = ends || done();
      if (ends) {
        --left;
      } else {
        start();
      }
    }
  }
};

TEST_F(HonestLoadTest, ShutsNothing) {
  int pulls = 0;
  Load([&] { return ++pulls > 5000; });
}

TEST_F(HonestLoadTest, ShutsNothingOverTls) {
  int pulls = 0;
  LoadOverTls([&] { return ++pulls > 5000; });
}

class HonestLoadLongTest : public HonestLoadTest {};

TEST_F(HonestLoadLongTest, ShutsNothing) {
  const auto until = Clock::now() + seconds(60);
  Load([&] { return Clock::now() > until; });
}

TEST_F(HonestLoadLongTest, ShutsNothingOverTls) {
  const auto until = Clock::now() + seconds(60);
  LoadOverTls([&] { return Clock::now() > until; });
}

}  // namespace
}  // namespace halograph::server
