// Clocks and figures of the benchmarks.
#pragma once

#include <algorithm>
#include <vector>

#include <sys/resource.h>
#include <time.h>

namespace halograph {

inline double ClockSeconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
// Seconds of processor time, of the calling thread and of the whole process.
inline double ThreadCpu() { return ClockSeconds(CLOCK_THREAD_CPUTIME_ID); }
inline double ProcessCpu() { return ClockSeconds(CLOCK_PROCESS_CPUTIME_ID); }

// Page faults of the process so far, without those that read a file.
inline double PageFaults() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_minflt);
}

// The upper one of two in the middle. Requires a value.
inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace halograph
