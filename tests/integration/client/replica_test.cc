// Several servers of the same parts: whichever is asked, lost, silent, full or comes back, the
// minibatches are the same, and no call takes longer than its timeout.
#include <mutex>
#include <set>

#include "common/base/units.h"
#include "common/graph/manifest.h"
#include "tests/integration/client/loopback_socket.h"
#include "tests/integration/client/replicated_fixture.h"
#include "tests/support/free_port.h"
#include "tests/support/one_call.h"

namespace halograph {
namespace {

using testing::HasSubstr;
using testing::Not;

class ReplicaTest : public ReplicatedTest {
 protected:
  using Answer = std::function<FakeAnswer(const FakeCall&)>;

  // Says who it is as the server at `address` does, and answers nothing else. Asks that server now:
  // answers that wait for another one would block all of gRPC's threads.
  static Answer SilentAfterDescribe(const std::string& address) {
    const FakeAnswer description =
        Forward(address, {.method = "GraphService/Describe", .request = {}, .metadata = {}});
    return [description](const FakeCall& call) {
      if (call.method == "GraphService/Describe") return description;
      return FakeAnswer{.status = {}, .bytes = {}, .pushback_ms = {}, .never = true};
    };
  }
};

TEST_F(ReplicaTest, ReadsAreSharedOutToAllServersOfAPart) {
  std::vector<std::unique_ptr<server::Server>> servers;
  std::vector<std::string> addresses;
  for (const int part : {0, 1, 0, 1}) {
    servers.push_back(Serve(graph_, {part}));
    addresses.push_back(servers.back()->address());
  }
  const Stores stores = Open(Options(addresses));
  const auto epoch = Train(stores);
  ExpectSame(epoch, Undisturbed());
  for (const std::string& address : addresses) EXPECT_GT(Reads(address), kSteps / 2) << address;
}

TEST_F(ReplicaTest, AServerStoppedInMidEpochChangesNoBitAndIsNamedOnce) {
  CapturedLog log;
  const auto first = Serve(graph_, {0});
  const auto other = Serve(graph_, {1});
  auto second = Serve(graph_, {0});
  const std::string lost = second->address();
  StatusOr<Epoch> epoch = Epoch{};
  CallStats stats;
  {
    const Stores stores = Open(Options({first->address(), other->address(), lost}));
    epoch = Train(
        stores,
        [&](int step) {
          if (step == kSteps / 2) second.reset();
        },
        &stats);
  }
  // Those under way when it was lost, and no more; the server that took them over counted them too.
  EXPECT_GE(stats.failovers, 1);
  EXPECT_LT(stats.failovers, kSteps);
  const auto statuses = AskStatus(Options({first->address(), other->address()}));
  EXPECT_EQ(statuses[0].failovers, stats.failovers);
  EXPECT_EQ(statuses[1].failovers, 0);
  EXPECT_EQ(ToJson(statuses)[0]["failovers"], stats.failovers);
  const std::string text = log.End();
  ExpectSame(epoch, Undisturbed());
  const std::string report =
      "part 0: " + first->address() + " is asked from now on, " + lost + " is lost (";
  ASSERT_THAT(text, HasSubstr(report));
  EXPECT_THAT(text.substr(text.find(report) + report.size()), Not(HasSubstr("is lost"))) << text;
}

TEST_F(ReplicaTest, ASilentServerCostsItsShareOfTheTimeOnceAndChangesNoBit) {
  const auto server = Serve(graph_, {});
  const FakeServer silent(SilentAfterDescribe(server->address()));
  const std::string report = "parts 0,1: " + server->address() + " is asked from now on, " +
                             silent.address() + " is lost (";
  StatusOr<Epoch> epoch = Epoch{};
  std::string text;
  // On a busy machine the other server, too, may need more than its share.
  for (const int s : {1, 6, 60}) {
    const std::chrono::seconds timeout(s);
    CapturedLog log;
    const Stopwatch watch;
    {
      const Stores stores = Open(Options({silent.address(), server->address()}, timeout));
      epoch = Train(stores);
    }
    text = log.End();
    if (!epoch.ok() || text.find(report) == std::string::npos) continue;
    EXPECT_GE(watch.elapsed(), timeout / 2);
    break;
  }
  ExpectSame(epoch, Undisturbed());
  EXPECT_THAT(text, HasSubstr(report));
}

TEST_F(ReplicaTest, BothServersOfAPartLostAreNamedWithThePart) {
  const auto other = Serve(graph_, {1});
  auto first = Serve(graph_, {0});
  auto second = Serve(graph_, {0});
  const std::vector<std::string> lost = {first->address(), second->address()};
  const Stores stores = Open(Hasty({other->address(), lost[0], lost[1]}));
  ASSERT_TRUE(Sample(*stores.graph, {1, 150}).ok());
  first.reset();
  second.reset();
  ExpectError(Sample(*stores.graph, {1, 150}).status(), absl::StatusCode::kUnavailable,
              {lost[0], lost[1], "part 0", "GraphService/Sample: no answer within "});
  ExpectError(Pull(*stores.rows, {1, 150}), absl::StatusCode::kUnavailable,
              {lost[0], lost[1], "part 0", "KVService/Pull"});
}

TEST_F(ReplicaTest, BothServersSilentAreNamedAtTheTimeout) {
  const auto server = Serve(graph_, {});
  const FakeServer first(SilentAfterDescribe(server->address()));
  const FakeServer second(SilentAfterDescribe(server->address()));
  Status status;
  std::string within;
  // Of a server that did not even say in time who it is nothing is known.
  for (const int ms : {600, 6000, 60000}) {
    const std::chrono::milliseconds timeout(ms);
    const Stores stores = Open(Options({first.address(), second.address()}, timeout));
    status = Pull(*stores.rows, {1});
    within = "no answer within " + FormatSeconds(std::chrono::duration<double>(timeout).count());
    if (Message(status).find("parts 0,1") != std::string::npos) break;
  }
  ExpectError(status, absl::StatusCode::kDeadlineExceeded,
              {first.address(), second.address(), "parts 0,1", within});
}

TEST_F(ReplicaTest, AServerMissingAtTheStartIsNamedAndTakenInWhenItComes) {
  const std::string late = fmt::format("127.0.0.1:{}", FreePort());
  CapturedLog log;
  auto first = Serve(graph_, {});
  {
    const Stopwatch watch;
    const Stores stores = Open(Options({first->address(), late}, std::chrono::minutes(5)));
    EXPECT_LT(watch.elapsed(), std::chrono::minutes(1)) << "waited for what it need not have";
    ASSERT_NE(stores.graph, nullptr);
    const auto second = ServeAt(late, graph_, {});
    const Stopwatch coming;
    while (Reads(late) == 0 && coming.elapsed() < std::chrono::minutes(2)) {
      ASSERT_TRUE(Sample(*stores.graph, {1, 150}).ok());
    }
    EXPECT_GT(Reads(late), 0);
    first.reset();
    ExpectSame(Train(stores), Undisturbed());
  }
  const std::string text = log.End();
  EXPECT_THAT(text, HasSubstr(late + " does not answer"));
  EXPECT_THAT(text, HasSubstr(late + " answers again"));
}

TEST_F(ReplicaTest, AMissingServerWhosePartNobodyElseServesIsAnErrorThatNamesBoth) {
  const auto first = Serve(graph_, {0});
  const auto second = Serve(graph_, {0});
  const LoopbackSocket socket(LoopbackSocket::Kind::kRefuses);
  ExpectError(
      OpenRemoteStores(Hasty({first->address(), second->address(), socket.address()})).status(),
      absl::StatusCode::kUnavailable,
      {socket.address() + ": GraphService/Describe: no answer within ",
       "no server serves partition 1 of 2"});
}

TEST_F(ReplicaTest, AServerThatComesBackWithAnotherGraphIsRefusedByName) {
  const auto other = WriteGraph(2);
  CapturedLog log;
  const auto first = Serve(graph_, {});
  auto second = Serve(graph_, {});
  const std::string changed = second->address();
  StatusOr<Epoch> epoch = Epoch{};
  {
    const Stores stores = Open(Options({first->address(), changed}));
    epoch = Train(stores, [&](int step) {
      if (step != kSteps / 2) return;
      second.reset();
      second = ServeAt(changed, other, {});
    });
    // Until it was looked at: its description is refused too.
    const Stopwatch watch;
    while (!log.Has(changed + " is refused") && watch.elapsed() < std::chrono::minutes(2)) {
      ASSERT_TRUE(Sample(*stores.graph, {1, 150}).ok());
    }
  }
  const std::string text = log.End();
  ExpectSame(epoch, Undisturbed());
  EXPECT_THAT(text, HasSubstr(changed + " is lost ("));
  EXPECT_THAT(text, HasSubstr(changed + " is refused"));
  EXPECT_THAT(text, HasSubstr("this server serves graph " + ReadGraphManifest(other)->identity));
}

TEST_F(ReplicaTest, AServerThatComesBackWithOtherPartsIsAskedForThese) {
  const auto first = Serve(graph_, {0, 1});
  auto second = Serve(graph_, {0, 1});
  const std::string changed = second->address();
  const Stores stores = Open(Options({first->address(), changed}));
  const auto epoch = Train(stores, [&](int step) {
    if (step != kSteps / 2) return;
    second.reset();
    second = ServeAt(changed, graph_, {1});
  });
  ExpectSame(epoch, Undisturbed());
  const Stopwatch coming;
  const int64_t before = Reads(changed);
  while (Reads(changed) < before + 5 && coming.elapsed() < std::chrono::minutes(2)) {
    const auto sample = Sample(*stores.graph, {1, 150});
    ASSERT_TRUE(sample.ok()) << ToString(sample.status());
  }
  EXPECT_GE(Reads(changed), before + 5);
}

// ---- one call --------------------------------------------------------------------------------

// Two servers: the first answers as a test says, the second always.
class TwoServersTest : public RemoteStoreTest {
 protected:
  TwoServersTest()
      : first_([this](const FakeCall& call) {
          const std::lock_guard lock(mutex_);
          ++first_calls_;
          ids_.insert(call.metadata.at("halograph-request-id"));
          return first_answer_;
        }),
        second_([this](const FakeCall& call) {
          const std::lock_guard lock(mutex_);
          ids_.insert(call.metadata.at("halograph-request-id"));
          return FakeAnswer{.status = {}, .bytes = {}, .pushback_ms = {}, .never = false};
        }),
        client_(Options({first_.address(), second_.address()}, std::chrono::seconds(2))) {}

