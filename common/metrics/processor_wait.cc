#include "common/metrics/processor_wait.h"

#include <array>
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

// "4521876 140305 3": nanoseconds that it ran, and that it waited, and how often it ran.
std::optional<int64_t> WaitIn(std::string_view schedstat) {
  const size_t first = schedstat.find(' ');
  if (first == std::string_view::npos) return {};
  const char* const end = schedstat.data() + schedstat.size();
  int64_t wait = 0;
  const auto [stopped, error] = std::from_chars(schedstat.data() + first + 1, end, wait);
  if (error != std::errc() || stopped == end || *stopped != ' ' || wait < 0) return {};
  return wait;
}

std::optional<int64_t> WaitOf(int tasks, const char* thread) {
  const std::string name = std::string(thread) + "/schedstat";
  const int file = ::openat(tasks, name.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};  // it has just ended
  std::array<char, 128> text{};
  const ssize_t bytes = ::read(file, text.data(), text.size());
  ::close(file);
  if (bytes <= 0) return {};
  return WaitIn({text.data(), static_cast<size_t>(bytes)});
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
    const std::optional<int64_t> wait = WaitOf(::dirfd(folder.get()), entry->d_name);
    if (!wait) continue;
    const auto last = last_.find(*thread);
    // Less than before: another thread of this number.
    const bool known = last != last_.end() && last->second <= *wait;
    total_ += *wait - (known ? last->second : 0);
    now.emplace(*thread, *wait);
  }
  if (now.empty() && last_.empty()) return {};
  last_ = std::move(now);
  return static_cast<double>(total_) * 1e-9;
}

}  // namespace halograph
