#include "server/runtime/pulse.h"

#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace halograph::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr seconds kPeriod{15};

class PulseTest : public testing::Test {
 protected:
  PulseTest() {
    pulse_.Start(kPeriod, [this] { ++told_; });
  }
  ~PulseTest() override {
    Release();
    dispatcher_.Shutdown();
  }
  nanoseconds BeatAt(nanoseconds time) { return pulse_.Beat(Pulse::Time(seconds(100) + time)); }
  // The one thread is through with all that it was given.
  void LetRun() {
    std::promise<void> reached;
    while (!dispatcher_.Run([&] { reached.set_value(); }).ok()) std::this_thread::yield();
    reached.get_future().wait();
  }
  // The one thread hangs from here on.
  void Hang() {
    std::promise<void> begun;
    std::shared_future<void> end = end_.get_future().share();
    ASSERT_TRUE(dispatcher_
                    .Run([&begun, end] {
                      begun.set_value();
                      end.wait();
                    })
                    .ok());
    begun.get_future().wait();
  }
  void Release() {
    if (!released_) end_.set_value();
    released_ = true;
  }

  int told_ = 0;
  bool released_ = false;
  std::promise<void> end_;
  Dispatcher dispatcher_{{.threads = 1, .queue = 2, .slow_threads = 1, .slow_queue = 1}};
  Pulse pulse_{&dispatcher_};
};

TEST_F(PulseTest, AnIdleServerIsToldEachPeriod) {
  EXPECT_EQ(BeatAt(seconds(0)), Pulse::kAgain);
  EXPECT_EQ(told_, 0) << "nothing is proven yet";
  LetRun();
  EXPECT_EQ(BeatAt(milliseconds(1)), kPeriod);
  EXPECT_EQ(told_, 1);
  EXPECT_EQ(BeatAt(seconds(1)), kPeriod - milliseconds(999));
  LetRun();
  EXPECT_EQ(told_, 1) << "not more often than asked for";
  EXPECT_EQ(BeatAt(seconds(16)), kPeriod);
  EXPECT_EQ(told_, 2);
}

TEST_F(PulseTest, ThreadsThatHangAreNotAlive) {
  static_cast<void>(BeatAt(seconds(0)));
  LetRun();
  static_cast<void>(BeatAt(seconds(1)));
  EXPECT_EQ(told_, 1);
  LetRun();
  Hang();
  static_cast<void>(BeatAt(seconds(20)));  // what ended before it hung
  EXPECT_EQ(told_, 2);
  for (int second = 40; second < 100; ++second) {
    EXPECT_EQ(BeatAt(seconds(second)), Pulse::kAgain);
  }
  EXPECT_EQ(told_, 2);
  EXPECT_EQ(dispatcher_.pool().queued(), 1U) << "one task is enough to ask";
  Release();
  LetRun();
  EXPECT_EQ(BeatAt(seconds(101)), kPeriod);
  EXPECT_EQ(told_, 3);
}

TEST_F(PulseTest, AFullQueueThatMovesIsAlive) {
  Hang();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(dispatcher_.Run([] {}).ok());
  EXPECT_EQ(BeatAt(seconds(0)), Pulse::kAgain);
  EXPECT_EQ(told_, 0);
  Release();
  LetRun();
  static_cast<void>(BeatAt(seconds(1)));
  EXPECT_EQ(told_, 1);
}

TEST_F(PulseTest, OtherLanesProveNothing) {
  Hang();
  std::promise<void> ran;
  ASSERT_TRUE(dispatcher_.Run([&] { ran.set_value(); }, Lane::kSlow).ok());
  ran.get_future().wait();
  static_cast<void>(BeatAt(seconds(0)));
  EXPECT_EQ(told_, 0);
}

TEST_F(PulseTest, NobodyIsToldAfterTheEndNorUnasked) {
  LetRun();
  pulse_.Stop();
  LetRun();
  EXPECT_EQ(BeatAt(seconds(0)), nanoseconds::max());
  EXPECT_EQ(told_, 0);
  Pulse unasked(&dispatcher_);
  EXPECT_EQ(unasked.Beat(Pulse::Time(seconds(1))), nanoseconds::max());
}

}  // namespace
}  // namespace halograph::server