  // `calls` at a time, of one batch.
  Status Run(int calls = 1, int preferred = -1, CallStats* stats = nullptr) {
    std::vector<Rpc> batch(static_cast<size_t>(calls));
    for (Rpc& rpc : batch) {
      rpc.servers = {0, 1};
      rpc.preferred = preferred;
      rpc.serves = "part 0";
      rpc.method = Method::kPull;
      rpc.make_request = [] { return std::string(); };
      rpc.on_reply = [](ReplyPieces, std::vector<Rpc>*) { return OkStatus(); };
    }
    CallContext context;
    const Status status = client_.Run(context, std::move(batch));
    if (stats != nullptr) *stats += context.stats;
    return status;
  }
  // Ten calls one after the other: of these the first server got one, and it was `kind`.
  void ExpectAskedOnce(const FakeAnswer& answer, std::chrono::milliseconds at_least) {
    first_answer_ = answer;
    const Stopwatch watch;
    for (int i = 0; i < 10; ++i) {
      const Status status = Run();
      ASSERT_TRUE(status.ok()) << ToString(status);
    }
    EXPECT_GE(watch.elapsed(), at_least);
    EXPECT_EQ(first_calls_, 1);
    EXPECT_EQ(ids_.size(), 10U) << "a call went on under another request id";
  }

