#include "partitioner/stream/memory_plan.h"

#include <fstream>

#include <fmt/format.h>

#include "common/base/machine_memory.h"
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

int64_t AvailableMemory() { return FreeMemory() / 10 * 9; }

}  // namespace halograph
