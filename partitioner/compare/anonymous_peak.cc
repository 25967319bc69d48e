#include "partitioner/compare/anonymous_peak.h"

#include <algorithm>
#include <chrono>
#include <fstream>

#include <fmt/format.h>

#include "partitioner/stream/memory_plan.h"

namespace halograph {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(5);

// Of the process, and of the children that its first thread started.
int64_t MostOfFamily(pid_t process) {
  int64_t most = AnonymousMemory(process);
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", process));
  for (pid_t child = 0; children >> child;) most = std::max(most, AnonymousMemory(child));
  return most;
}

}  // namespace

AnonymousPeak::AnonymousPeak(pid_t process)
    : process_(process), watcher_([this] {
        while (!stop_.load()) {
          peak_.store(std::max(peak_.load(), MostOfFamily(process_)));
          std::this_thread::sleep_for(kInterval);
        }
      }) {}

int64_t AnonymousPeak::Stop() {
  stop_.store(true);
  if (watcher_.joinable()) watcher_.join();
  return peak_.load();
}

}  // namespace halograph