  std::mutex mutex_;
  int first_calls_ = 0;
  std::set<std::string> ids_;
  FakeAnswer first_answer_;
  FakeServer first_;
  FakeServer second_;
  RpcClient client_;
};

TEST_F(TwoServersTest, AServerThatSaysThatItIsFullIsNotAskedUntilThen) {
  ExpectAskedOnce(
      {.status = Unavailable("busy"), .bytes = {}, .pushback_ms = 60000, .never = false},
      std::chrono::milliseconds(0));
  EXPECT_FALSE(client_.health().lost(0));
}

TEST_F(TwoServersTest, AServerThatIsUnavailableIsLost) {
  ExpectAskedOnce({.status = Unavailable("gone"), .bytes = {}, .pushback_ms = {}, .never = false},
                  std::chrono::milliseconds(0));
  EXPECT_TRUE(client_.health().lost(0));
}

TEST_F(TwoServersTest, ASilentServerHasHalfOfTheTime) {
  ExpectAskedOnce({.status = {}, .bytes = {}, .pushback_ms = {}, .never = true},
                  std::chrono::seconds(1));
  EXPECT_TRUE(client_.health().lost(0));
}

TEST_F(TwoServersTest, AServerThatRefusesIsLost) {
  ExpectAskedOnce(
      {.status = OutOfRange("other parts"), .bytes = {}, .pushback_ms = {}, .never = false},
      std::chrono::milliseconds(0));
  EXPECT_TRUE(client_.health().lost(0));
}

// More calls than may be under way there: they wait for it.
TEST_F(TwoServersTest, APreferredServerGetsAllCallsHoweverBusyAndNoneIsAFailover) {
  first_answer_ = {.status = {}, .bytes = {}, .pushback_ms = {}, .never = false};
  CallStats stats;
  const Status to_second = Run(20, 1, &stats);
  ASSERT_TRUE(to_second.ok()) << ToString(to_second);
  EXPECT_EQ(first_calls_, 0);
  const Status to_first = Run(20, 0, &stats);
  ASSERT_TRUE(to_first.ok()) << ToString(to_first);
  EXPECT_EQ(first_calls_, 20);
  EXPECT_EQ(stats.failovers, 0);
}

TEST_F(TwoServersTest, WhatAnotherServerAnswersForThePreferredOneIsCountedCallByCall) {
  first_answer_ = {.status = Unavailable("gone"), .bytes = {}, .pushback_ms = {}, .never = false};
  CallStats stats;
  for (int i = 0; i < 10; ++i) {
    const Status status = Run(1, 0, &stats);
    ASSERT_TRUE(status.ok()) << ToString(status);
  }
  EXPECT_EQ(first_calls_, 1);
  EXPECT_EQ(stats.failovers, 10);
}

// Else what is wrong would be hidden.
TEST_F(TwoServersTest, OtherErrorsEndTheCall) {
  first_answer_ = {.status = Internal("broken"), .bytes = {}, .pushback_ms = {}, .never = false};
  ExpectError(Run(), absl::StatusCode::kInternal, {first_.address() + ": KVService/Pull: broken"});
  EXPECT_FALSE(client_.health().lost(0));
}

}  // namespace
}  // namespace halograph
