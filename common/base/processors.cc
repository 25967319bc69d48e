#include "common/base/processors.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace halograph {
namespace {

namespace fs = std::filesystem;

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

std::vector<std::string> LinesOf(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  return lines;
}

// The whole of `text` as a number that is not negative.
std::optional<int64_t> Number(std::string_view text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stopped != end || value < 0) return std::nullopt;
  return value;
}

std::vector<std::string> Split(std::string_view text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, at);) parts.push_back(std::move(part));
  return parts;
}

// Processors by number, from the first to the last of each range.
using Processors = std::vector<std::pair<int64_t, int64_t>>;

// A list as the kernel writes it, "0-3,8"; none of anything else.
Processors ReadList(std::string_view list) {
  Processors read;
  for (const std::string& range : Split(list, ',')) {
    const size_t dash = range.find('-');
    const auto first = Number(std::string_view(range).substr(0, dash));
    const auto last = dash == std::string::npos ? first : Number(range.substr(dash + 1));
    if (!first.has_value() || !last.has_value() || *last < *first) return {};
    read.emplace_back(*first, *last);
  }
  return read;
}

// Those that the process may run on; none: nobody says.
Processors AllowedProcessors(const fs::path& proc) {
  constexpr std::string_view kKey = "Cpus_allowed_list:";
  for (const std::string& line : LinesOf(proc / "self" / "status")) {
    if (!line.starts_with(kKey)) continue;
    const size_t begin = line.find_first_not_of(" \t", kKey.size());
    if (begin == std::string::npos) return {};
    return ReadList(std::string_view(line).substr(begin));
  }
  return {};
}

// Those that the machine has now; none: nobody says.
Processors OnlineProcessors(const fs::path& cpu) {
  const std::vector<std::string> lines = LinesOf(cpu / "online");
  return lines.empty() ? Processors() : ReadList(lines[0]);
}

// How many are in both. What is empty limits nothing.
int64_t CountBoth(const Processors& some, const Processors& others) {
  constexpr std::pair<int64_t, int64_t> kAll{0, std::numeric_limits<int32_t>::max()};
  if (some.empty() && others.empty()) return 0;
  int64_t count = 0;
  for (const auto& [first, last] : some.empty() ? Processors{kAll} : some) {
    for (const auto& [other_first, other_last] : others.empty() ? Processors{kAll} : others) {
      count += std::max(int64_t{0}, std::min(last, other_last) - std::max(first, other_first) + 1);
    }
  }
  return count;
}

// In processors: "max 100000", or "150000 100000", which is 1.5.
double QuotaOfVersion2(const fs::path& group) {
  const std::vector<std::string> lines = LinesOf(group / "cpu.max");
  const std::vector<std::string> words =
      lines.empty() ? std::vector<std::string>() : Split(lines[0], ' ');
  const auto quota = words.size() == 2 ? Number(words[0]) : std::nullopt;
  const auto period = words.size() == 2 ? Number(words[1]) : std::nullopt;
  if (!quota.has_value() || period.value_or(0) == 0) return kNoQuota;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

// The same of two files; a quota of -1 is none.
double QuotaOfVersion1(const fs::path& group) {
  const auto number = [&](const char* name) {
    const std::vector<std::string> lines = LinesOf(group / name);
    return lines.empty() ? std::nullopt : Number(lines[0]);
  };
  const auto quota = number("cpu.cfs_quota_us");
  const auto period = number("cpu.cfs_period_us");
  if (!quota.has_value() || period.value_or(0) == 0) return kNoQuota;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

// The least of a group below `root` and those above it. A group that is not there has none: within
// a container, `root` may be the group itself, whatever path the kernel names.
double LeastQuota(const fs::path& root, const std::string& group,
                  double (*quota_of)(const fs::path& group)) {
  double least = quota_of(root);
  fs::path at = root;
  for (const std::string& name : Split(group, '/')) {
    if (name.empty() || name == "..") continue;
    at /= name;
    least = std::min(least, quota_of(at));
  }
  return least;
}

// A line of /proc/self/cgroup: "0::/user.slice" of version 2, "4:cpu,cpuacct:/job" of version 1.
double QuotaOfLine(const fs::path& cgroup, const std::string& line) {
  const size_t first = line.find(':');
  const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos) return kNoQuota;
  const std::string controllers = line.substr(first + 1, second - first - 1);
  const std::string group = line.substr(second + 1);
  if (controllers.empty()) return LeastQuota(cgroup, group, QuotaOfVersion2);
  const std::vector<std::string> names = Split(controllers, ',');
  if (std::find(names.begin(), names.end(), "cpu") == names.end()) return kNoQuota;
  return std::min(LeastQuota(cgroup / controllers, group, QuotaOfVersion1),
                  LeastQuota(cgroup / "cpu", group, QuotaOfVersion1));
}

double Quota(const ProcessorFiles& files) {
  double least = kNoQuota;
  for (const std::string& line : LinesOf(files.proc / "self" / "cgroup")) {
    least = std::min(least, QuotaOfLine(files.cgroup, line));
  }
  return least;
}

}  // namespace

double UsableProcessors(const ProcessorFiles& files) {
  int64_t processors = CountBoth(AllowedProcessors(files.proc), OnlineProcessors(files.cpu));
  if (processors == 0) processors = static_cast<int64_t>(std::thread::hardware_concurrency());
  constexpr int64_t kMost = 1 << 20;
  // The kernel takes no quota below a hundredth of a processor.
  constexpr double kLeastQuota = 0.01;
  return std::min(static_cast<double>(std::clamp(processors, int64_t{1}, kMost)),
                  std::max(Quota(files), kLeastQuota));
}

int AvailableProcessors(const ProcessorFiles& files) {
  return static_cast<int>(std::ceil(UsableProcessors(files)));
}

}  // namespace halograph
