// Calls that are started and not waited for: any number of them on one thread, each with an end of
// its own that comes once.
#include <filesystem>

#include "tests/integration/client/loopback_socket.h"
#include "tests/integration/client/remote_fixture.h"

namespace halograph {
namespace {

using std::chrono::minutes;

class StartedCallsTest : public RemoteStoreTest {
 protected:
  // One Start, and what came of it. What it borrows is here, and goes when it is done.
  struct Started {
    CallContext context;
    CancelToken cancel;
    std::string request;
  };

  static std::vector<Rpc> Calls(const std::string& request) {
    std::vector<Rpc> calls(1);
    calls[0].servers = {0};
    calls[0].method = Method::kPull;
    calls[0].make_request = [&request] { return request; };
    calls[0].on_reply = [&request](ReplyPieces pieces, std::vector<Rpc>*) {
      return pieces.empty() ? DataLoss("no reply to {}", request) : OkStatus();
    };
    return calls;
  }

  // Starts a call that frees what it borrows when it is done, and notes how it ended.
  Started& Start(RpcClient& client, const std::string& name) {
    auto* const started = new Started{.context = {}, .cancel = {}, .request = name};
    started->context.cancel = &started->cancel;
    client.Start(started->context, Calls(started->request), [this, started](Status status) {
      const std::string ended = started->request;
      delete started;
      const MutexLock lock(mutex_);
      ends_[ended].push_back(status);
      ++ended_;
      changed_.NotifyAll();
    });
    return *started;
  }
  void AwaitEnds(size_t count) {
    const MutexLock lock(mutex_);
    changed_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return ended_ >= count; });
  }
  // Of each call that ended, and how often: once.
  std::map<std::string, absl::StatusCode> Ends() {
    const MutexLock lock(mutex_);
    std::map<std::string, absl::StatusCode> ends;
    for (const auto& [name, statuses] : ends_) {
      EXPECT_EQ(statuses.size(), 1U) << name;
      ends[name] = statuses.front().code();
    }
    return ends;
  }

  static size_t Threads() {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                                             std::filesystem::directory_iterator()));
  }

  FakeAnswer Held() {
    return {.status = {}, .bytes = "reply", .pushback_ms = {}, .never = false, .gate = &gate_};
  }

  FakeGate gate_;
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, std::vector<Status>> ends_ HG_GUARDED_BY(mutex_);
  size_t ended_ HG_GUARDED_BY(mutex_) = 0;
};

TEST_F(StartedCallsTest, ThreadsDoNotGrowWithTheCallsUnderWay) {
  FakeServer fake([this](const FakeCall&) { return Held(); });
  RpcClient client(Options({fake.address()}, minutes(10)));
  constexpr size_t kFew = 10, kMany = 200;
  for (size_t i = 0; i < kFew; ++i) Start(client, fmt::format("few {}", i));
  gate_.AwaitHeld(kFew);
  const size_t before = Threads();
  for (size_t i = 0; i < kMany; ++i) Start(client, fmt::format("many {}", i));
  gate_.AwaitHeld(kFew + kMany);
  // gRPC may start some of its own, however many calls there are.
  EXPECT_LT(Threads(), before + kMany / 4);
  gate_.Open();
  AwaitEnds(kFew + kMany);
  const auto ends = Ends();
  EXPECT_EQ(ends.size(), kFew + kMany);
  for (const auto& [name, code] : ends) EXPECT_EQ(code, absl::StatusCode::kOk) << name;
}

TEST_F(StartedCallsTest, EachEndsByItselfAndOnce) {
  FakeServer fake([this](const FakeCall& call) {
    FakeAnswer answer = Held();
    if (call.request == "bad") answer.status = InvalidArgument("bad");
    if (call.request == "now") answer.gate = nullptr;
    return answer;
  });
  RpcClient client(Options({fake.address()}, minutes(10)));
  Started& cancelled = Start(client, "cancelled");
  Start(client, "bad");
  Start(client, "good");
  gate_.AwaitHeld(3);
  Start(client, "now");
  AwaitEnds(1);
  EXPECT_EQ(Ends(), (std::map<std::string, absl::StatusCode>{{"now", absl::StatusCode::kOk}}));
  cancelled.cancel.Cancel();
  AwaitEnds(2);
  gate_.Open();
  AwaitEnds(4);
  client.End();
  EXPECT_EQ(Ends(),
            (std::map<std::string, absl::StatusCode>{{"bad", absl::StatusCode::kInvalidArgument},
                                                     {"cancelled", absl::StatusCode::kCancelled},
                                                     {"good", absl::StatusCode::kOk},
                                                     {"now", absl::StatusCode::kOk}}));
}

TEST_F(StartedCallsTest, TheEndOfTheClientEndsEachOnceWithCancelled) {
  FakeServer fake([this](const FakeCall&) { return Held(); });
  const LoopbackSocket nobody(LoopbackSocket::Kind::kRefuses);
  auto client = std::make_unique<RpcClient>(Options({fake.address()}, minutes(10)));
  auto retrying = std::make_unique<RpcClient>(Options({nobody.address()}, minutes(10)));
  for (int i = 0; i < 10; ++i) {
    Start(*client, fmt::format("held {}", i));
    Start(*retrying, fmt::format("retried {}", i));
  }
  gate_.AwaitHeld(10);
  client.reset();
  retrying.reset();
  const auto ends = Ends();
  EXPECT_EQ(ends.size(), 20U);
  for (const auto& [name, code] : ends) EXPECT_EQ(code, absl::StatusCode::kCancelled) << name;
}

