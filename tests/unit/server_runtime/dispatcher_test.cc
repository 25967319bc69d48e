#include "server/runtime/dispatcher.h"

#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// Holds the one thread of a dispatcher until Release.
class Blocker {
 public:
  explicit Blocker(Dispatcher& dispatcher) {
    EXPECT_TRUE(dispatcher
                    .Run([this] {
                      started_.set_value();
                      release_.get_future().wait();
                    })
                    .ok());
    started_.get_future().wait();
  }
  void Release() { release_.set_value(); }

 private:
  std::promise<void> started_;
  std::promise<void> release_;
};

TEST(DispatcherTest, FullQueueIsUnavailableAndTheTaskNotRun) {
  std::atomic<int> run = 0;
  Dispatcher dispatcher({.threads = 1, .queue = 2});
  Blocker blocker(dispatcher);
  EXPECT_TRUE(dispatcher.Run([&] { ++run; }).ok());
  EXPECT_TRUE(dispatcher.Run([&] { ++run; }).ok());
  const Status status = dispatcher.Run([&] { run += 100; });
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(Message(status), HasSubstr("queue of 2"));
  blocker.Release();
  dispatcher.Shutdown();
  EXPECT_EQ(run, 2);
}

TEST(DispatcherTest, RequestBytesInFlightAreBounded) {
  Dispatcher dispatcher({.threads = 1, .queue = 1, .request_bytes = 100});
  auto first = dispatcher.Enter(60);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(absl::IsUnavailable(dispatcher.Enter(41).status()));
  auto second = dispatcher.Enter(40);
  EXPECT_TRUE(second.ok());
  *first = Ticket();
  EXPECT_TRUE(dispatcher.Enter(60).ok());
  EXPECT_EQ(dispatcher.in_flight(), 1);
}

TEST(DispatcherTest, AnsweredRequestsGiveTheirBytesBackAndStayInFlight) {
  Dispatcher dispatcher({.threads = 1, .queue = 1, .request_bytes = 100});
  auto first = dispatcher.Enter(100);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(absl::IsUnavailable(dispatcher.Enter(1).status()));
  first->ReleaseRequest();
  EXPECT_EQ(dispatcher.in_flight(), 1);
  EXPECT_TRUE(dispatcher.Enter(100).ok());
  *first = Ticket();
  EXPECT_TRUE(dispatcher.Enter(100).ok());
  EXPECT_EQ(dispatcher.in_flight(), 0);
}

TEST(DispatcherTest, RequestLargerThanTheBoundGetsInAlone) {
  Dispatcher dispatcher({.threads = 1, .queue = 1, .request_bytes = 100});
  const auto large = dispatcher.Enter(1000);
  EXPECT_TRUE(large.ok());
  EXPECT_TRUE(absl::IsUnavailable(dispatcher.Enter(1).status()));
}

TEST(DispatcherTest, ClosedGateLetsNobodyInButCallsInFlightFinish) {
  Dispatcher dispatcher({.threads = 1, .queue = 4});
  Blocker blocker(dispatcher);
  std::promise<void> finished;
  {
    auto ticket = std::make_shared<Ticket>(dispatcher.Enter(10).value());
    EXPECT_TRUE(dispatcher.Run([&finished, ticket] { finished.set_value(); }).ok());
  }
  dispatcher.CloseGate();
  EXPECT_TRUE(dispatcher.draining());
  EXPECT_TRUE(absl::IsUnavailable(dispatcher.Enter(1).status()));
  EXPECT_FALSE(dispatcher.WaitUntilEmpty(milliseconds(1)));
  blocker.Release();
  EXPECT_TRUE(dispatcher.WaitUntilEmpty(seconds(60)));
  EXPECT_EQ(finished.get_future().wait_for(seconds(0)), std::future_status::ready);
  EXPECT_EQ(dispatcher.in_flight(), 0);
}

TEST(DispatcherTest, ManyCallersLoseNoCall) {
  Dispatcher dispatcher({.threads = 3, .queue = 8, .request_bytes = 1000});
  std::atomic<int64_t> admitted = 0;
  std::atomic<int64_t> run = 0;
  std::latch together(4);
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      together.arrive_and_wait();
      for (int i = 0; i < 500; ++i) {
        auto entered = dispatcher.Enter(100);
        if (!entered.ok()) continue;
        auto ticket = std::make_shared<Ticket>(std::move(entered).value());
        if (dispatcher.Run([&run, ticket] { ++run; }).ok()) ++admitted;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  dispatcher.CloseGate();
  EXPECT_TRUE(dispatcher.WaitUntilEmpty(seconds(60)));
  EXPECT_EQ(run, admitted);
  EXPECT_GT(run, 0);
}

}  // namespace
}  // namespace halograph::server
