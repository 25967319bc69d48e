#include "partitioner/compare/anonymous_peak.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

namespace halograph {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(5);

}  // namespace

int64_t AnonymousBytes(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  std::string word;
  while (status >> word) {
    if (word != "RssAnon:") continue;
    int64_t kib = 0;
    status >> kib;
    return kib * 1024;
  }
  return 0;
}

AnonymousPeak::AnonymousPeak(pid_t process)
    : process_(process), watcher_([this] {
        while (!stop_.load()) {
          peak_.store(std::max(peak_.load(), AnonymousBytes(process_)));
          std::this_thread::sleep_for(kInterval);
        }
      }) {}

int64_t AnonymousPeak::Stop() {
  stop_.store(true);
  if (watcher_.joinable()) watcher_.join();
  return peak_.load();
}

}  // namespace halograph
