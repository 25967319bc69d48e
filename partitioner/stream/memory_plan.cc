#include "partitioner/stream/memory_plan.h"

#include <fstream>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "common/base/units.h"

namespace halograph {
namespace {

const MemoryPhase* Largest(const MemoryPlan& plan) {
  const auto larger = [](const MemoryPhase& a, const MemoryPhase& b) {
    return a.bytes() < b.bytes();
  };
  const auto largest = std::max_element(plan.phases.begin(), plan.phases.end(), larger);
  return largest == plan.phases.end() ? nullptr : &*largest;
}

std::string HeldText(const MemoryPhase& phase) {
  std::vector<HeldMemory> held = phase.held;
  std::stable_sort(held.begin(), held.end(),
                   [](const HeldMemory& a, const HeldMemory& b) { return a.bytes > b.bytes; });
  std::string text;
  for (const HeldMemory& item : held) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", item.what, FormatBytes(item.bytes));
  }
  return text;
}

// The number in a file that holds one; nullopt for "max" or no such file.
std::optional<int64_t> NumberIn(const std::string& path) {
  int64_t value = 0;
  std::ifstream file(path);
  if (file >> value) return value;
  return std::nullopt;
}

int64_t FreeInMachine() {
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    constexpr std::string_view kKey = "MemAvailable:";
    if (line.starts_with(kKey)) return std::stoll(line.substr(kKey.size())) * 1024;
  }
  return std::numeric_limits<int64_t>::max();
}

int64_t FreeInControlGroup() {
  const std::string folder = "/sys/fs/cgroup/";
  const auto limit = NumberIn(folder + "memory.max");
  const auto used = NumberIn(folder + "memory.current");
  if (!limit || !used) return std::numeric_limits<int64_t>::max();
  return std::max<int64_t>(0, *limit - *used);
}

}  // namespace

int64_t MemoryPhase::bytes() const {
  int64_t sum = 0;
  for (const HeldMemory& item : held) sum += item.bytes;
  return sum;
}

int64_t MemoryPlan::peak_bytes() const {
  const MemoryPhase* largest = Largest(*this);
  return largest == nullptr ? 0 : largest->bytes();
}

void MemoryPlan::Append(const MemoryPlan& later) {
  phases.insert(phases.end(), later.phases.begin(), later.phases.end());
}

std::string MemoryPlan::ToText() const {
  const MemoryPhase* largest = Largest(*this);
  std::string text;
  for (const MemoryPhase& phase : phases) {
    text += fmt::format("{} {}: {} ({})\n", &phase == largest ? "*" : " ", phase.name,
                        FormatBytes(phase.bytes()), HeldText(phase));
  }
  return text;
}

Status CheckMemory(const MemoryPlan& plan, int64_t limit) {
  const MemoryPhase* largest = Largest(plan);
  const int64_t needed = kProgramBytes + plan.peak_bytes();
  if (needed <= limit) return OkStatus();
  return ResourceExhausted(
      "--memory {}: this run needs {}; give at least --memory {} ({} bytes){}", FormatBytes(limit),
      FormatBytes(needed), fmt::format("{}MiB", (needed + (int64_t{1} << 20) - 1) >> 20), needed,
      largest == nullptr
          ? std::string()
          : fmt::format("; the largest phase is \"{}\": {}, and the program itself {}",
                        largest->name, HeldText(*largest), FormatBytes(kProgramBytes)));
}

int64_t AnonymousMemory(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string word; status >> word;) {
    int64_t kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib * 1024;
  }
  return 0;
}

int64_t AvailableMemory() {
  const int64_t free = std::min(FreeInMachine(), FreeInControlGroup());
  return free / 10 * 9;
}

}  // namespace halograph
