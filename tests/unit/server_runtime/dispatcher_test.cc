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
  explicit Blocker(Dispatcher& dispatcher, Lane lane = Lane::kWork) {
    EXPECT_TRUE(dispatcher
                    .Run(
                        [this] {
                          started_.set_value();
                          release_.get_future().wait();
                        },
                        lane)
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

TEST(DispatcherTest, LanesWaitForThemselvesOnly) {
  std::atomic<int> run = 0;
  Dispatcher dispatcher({.threads = 1, .queue = 1, .state_threads = 1, .state_queue = 2});
  Blocker blocker(dispatcher, Lane::kState);
  EXPECT_EQ(dispatcher.pool(Lane::kState).threads(), 1U);
  EXPECT_EQ(dispatcher.pool(Lane::kState).queue_capacity(), 2U);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(dispatcher.Run([&] { ++run; }, Lane::kState).ok());
  const Status full = dispatcher.Run([&] { run += 100; }, Lane::kState);
  EXPECT_TRUE(absl::IsUnavailable(full));
  EXPECT_THAT(Message(full), HasSubstr("queue of 2 calls that may wait for the disk"));
  std::promise<void> others;
  EXPECT_TRUE(dispatcher.Run([&] { others.set_value(); }).ok());
  others.get_future().wait();
  EXPECT_EQ(run, 0);
  blocker.Release();
  dispatcher.Shutdown();
  EXPECT_EQ(run, 2) << "what is queued is run at the end";
}

TEST(DispatcherTest, ALaneWithoutThreadsHasThoseOfTheWork) {
  Dispatcher dispatcher({.threads = 3, .queue = 1});
  for (const Lane lane : {Lane::kState, Lane::kSlow}) {
    std::promise<void> done;
    EXPECT_EQ(dispatcher.pool(lane).threads(), 3U);
    EXPECT_TRUE(dispatcher.Run([&] { done.set_value(); }, lane).ok());
    done.get_future().wait();
  }
}

TEST(DispatcherTest, RequestsThatWaitForTheDiskLeaveAQuarterOfTheBytes) {
  Dispatcher dispatcher({.threads = 1, .queue = 1, .request_bytes = 100, .state_threads = 1});
  auto pushes = dispatcher.Enter(70, Lane::kState);
  ASSERT_TRUE(pushes.ok());
  const Status refused = dispatcher.Enter(6, Lane::kState).status();
  EXPECT_TRUE(absl::IsUnavailable(refused));
  EXPECT_THAT(Message(refused),
              HasSubstr("70 bytes are in work of calls that may wait for the disk"));
  auto read = dispatcher.Enter(30);
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(absl::IsUnavailable(read->MoveTo(Lane::kState)));
  EXPECT_TRUE(absl::IsUnavailable(dispatcher.Enter(1).status())) << "it still has its bytes";
  pushes->ReleaseRequest();
  EXPECT_TRUE(read->MoveTo(Lane::kState).ok());
  EXPECT_TRUE(absl::IsUnavailable(dispatcher.Enter(46, Lane::kState).status()));
  *read = Ticket();
  EXPECT_TRUE(dispatcher.Enter(75, Lane::kState).ok());
  *pushes = Ticket();
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
