#include "common/metrics/process_metrics.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include "common/base/build_info.h"
#include "common/base/processors.h"
#include "common/base/stopwatch.h"
#include "common/metrics/processor_wait.h"

namespace halograph {
namespace {

std::string ReadProc(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Seconds since 1970 at which the machine booted; 0 if /proc does not tell.
double BootTime() {
  std::istringstream lines(ReadProc("/proc/stat"));
  constexpr std::string_view kBoot = "btime ";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kBoot)) return std::strtod(line.c_str() + kBoot.size(), nullptr);
  }
  return 0;
}

double OpenDescriptors() {
  std::error_code error;
  std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (error) return 0;
  double count = -1;  // that of the folder itself
  for (; !error && files != std::filesystem::directory_iterator(); files.increment(error)) ++count;
  return count;
}

double MostDescriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return -1;
  return static_cast<double>(limit.rlim_cur);
}

using Samples = std::vector<MetricSample>;

// Reads /proc/self/stat and gives what `figure` takes from it; nothing if it cannot be read.
std::function<Samples()> OfStat(std::function<double(const ProcessFigures&)> figure) {
  return [figure = std::move(figure)] {
    const StatusOr<ProcessFigures> figures = ParseProcessFigures(ReadProc("/proc/self/stat"));
    return figures.ok() ? Samples{{{}, figure(*figures)}} : Samples();
  };
}

}  // namespace

StatusOr<ProcessFigures> ParseProcessFigures(std::string_view stat) {
  // The second field is the program's name in parentheses, which may have spaces and parentheses
  // itself.
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string_view::npos)
    return DataLoss("/proc/PID/stat without a name: '{}'", stat);
  std::istringstream fields(std::string(stat.substr(name_end + 2)));
  char state = 0;
  int64_t skipped = 0;
  int64_t user = 0;
  int64_t kernel = 0;
  int64_t start = 0;
  int64_t resident_pages = 0;
  ProcessFigures figures;
  fields >> state;
  const auto skip = [&](int count) {
    for (int i = 0; i < count; ++i) fields >> skipped;
  };
  skip(10);  // fields 4 to 13; the numbers are those of proc(5)
  fields >> user >> kernel;
  skip(4);
  fields >> figures.threads;
  skip(1);
  fields >> start >> figures.virtual_bytes >> resident_pages;
  if (fields.fail()) return DataLoss("/proc/PID/stat with odd fields: '{}'", stat);
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  figures.cpu =
      std::chrono::nanoseconds(std::llround(static_cast<double>(user + kernel) / ticks * 1e9));
  figures.start_after_boot_seconds = static_cast<double>(start) / ticks;
  figures.resident_bytes =
      static_cast<double>(resident_pages) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return figures;
}

std::vector<MetricReader> AddProcessMetrics(MetricRegistry* metrics, std::string_view program) {
  metrics
      ->AddGauge(
          {"halograph_build_info", MetricUnit::kNone, "The program and its version; always 1"},
          {{"program", std::string(program)}, {"version", BuildVersion()}})
      ->Set(1);
  std::vector<MetricReader> readers;
  readers.push_back(metrics->ReadGauge(
      {"halograph_uptime_seconds", MetricUnit::kSeconds, "Time since the program began"}, {},
      [since_start = Stopwatch()] { return since_start.Seconds(); }));
  readers.push_back(metrics->ReadCounters(
      {"process_cpu_seconds_total", MetricUnit::kSeconds, "Processor time of all threads"}, {},
      OfStat([](const ProcessFigures& figures) {
        return std::chrono::duration<double>(figures.cpu).count();
      })));
  readers.push_back(
      metrics->ReadCounters({"process_processor_wait_seconds_total", MetricUnit::kSeconds,
                             "Time that threads were ready to run and waited for a processor"},
                            {}, [wait = std::make_shared<ProcessorWait>()] {
                              const std::optional<double> seconds = wait->Seconds();
                              return seconds ? Samples{{{}, *seconds}} : Samples();
                            }));
  readers.push_back(metrics->ReadGauge(
      {"process_usable_processors", MetricUnit::kNone,
       "Processors that the process may use at a time, by its mask and its quota"},
      {}, [] { return UsableProcessors(); }));
  readers.push_back(metrics->ReadGauges(
      {"process_start_time_seconds", MetricUnit::kSeconds, "When the process began, since 1970"},
      {}, OfStat([boot = BootTime()](const ProcessFigures& figures) {
        return boot + figures.start_after_boot_seconds;
      })));
  readers.push_back(metrics->ReadGauges(
      {"process_resident_memory_bytes", MetricUnit::kBytes, "Memory of the process that is in RAM"},
      {}, OfStat([](const ProcessFigures& figures) { return figures.resident_bytes; })));
  readers.push_back(metrics->ReadGauges(
      {"process_virtual_memory_bytes", MetricUnit::kBytes, "Address space of the process"}, {},
      OfStat([](const ProcessFigures& figures) { return figures.virtual_bytes; })));
  readers.push_back(metrics->ReadGauges(
      {"process_threads", MetricUnit::kNone, "Threads of the process"}, {},
      OfStat([](const ProcessFigures& figures) { return static_cast<double>(figures.threads); })));
  readers.push_back(metrics->ReadGauge(
      {"process_open_fds", MetricUnit::kNone, "Open file descriptors"}, {}, OpenDescriptors));
  readers.push_back(metrics->ReadGauge(
      {"process_max_fds", MetricUnit::kNone, "File descriptors that may be open; -1: any number"},
      {}, MostDescriptors));
  return readers;
}

}  // namespace halograph
