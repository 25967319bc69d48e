#include "tests/simulation/sim_scheduler.h"

#include <gmock/gmock.h>

namespace halograph::sim {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Monitor> NewMonitor(SimScheduler& scheduler, Random& random) {
  return MakeMonitor(
      &scheduler, [&](const char* what) { scheduler.Point(what); }, &random);
}

// Four threads that append their letter under a lock, each a few times.
std::string Letters(uint64_t seed, uint64_t* trace) {
  SimScheduler scheduler(seed, {});
  Random random(seed);
  std::string letters;
  const std::string stopped = scheduler.Run([&] {
    const auto monitor = NewMonitor(scheduler, random);
    std::vector<std::unique_ptr<RunningThread>> threads;
    for (char letter = 'a'; letter < 'e'; ++letter) {
      threads.push_back(scheduler.Start(std::string(1, letter), 0, [&, letter] {
        for (int i = 0; i < 5; ++i) {
          const MonitorLock lock(*monitor);
          letters += letter;
          scheduler.Point("inside");
          letters += letter;
        }
      }));
    }
  });
  EXPECT_EQ("", stopped);
  *trace = scheduler.trace();
  return letters;
}

TEST(SimSchedulerTest, ASeedReplaysAndAnotherDiffers) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    uint64_t first = 0;
    uint64_t second = 0;
    const std::string letters = Letters(seed, &first);
    EXPECT_EQ(letters, Letters(seed, &second));
    EXPECT_EQ(first, second);
    seen.insert(letters);
    ASSERT_EQ(40U, letters.size());
    for (size_t i = 0; i < letters.size(); i += 2) EXPECT_EQ(letters[i], letters[i + 1]);
  }
  EXPECT_GT(seen.size(), 10U);
}

TEST(SimSchedulerTest, TheClockJumpsToTheNextDeadlineAndNoFurther) {
  SimScheduler scheduler(1, {});
  int64_t early = 0;
  int64_t late = 0;
  EXPECT_EQ("", scheduler.Run([&] {
    const auto other = scheduler.Start("late", 0, [&] {
      scheduler.Sleep(5 * kSecond);
      late = scheduler.now_ns();
    });
    scheduler.Sleep(kSecond);
    early = scheduler.now_ns();
  }));
  EXPECT_EQ(kBeginningNs + kSecond, early);
  EXPECT_EQ(kBeginningNs + 5 * kSecond, late);
}

TEST(SimSchedulerTest, ANotificationEndsAWaitAndADeadlineToo) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SimScheduler scheduler(seed, {});
    Random random(seed);
    bool told = false;
    EXPECT_EQ("", scheduler.Run([&] {
      const auto monitor = NewMonitor(scheduler, random);
      const auto waits = scheduler.Start("waits", 0, [&] {
        const MonitorLock lock(*monitor);
        while (!told) monitor->Wait(kForever);
        const int64_t until = scheduler.now_ns() + kSecond;
        while (scheduler.now_ns() < until) monitor->Wait(until);
        EXPECT_EQ(until, scheduler.now_ns());
      });
      const MonitorLock lock(*monitor);
      told = true;
      monitor->NotifyAll();
    }));
  }
}

// A run that cannot go on is never torn down: its threads stand still where they are.
TEST(SimSchedulerTest, ADeadlockIsReportedWithWhoWaitsForWhat) {
  auto* scheduler = new SimScheduler(3, {});
  auto* random = new Random(3);
  auto* first = NewMonitor(*scheduler, *random).release();
  auto* second = NewMonitor(*scheduler, *random).release();
  const std::string stopped = scheduler->Run([=] {
    const auto lock_both = [=](Monitor* a, Monitor* b) {
      const MonitorLock outer(*a);
      scheduler->Sleep(kSecond);
      const MonitorLock inner(*b);
    };
    const auto other = scheduler->Start("other", 0, [=] { lock_both(second, first); });
    lock_both(first, second);
  });
  EXPECT_THAT(stopped, HasSubstr("no thread can go on"));
  EXPECT_THAT(stopped, HasSubstr("main (process 0): a lock"));
  EXPECT_THAT(stopped, HasSubstr("other (process 0): a lock"));
}

TEST(SimSchedulerTest, ARunWithoutEndIsGivenUp) {
  auto* scheduler = new SimScheduler(4, {.max_steps = 1000});
  EXPECT_THAT(scheduler->Run([=] {
    for (;;) scheduler->Point("again");
  }),
              HasSubstr("more calls than it may"));
}

TEST(SimSchedulerTest, OneProcessAloneWindsUpWithoutTimePassing) {
  SimScheduler scheduler(5, {});
  bool other_ran = false;
  EXPECT_EQ("", scheduler.Run([&] {
    const auto other = scheduler.Start("other", 2, [&] { other_ran = true; });
    const auto dying = scheduler.Start("dying", 1, [&] {
      scheduler.BeginExclusive(1);
      other_ran = false;
      const int64_t before = scheduler.now_ns();
      scheduler.Sleep(100 * kSecond);
      EXPECT_FALSE(other_ran);
      scheduler.EndExclusive();
      EXPECT_EQ(before, scheduler.now_ns());
    });
  }));
}

}  // namespace
}  // namespace halograph::sim
