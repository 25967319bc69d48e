// How long the threads of a process were ready to run and waited for a processor, as the kernel's
// scheduler counts it: what tells a busy machine from threads that wait for other things.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <unordered_map>

namespace halograph {

// Not thread-safe.
class ProcessorWait {
 public:
  // Threads that a reading looks at: the kernel names those that began first first. A reading takes
  // a few microseconds for each.
  static constexpr size_t kMostThreads = 1024;

  // `tasks`: the folder of /proc that has a folder a thread, with its schedstat; tests have their
  // own.
  explicit ProcessorWait(std::filesystem::path tasks = "/proc/self/task");

  // Seconds of all threads that were seen so far, those that ended among them: it never falls. What
  // a thread waited between the last reading and its end is not in it. Nothing if the kernel does
  // not tell (it was built without CONFIG_SCHED_INFO, or /proc is not there).
  [[nodiscard]] std::optional<double> Seconds();

 private:
  const std::filesystem::path tasks_;
  std::unordered_map<int64_t, int64_t> last_;  // nanoseconds, by thread
  int64_t total_ = 0;                          // nanoseconds
};

}  // namespace halograph
