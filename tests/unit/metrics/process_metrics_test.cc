#include "common/metrics/process_metrics.h"

#include <future>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/base/build_info.h"
#include "common/base/wall_clock.h"

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

}  // namespace
}  // namespace halograph
