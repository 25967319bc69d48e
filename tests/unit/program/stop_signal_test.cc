#include "common/program/stop_signal.h"

#include <csignal>

#include <gmock/gmock.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace halograph {
namespace {

// Signals belong to the process, so that each test runs in one of its own, before any other thread
// is there.
class StopSignalDeathTest : public testing::Test {
 protected:
  StopSignalDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  static std::unique_ptr<StopSignal> Install() { return StopSignal::Install().value(); }
};

TEST_F(StopSignalDeathTest, FirstSignalIsWaitedForAndTheSecondEndsAtOnce) {
  EXPECT_EXIT(
      {
        const auto stop = Install();
        kill(getpid(), SIGTERM);
        if (stop->Wait() != SIGTERM || !stop->requested()) _exit(5);
        kill(getpid(), SIGINT);
        for (;;) pause();
      },
      testing::ExitedWithCode(1), "");
}

TEST_F(StopSignalDeathTest, FirstSignalEndsWithZeroWhereNothingIsUnderWay) {
  EXPECT_EXIT(
      {
        const auto stop = Install();
        stop->EndAtOnce(true);
        kill(getpid(), SIGINT);
        for (;;) pause();
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(StopSignalDeathTest, SignalFromBeforeCountsWhereNothingIsUnderWay) {
  EXPECT_EXIT(
      {
        const auto stop = Install();
        kill(getpid(), SIGTERM);
        static_cast<void>(stop->Wait());
        stop->EndAtOnce(true);
        _exit(5);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(StopSignalDeathTest, SignalAfterTheServiceStartedIsWaitedFor) {
  EXPECT_EXIT(
      {
        const auto stop = Install();
        stop->EndAtOnce(true);
        stop->EndAtOnce(false);
        kill(getpid(), SIGTERM);
        _exit(stop->Wait() == SIGTERM ? 7 : 5);
      },
      testing::ExitedWithCode(7), "");
}

TEST_F(StopSignalDeathTest, AStopThatTakesTooLongEndsWithOneAndSaysWhy) {
  EXPECT_EXIT(
      {
        const auto stop = Install();
        stop->SetTimeout("halograph-test", std::chrono::milliseconds(50));
        stop->OnStop([] {
          for (;;) pause();
        });
        kill(getpid(), SIGTERM);
        for (std::atomic<int> spins = 0;; ++spins) {
        }
      },
      testing::ExitedWithCode(1),
      "halograph-test: stopping took longer than .*--stop-timeout.*: ended without finishing");
}

TEST_F(StopSignalDeathTest, AnExtendedTimeoutLeavesRoomToFinish) {
  EXPECT_EXIT(
      {
        const auto stop = Install();
        stop->SetTimeout("halograph-test", std::chrono::milliseconds(1));
        stop->ExtendTimeout(std::chrono::hours(1));
        kill(getpid(), SIGTERM);
        static_cast<void>(stop->Wait());
        itimerval left{};
        getitimer(ITIMER_REAL, &left);
        _exit(left.it_value.tv_sec > 3000 ? 7 : 5);
      },
      testing::ExitedWithCode(7), "");
}

TEST_F(StopSignalDeathTest, HangupStopsUnlessItIsIgnored) {
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_DFL);  // who runs the tests with nohup ignores it
        const auto stop = Install();
        kill(getpid(), SIGHUP);
        _exit(stop->Wait() == SIGHUP ? 7 : 5);
      },
      testing::ExitedWithCode(7), "");
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        const auto stop = Install();
        kill(getpid(), SIGHUP);
        kill(getpid(), SIGTERM);
        _exit(stop->Wait() == SIGTERM ? 7 : 5);
      },
      testing::ExitedWithCode(7), "");
}

TEST_F(StopSignalDeathTest, CallbackRunsWhenTheSignalComesOrAtOnceAfterIt) {
  EXPECT_EXIT(
      {
        const auto stop = Install();
        std::atomic<int> calls = 0;
        stop->OnStop([&] { ++calls; });
        kill(getpid(), SIGTERM);
        while (calls.load() == 0) std::this_thread::yield();
        stop->OnStop([&] { calls += 10; });
        _exit(calls.load());
      },
      testing::ExitedWithCode(11), "");
}

TEST_F(StopSignalDeathTest, AForkedChildHasNoSignalThreadAndTheParentStillCatches) {
  EXPECT_EXIT(
      {
        const auto stop = Install();
        const pid_t child = stop->Fork();
        if (child == 0) {
          std::thread([] {}).join();
          for (;;) pause();
        }
        kill(child, SIGTERM);  // ends it, as nothing there catches it
        int status = 0;
        if (waitpid(child, &status, 0) != child || WTERMSIG(status) != SIGTERM) _exit(5);
        kill(getpid(), SIGTERM);
        _exit(stop->Wait() == SIGTERM && stop->number() == SIGTERM ? 7 : 6);
      },
      testing::ExitedWithCode(7), "");
}

TEST_F(StopSignalDeathTest, ProcessEndsByTheSignalThatItCaught) {
  EXPECT_EXIT(
      {
        const auto stop = Install();
        stop->OnStop([&] { StopSignal::EndProcessBy(stop->number()); });
        kill(getpid(), SIGINT);
        for (;;) pause();
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace halograph
