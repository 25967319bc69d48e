// Calls while the clocks are set, and after a time in which the process did not run. The clocks are
// this process's alone (set_clock.cc).
#include <cstdlib>
#include <fstream>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/integration/client/loopback_socket.h"
#include "tests/integration/client/remote_fixture.h"
#include "tests/integration/client/set_clock.h"

namespace halograph {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr seconds kTimeout{1};
constexpr seconds kTooLong{60};  // of a call that has kTimeout: it hangs

ClockOffsets& Clocks() {
  static ClockOffsets* const clocks = [] {
    const int fd = open(std::getenv(kClockVariable), O_RDWR | O_CLOEXEC);
    void* mapped = mmap(nullptr, sizeof(ClockOffsets), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return static_cast<ClockOffsets*>(mapped);
  }();
  return *clocks;
}

class ClockTest : public RemoteStoreTest {
 protected:
  ~ClockTest() override { SetRight(); }

  // But for the steady clock, which never goes back.
  static void SetRight() {
    Clocks().wall_ns_a_reading = 0;
    Clocks().wall_ns = 0;
  }

  static Rpc Call() {
    Rpc rpc;
    rpc.servers = {0};
    rpc.method = Method::kPull;
    rpc.make_request = [] { return std::string(); };
    rpc.on_reply = [](ReplyPieces, std::vector<Rpc>*) { return OkStatus(); };
    return rpc;
  }

  // Runs `rpc`; ends it, and says so, if it hangs. Meanwhile the wall clock is set by `by`, again
  // and again: whoever waits by it will have read it before.
  static Status Run(RpcClient& client, Rpc rpc, nanoseconds by = nanoseconds(0)) {
    auto run = std::async(std::launch::async, [&] {
      CallContext context;
      std::vector<Rpc> calls;
      calls.push_back(std::move(rpc));
      return client.Run(context, std::move(calls));
    });
    for (int waits = 0; run.wait_for(milliseconds(100)) != std::future_status::ready; ++waits) {
      Clocks().wall_ns += by.count();
      if (waits < 600) continue;  // at any time that clocks may show
      ADD_FAILURE() << "the call hangs";
      break;
    }
    SetRight();  // ends it
    return run.get();
  }
};

TEST_F(ClockTest, AClockThatIsSetIsSeenByThisProcess) {
  const auto before = std::chrono::system_clock::now();
  Clocks().wall_ns = nanoseconds(-hours(1)).count();
  EXPECT_LT(std::chrono::system_clock::now(), before - minutes(50));
  const auto steady_before = std::chrono::steady_clock::now();
  Clocks().steady_ns += nanoseconds(hours(1)).count();
  EXPECT_GT(std::chrono::steady_clock::now(), steady_before + minutes(50));
}

// As one to a server that was stopped.
TEST_F(ClockTest, ACallWithoutAnAnswerEndsInItsTimeThoughTheClockIsSet) {
  const LoopbackSocket silent(LoopbackSocket::Kind::kAcceptsAndNeverAnswers);
  FakeServer never([](const FakeCall&) {
    return FakeAnswer{.status = {}, .bytes = {}, .pushback_ms = {}, .never = true};
  });
  for (const std::string& address : {silent.address(), never.address()}) {
    for (const hours by : {hours(-1), hours(1)}) {
      for (const bool during : {false, true}) {
        SCOPED_TRACE(fmt::format("{} h, {} the wait", by.count(), during ? "during" : "before"));
        RpcClient client(Options({address}, kTimeout));
        if (!during) Clocks().wall_ns = nanoseconds(by).count();
        const Stopwatch watch;
        ExpectError(Run(client, Call(), during ? by : hours(0)),
                    absl::StatusCode::kDeadlineExceeded,
                    {address + ": KVService/Pull: no answer within 1.0 s"});
        EXPECT_GE(watch.elapsed(), kTimeout);
      }
    }
  }
}

// Whoever reads the wall clock twice, and takes the difference, finds an hour too much.
TEST_F(ClockTest, AServerHearsHowLongItsClientWaitsThoughTheClockIsSet) {
  for (const hours by : {hours(-1), hours(1)}) {
    SCOPED_TRACE(by.count());
    std::promise<nanoseconds> time_left;
    FakeServer fake([&](const FakeCall& call) {
      time_left.set_value(call.time_left);
      return FakeAnswer{};
    });
    // gRPC sends tenths of a second of what is that long, rounded up.
    RpcClient client(Options({fake.address()}, kTooLong - milliseconds(50)));
    Clocks().wall_ns_a_reading = nanoseconds(by).count();
    const Status status = Run(client, Call());
    ASSERT_TRUE(status.ok()) << ToString(status);
    const nanoseconds left = time_left.get_future().get();
    EXPECT_GT(left, nanoseconds(0));
    EXPECT_LE(left, kTooLong + milliseconds(1));
  }
}

TEST_F(ClockTest, AServerSaysWhatItWaitedForBeforeItsClientGivesUpThoughTheClockIsSet) {
  for (const hours by : {hours(-1), hours(1)}) {
    SCOPED_TRACE(by.count());
    SetRight();
    server::ServerOptions options;
    options.state.folder = folder_.path() / std::to_string(by.count());
    const auto server = Serve(WriteGraph(), {}, options);
    const Stores stores = Open(Options({server->address()}, seconds(5)));
    const TensorRef tensor{false, "node", "emb"};
    const std::vector<int64_t> ids = {0};
    std::vector<float> row = {1};
    CallContext context;
    Status status =
        stores.admin->Create({.ref = tensor,
                              .dim = 1,
                              .initializer = {},
                              .optimizer = {.kind = RowOptimizer::Kind::kSgd, .learning_rate = 1}},
                             context);
    ASSERT_TRUE(status.ok()) << ToString(status);
    // The other rank's part of the step never comes.
    const auto mark = PushOne(*stores.rows,
                              {.tensor = tensor,
                               .step = SyncStep{.rank = 0, .world_size = 2},
                               .ids = ids,
                               .rows = std::as_bytes(std::span(row))},
                              context);
    ASSERT_TRUE(mark.ok()) << ToString(mark.status());
    Clocks().wall_ns_a_reading = nanoseconds(by).count();
    status = stores.rows->Pull({.tensor = tensor,
                                .ids = ids,
                                .out = std::as_writable_bytes(std::span(row)),
                                .after = *mark},
                               context);
    ExpectError(status, absl::StatusCode::kDeadlineExceeded,
                {"no answer within 5.0 s: ", "was not reached in time"});
  }
}

TEST_F(ClockTest, WhatGrpcEndsBeforeItsTimeIsTriedAgain) {
  std::atomic<int> calls = 0;
  FakeServer fake([&](const FakeCall&) -> FakeAnswer {
    if (++calls > 2) return {};
    return {.status = DeadlineExceeded("Deadline Exceeded"), .bytes = {}, .pushback_ms = {}};
  });
  RpcClient client(Options({fake.address()}, minutes(10)));
  const Status status = Run(client, Call());
  EXPECT_TRUE(status.ok()) << ToString(status);
  EXPECT_EQ(calls, 3);
}

// What a process finds that was stopped (SIGSTOP) for an hour.
void SeemStopped() {
  Clocks().wall_ns += nanoseconds(hours(1)).count();
  Clocks().steady_ns += nanoseconds(hours(1)).count();
}

TEST_F(ClockTest, ACallOfAProcessThatDidNotRunForLongerThanTheTimeoutIsAnswered) {
  std::atomic<int> calls = 0;
  FakeServer fake([&](const FakeCall&) -> FakeAnswer {
    if (++calls > 1) return {};
    SeemStopped();
    return {.status = {}, .bytes = {}, .pushback_ms = {}, .never = true};
  });
  RpcClient client(Options({fake.address()}, minutes(10)));
  CapturedLog log;
  const Status status = Run(client, Call());
  EXPECT_TRUE(status.ok()) << ToString(status);
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(log.End(), testing::HasSubstr("the call under way has the whole of its time again"));
}

// Wherever the call is: on its way out, handed over, looked after.
TEST_F(ClockTest, ACallIsAnsweredAtWhateverReadingOfTheClockTheProcessWasStopped) {
  for (int readings = 1; readings <= 25; ++readings) {
    SCOPED_TRACE(readings);
    const int64_t before = Clocks().steady_ns;
    FakeServer fake([&](const FakeCall&) -> FakeAnswer {
      if (Clocks().steady_ns > before) return {};
      return {.status = {}, .bytes = {}, .pushback_ms = {}, .never = true};
    });
    RpcClient client(Options({fake.address()}, minutes(10)));
    Clocks().readings_to_hour = readings;
    const Status status = Run(client, Call());
    ASSERT_TRUE(status.ok()) << ToString(status);
  }
}

// On the thread that starts the call, or on the client's own where the call waits for another.
TEST_F(ClockTest, OwnWorkDuringACallIsNoTimeInWhichTheProcessDidNotRun) {
  for (const bool waits : {false, true}) {
    SCOPED_TRACE(waits ? "after another call" : "at the start");
    std::atomic<int> calls = 0;
    std::promise<void> worked;
    const std::shared_future<void> answer = worked.get_future().share();
    FakeServer fake([&](const FakeCall& call) -> FakeAnswer {
      ++calls;
      if (call.request.empty()) answer.wait();
      return {};
    });
    RemoteOptions options = Options({fake.address()}, minutes(10));
    options.calls_in_flight = 1;
    RpcClient client(options);
    CapturedLog log;
    CallContext context;
    std::vector<Rpc> rpcs;
    if (waits) {
      rpcs.push_back(Call());
      rpcs.back().make_request = [] { return std::string("first"); };
    }
    rpcs.push_back(Call());
    rpcs.back().make_request = [&] {
      Clocks().steady_ns += nanoseconds(minutes(8)).count();
      worked.set_value();
      return std::string();
    };
    const Status status = client.Run(context, std::move(rpcs));
    EXPECT_TRUE(status.ok()) << ToString(status);
    EXPECT_EQ(calls, waits ? 2 : 1);
    EXPECT_THAT(log.End(), testing::Not(testing::HasSubstr("did not run")));
  }
}

// Else it might never end.
TEST_F(ClockTest, ACallHasItsTimeAgainOnceOnly) {
  std::atomic<int> calls = 0;
  FakeServer fake([&](const FakeCall&) -> FakeAnswer {
    ++calls;
    SeemStopped();
    return {.status = {}, .bytes = {}, .pushback_ms = {}, .never = true};
  });
  RpcClient client(Options({fake.address()}, minutes(10)));
  ExpectError(Run(client, Call()), absl::StatusCode::kDeadlineExceeded,
              {"KVService/Pull: no answer within 10 min 00 s"});
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace halograph

// Starts itself again with clocks that can be set.
int main(int argc, char** argv) {
  if (const char* clock = std::getenv(halograph::kClockVariable); clock != nullptr) {
    testing::InitGoogleTest(&argc, argv);
    const int code = RUN_ALL_TESTS();
    unlink(clock);
    return code;
  }
  const std::string path = fmt::format("{}/halograph-clock-{}", testing::TempDir(), getpid());
  std::ofstream(path) << std::string(sizeof(halograph::ClockOffsets), '\0');
  setenv(halograph::kClockVariable, path.c_str(), 1);
  setenv("LD_PRELOAD", SET_CLOCK, 1);
  execv("/proc/self/exe", argv);
  return 1;
}
