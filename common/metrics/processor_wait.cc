#include "common/metrics/processor_wait.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace halograph {
namespace {

// What a thread's file says.
struct Waited {
  std::optional<int64_t> nanoseconds = {};
  bool ended = false;  // the thread: it has no file any more
};

// "4521876 140305 3": nanoseconds that it ran, and that it waited, and how often it ran. Where the
// kernel does not count, all three are 0.
std::optional<int64_t> WaitIn(std::string_view schedstat) {
  if (schedstat.starts_with("0 0 0")) return {};
  const size_t first = schedstat.find(' ');
  if (first == std::string_view::npos) return {};
  const char* const end = schedstat.data() + schedstat.size();
  int64_t wait = 0;
  const auto [stopped, error] = std::from_chars(schedstat.data() + first + 1, end, wait);
  if (error != std::errc() || stopped == end || *stopped != ' ' || wait < 0) return {};
  return wait;
}

Waited WaitOf(int tasks, const char* thread) {
  const std::string name = std::string(thread) + "/schedstat";
  const int file = ::openat(tasks, name.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {.ended = errno == ENOENT || errno == ESRCH};
  std::array<char, 128> text{};
  const ssize_t bytes = ::read(file, text.data(), text.size());
  ::close(file);
  if (bytes <= 0) return {.ended = bytes == 0 || errno == ESRCH};
  return {.nanoseconds = WaitIn({text.data(), static_cast<size_t>(bytes)})};
}

std::optional<int64_t> ThreadOf(std::string_view name) {
  int64_t thread = 0;
  const auto [stopped, error] = std::from_chars(name.data(), name.data() + name.size(), thread);
  if (error != std::errc() || stopped != name.data() + name.size()) return {};
  return thread;
}

}  // namespace

ProcessorWait::ProcessorWait(std::filesystem::path tasks) : tasks_(std::move(tasks)) {}

std::optional<double> ProcessorWait::Seconds() {
  const auto close = [](DIR* folder) { ::closedir(folder); };
  const std::unique_ptr<DIR, decltype(close)> folder(::opendir(tasks_.c_str()), close);
  if (!folder) return {};
  std::unordered_map<int64_t, int64_t> now;
  while (const dirent* const entry = ::readdir(folder.get())) {
    const std::optional<int64_t> thread = ThreadOf(entry->d_name);
    if (!thread) continue;
    if (now.size() == kMostThreads) break;
    const Waited wait = WaitOf(::dirfd(folder.get()), entry->d_name);
    const auto last = last_.find(*thread);
    if (!wait.nanoseconds) {
      // It cannot be read now (no descriptor is left, say): what it had waited is not forgotten.
      if (!wait.ended && last != last_.end()) now.insert(*last);
      continue;
    }
    // Less than before: another thread of this number.
    const bool known = last != last_.end() && last->second <= *wait.nanoseconds;
    total_ += *wait.nanoseconds - (known ? last->second : 0);
    now.emplace(*thread, *wait.nanoseconds);
  }
  if (now.empty() && last_.empty()) return {};
  last_ = std::move(now);
  return static_cast<double>(total_) * 1e-9;
}

}  // namespace halograph
