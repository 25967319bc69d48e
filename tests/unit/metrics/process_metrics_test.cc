#include "common/metrics/process_metrics.h"

#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/base/build_info.h"
#include "common/base/processors.h"
#include "common/base/wall_clock.h"
#include "common/metrics/processor_wait.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

TEST(ProcessMetricsTest, ShowsThisProcess) {
  MetricRegistry metrics;
  const auto readers = AddProcessMetrics(&metrics, "halograph-server");
  ASSERT_TRUE(metrics.status().ok()) << metrics.status();
  const MetricsSnapshot taken = metrics.Take();
  EXPECT_EQ(taken.Value("halograph_build_info",
                        {{"program", "halograph-server"}, {"version", BuildVersion()}}),
            1);
  EXPECT_GE(taken.Value("halograph_uptime_seconds"), 0);
  EXPECT_NE(taken.Find("process_cpu_seconds_total"), nullptr);
  EXPECT_NE(taken.Find("process_processor_wait_seconds_total"), nullptr);
  EXPECT_EQ(taken.Value("process_usable_processors"), UsableProcessors());
  constexpr double kYear = 365.25 * 86400;
  EXPECT_GT(taken.Value("process_start_time_seconds"), SecondsSince1970() - kYear);
  EXPECT_LT(taken.Value("process_start_time_seconds"), SecondsSince1970() + 2);
  EXPECT_GT(taken.Value("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(taken.Value("process_virtual_memory_bytes"),
            taken.Value("process_resident_memory_bytes"));
  EXPECT_NE(taken.Value("process_max_fds"), 0);
  EXPECT_GE(taken.Value("process_threads"), 1);
  EXPECT_GE(taken.Value("process_open_fds"), 3);
}

TEST(ProcessMetricsTest, CountsDescriptorsAndThreads) {
  MetricRegistry metrics;
  const auto readers = AddProcessMetrics(&metrics, "test");
  const MetricsSnapshot before = metrics.Take();
  int open = 0;
  for (int i = 0; i < 4096; ++i) open += ::fcntl(i, F_GETFD) == -1 ? 0 : 1;
  EXPECT_EQ(before.Value("process_open_fds"), open);
  const int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  std::promise<void> end;
  std::thread thread([&] { end.get_future().wait(); });
  const MetricsSnapshot with = metrics.Take();
  EXPECT_EQ(with.Value("process_open_fds"), before.Value("process_open_fds") + 1);
  EXPECT_EQ(with.Value("process_threads"), before.Value("process_threads") + 1);
  end.set_value();
  thread.join();
  ::close(descriptor);
}

TEST(ProcessMetricsTest, ReadsTheFieldsOfStatWhateverTheProgramsName) {
  const std::string stat =
      "12 (odd) name) S 1 2 3 4 5 6 7 8 9 10 150 50 13 14 15 16 17 0 250 8192000 3 "
      "1844674407370955 1 1\n";
  const StatusOr<ProcessFigures> figures = ParseProcessFigures(stat);
  ASSERT_TRUE(figures.ok()) << figures.status();
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  EXPECT_DOUBLE_EQ(std::chrono::duration<double>(figures->cpu).count(), 200 / ticks);
  EXPECT_EQ(figures->threads, 17);
  EXPECT_DOUBLE_EQ(figures->start_after_boot_seconds, 250 / ticks);
  EXPECT_EQ(figures->virtual_bytes, 8192000);
  EXPECT_EQ(figures->resident_bytes, 3.0 * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  EXPECT_FALSE(ParseProcessFigures("").ok());
  EXPECT_FALSE(ParseProcessFigures("12 (name) S 1 2").ok());
}

// Threads of files, as the kernel has them in /proc.
class ProcessorWaitTest : public testing::Test {
 protected:
  // What a thread has waited, in seconds.
  void Wait(int thread, double seconds) {
    const std::filesystem::path path = folder_.path() / std::to_string(thread);
    std::filesystem::create_directories(path);
    std::ofstream(path / "schedstat") << "900 " << static_cast<int64_t>(seconds * 1e9) << " 7\n";
  }
  void End(int thread) { std::filesystem::remove_all(folder_.path() / std::to_string(thread)); }

  TestFolder folder_;
  ProcessorWait wait_{folder_.path()};
};

TEST_F(ProcessorWaitTest, IsTheSumOfAllThreadsAndStaysWhenTheyEnd) {
  Wait(11, 1);
  Wait(12, 2);
  EXPECT_DOUBLE_EQ(wait_.Seconds().value_or(-1), 3);
  Wait(12, 2.5);
  Wait(13, 4);
  EXPECT_DOUBLE_EQ(wait_.Seconds().value_or(-1), 7.5);
  End(12);
  EXPECT_DOUBLE_EQ(wait_.Seconds().value_or(-1), 7.5);
  End(11);
  End(13);
  EXPECT_DOUBLE_EQ(wait_.Seconds().value_or(-1), 7.5);
}

TEST_F(ProcessorWaitTest, ANumberThatAnotherThreadGetsCountsFromItsStart) {
  Wait(11, 5);
  EXPECT_DOUBLE_EQ(wait_.Seconds().value_or(-1), 5);
  Wait(11, 2);
  EXPECT_DOUBLE_EQ(wait_.Seconds().value_or(-1), 7);
  End(11);
  EXPECT_DOUBLE_EQ(wait_.Seconds().value_or(-1), 7);
  Wait(11, 9);
  EXPECT_DOUBLE_EQ(wait_.Seconds().value_or(-1), 16);
}

// No descriptor may be left: what a thread had waited must not count again later.
TEST_F(ProcessorWaitTest, WhatCannotBeReadNowIsNotForgotten) {
  Wait(11, 5);
  EXPECT_DOUBLE_EQ(wait_.Seconds().value_or(-1), 5);
  const std::filesystem::path file = folder_.path() / "11/schedstat";
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);  // is opened, and cannot be read
  EXPECT_DOUBLE_EQ(wait_.Seconds().value_or(-1), 5);
  std::filesystem::remove(file);
  Wait(11, 6);
  EXPECT_DOUBLE_EQ(wait_.Seconds().value_or(-1), 6);
}

TEST_F(ProcessorWaitTest, ReadsABoundedNumberOfThreads) {
  for (int thread = 0; thread < static_cast<int>(ProcessorWait::kMostThreads) + 3; ++thread) {
    Wait(thread + 1, 1);
  }
  EXPECT_DOUBLE_EQ(wait_.Seconds().value_or(-1), static_cast<double>(ProcessorWait::kMostThreads));
}

TEST_F(ProcessorWaitTest, IsNothingWhereTheKernelDoesNotTell) {
  EXPECT_FALSE(wait_.Seconds());
  std::filesystem::create_directories(folder_.path() / "11");
  EXPECT_FALSE(wait_.Seconds()) << "a thread without schedstat";
  for (const char* const text : {"", "900", "900 x 7", "900 -3 7", "900 3", "0 0 0\n"}) {
    std::ofstream(folder_.path() / "11/schedstat") << text;
    EXPECT_FALSE(wait_.Seconds()) << text;
  }
  EXPECT_FALSE(ProcessorWait(folder_.path() / "none").Seconds());
  std::filesystem::create_directories(folder_.path() / "self");
  EXPECT_FALSE(wait_.Seconds());
}

}  // namespace
}  // namespace halograph