TEST_F(StartedCallsTest, WhatIsStartedAfterTheEndOfTheClientIsCancelled) {
  FakeServer fake([this](const FakeCall&) { return Held(); });
  RpcClient client(Options({fake.address()}, minutes(10)));
  CallContext first, second;
  const std::string request = "request";
  std::vector<Status> ends;
  client.Start(first, Calls(request), [&](const Status& status) {
    ends.push_back(status);
    client.Start(second, Calls(request), [&](const Status& later) { ends.push_back(later); });
  });
  client.End();
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_EQ(ends[0].code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(ends[1].code(), absl::StatusCode::kCancelled);
  ExpectError(client.Run(first, Calls(request)), absl::StatusCode::kCancelled, {"closed"});
}

TEST_F(StartedCallsTest, WhatIsFoundBeforeACallBeginsComesBeforeStartReturns) {
  FakeServer fake([this](const FakeCall&) { return Held(); });
  RpcClient client(Options({fake.address()}, minutes(10)));
  CancelToken cancelled;
  cancelled.Cancel();
  const std::string request = "request";
  for (auto [context, code] :
       {std::pair{CallContext{.cancel = &cancelled}, absl::StatusCode::kCancelled},
        std::pair{CallContext{.request_id = "\n"}, absl::StatusCode::kInvalidArgument}}) {
    std::vector<Status> ends;
    client.Start(context, Calls(request), [&](const Status& status) { ends.push_back(status); });
    ASSERT_EQ(ends.size(), 1U);
    EXPECT_EQ(ends[0].code(), code);
  }
}

TEST_F(StartedCallsTest, ADoneMayStartTheNext) {
  FakeServer fake([this](const FakeCall&) {
    FakeAnswer answer = Held();
    answer.gate = nullptr;
    return answer;
  });
  RpcClient client(Options({fake.address()}, minutes(10)));
  CallContext context;
  const std::string request = "request";
  std::promise<Status> last;
  int left = 5;
  std::function<void(Status)> next = [&](const Status& status) {
    if (!status.ok() || --left == 0) return last.set_value(status);
    client.Start(context, Calls(request), next);
  };
  client.Start(context, Calls(request), next);
  const Status status = last.get_future().get();
  EXPECT_TRUE(status.ok()) << ToString(status);
}

// The server holds what it answers, layer by layer.
TEST_F(StartedCallsTest, TenMinibatchesOfThreeLayersAreUnderWayWithoutAThreadEach) {
  const auto server = Serve(WriteGraph(1, 1), {});
  std::mutex mutex;
  std::map<std::string, FakeAnswer> known;  // by request
  std::atomic<bool> holds = false;
  FakeServer fake([&](const FakeCall& call) {
    if (holds) {
      const std::lock_guard lock(mutex);
      const auto answer = known.find(call.request);
      if (answer == known.end())
        return FakeAnswer{.status = Internal("unknown request"), .bytes = {}, .pushback_ms = {}};
      answer->second.gate = &gate_;
      return answer->second;
    }
    FakeAnswer answer = Forward(server->address(), call);
    const std::lock_guard lock(mutex);
    return known[call.request] = answer;
  });
  const Stores stores = Open(Options({fake.address()}, minutes(10)));
  const SamplingSpec spec =
      SamplingSpec::Uniform(stores.graph->info().schema, std::vector<int32_t>{3, 3, 3});
  struct Sampled {
    std::vector<int64_t> seeds;
    SampleRequest request = {};
    CallContext context = {};
    Minibatch minibatch = {};
    Minibatch expected = {};
  };
  constexpr size_t kFew = 2, kMany = 10;
  PostedWork work;
  size_t done = 0;
  std::vector<Sampled> samples(kFew + kMany);
  for (size_t i = 0; i < samples.size(); ++i) {
    Sampled& sample = samples[i];
    sample.seeds = {static_cast<int64_t>(i), static_cast<int64_t>(i + 100)};
    sample.request = {.seeds = {{.type = 0, .ids = sample.seeds}}, .batch_seed = i, .spec = &spec};
    ASSERT_TRUE(stores.graph->Sample(sample.request, sample.context, &sample.expected).ok());
    sample.context = {};
    sample.context.post = [&work](std::function<void()> piece) { work.Post(std::move(piece)); };
  }
  holds = true;
  const auto run = [&](size_t begin, size_t end) {
    size_t most = 0;  // threads
    for (size_t i = begin; i < end; ++i) {
      Sampled& sample = samples[i];
      stores.graph->StartSample({&sample.request, 1}, sample.context, {&sample.minibatch, 1},
                                [&done](const Status& status) {
                                  EXPECT_TRUE(status.ok()) << ToString(status);
                                  ++done;
                                });
    }
    for (int layer = 0; layer < 3; ++layer) {
      gate_.AwaitHeld(end - begin);  // all of them, in this layer
      most = std::max(most, Threads());
      EXPECT_EQ(done, begin);
      gate_.LetHeld();
      for (size_t i = begin; i < end; ++i) work.RunOne();
    }
    EXPECT_EQ(done, end);
    return most;
  };
  const size_t few = run(0, kFew);
  const size_t many = run(kFew, kFew + kMany);
  // gRPC may start some of its own, however many calls there are.
  EXPECT_LT(many, few + kMany - kFew);
  for (const Sampled& sample : samples) {
    EXPECT_TRUE(sample.minibatch == sample.expected);
    EXPECT_EQ(sample.context.stats.rounds, 3 * kRoundsOfAnExchange);
  }
}

}  // namespace
}  // namespace halograph
